package x402

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const (
	usdcOnBase = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	acmePayTo  = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
)

// rowWith returns a valid row of version 2 with replaced members. A nil value removes a member.
func rowWith(changes map[string]any) map[string]any {
	row := map[string]any{
		"scheme": "exact", "network": "eip155:8453", "amount": "10000", "asset": usdcOnBase, "payTo": acmePayTo,
		"maxTimeoutSeconds": 60, "extra": map[string]any{"name": "USD Coin", "version": "2"},
	}
	for key, value := range changes {
		if row[key] = value; value == nil {
			delete(row, key)
		}
	}
	return row
}

// evidenceOf returns the evidence of a response with one envelope in its header or, for version 1, in its body.
func evidenceOf(t *testing.T, envelope any, inBody bool) Evidence {
	t.Helper()
	text, err := json.Marshal(envelope)
	if err != nil {
		t.Fatal(err)
	}
	a := Answer{Status: 402, Body: []byte("{}")}
	if inBody {
		a.Body = text
	} else {
		a.Header = header(headerName, stdBase64(text))
	}
	return Evidence{Endpoint: "GET /quote", URL: "https://api.acme.test/quote", TLSVerified: true, Captured: Capture(a)}
}

func envelopeWith(version any, rows ...map[string]any) map[string]any {
	e := map[string]any{"x402Version": version, "accepts": rows,
		"resource": map[string]any{"url": "https://api.acme.test/quote"}}
	if version == nil {
		delete(e, "x402Version")
	}
	return e
}

// TestRowRules checks for each rule about rows which rows pass and which fail. Keys are the members changed in a valid
// row.
func TestRowRules(t *testing.T) {
	t.Parallel()
	sol := "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	type m = map[string]any
	for _, test := range []struct {
		rule string
		pass []m
		fail []m
	}{
		{"payto_recoverable",
			[]m{{}, {"payTo": nil, "payToAddress": acmePayTo}, {"payTo": nil, "recipient": acmePayTo},
				{"payTo": m{"address": acmePayTo}}},
			[]m{{"payTo": nil}, {"payTo": ""}, {"payTo": 5}, {"payTo": []string{acmePayTo}}}},
		{"payto_conformant",
			[]m{{}, {"payTo": "vitalik.eth"}},
			[]m{{"payTo": nil, "payToAddress": acmePayTo}, {"payTo": m{"address": acmePayTo}}, {"payTo": " "},
				{"payTo": nil}}},
		{"payto_shape",
			[]m{{}, {"payTo": strings.ToLower(acmePayTo)},
				{"network": sol, "payTo": "9m8D6vqV489JfQDxJ4T5gU5pfXkefna3JWBhqdnJ9ymG"}},
			[]m{{"network": sol}, {"payTo": "0x0000000000000000000000000000000000000000"}, {"payTo": "vitalik.eth"},
				{"payTo": acmePayTo + " "},
				{"payTo": usdcOnBase}, {"payTo": strings.ToLower(usdcOnBase)},
				{"payTo": "0x209693bc6afc0C5328bA36FaF03C514EF312287C"}, {"payTo": nil}}},
		{"price_present",
			[]m{{}, {"amount": 10000}, {"network": "cloudflare:402", "scheme": "batch-settlement", "amount": nil}},
			[]m{{"amount": nil, "maxAmountRequired": "10000"}, {"amount": nil, "price": "$0.01"}, {"amount": ""},
				{"amount": m{}}, {"amount": nil}}},
		{"price_sane",
			[]m{{}, {"amount": "1000000000"},
				{"asset": "0x0000000000000000000000000000000000000001", "amount": strings.Repeat("9", 39)},
				{"network": "xrpl:0", "asset": "USD", "amount": "10.5"},
				{"network": "cloudflare:402", "scheme": "batch-settlement", "amount": nil}},
			[]m{{"amount": 10000}, {"amount": "0.01"}, {"amount": "1e4"}, {"amount": "007"}, {"amount": "0"},
				{"amount": "-5"}, {"amount": "10000000000"},
				{"amount": "1000000001"}, {"amount": strings.Repeat("9", 40)}, {"amount": nil},
				{"network": "xrpl:0", "asset": "USD", "amount": "0.0"},
				{"network": "xrpl:0", "asset": "XRP", "amount": "10.5"}}},
		{"asset_declared",
			[]m{{}, {"network": "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=", "asset": "31566704"},
				{"network": "xrpl:0", "asset": "XRP"},
				{"network": "cloudflare:402", "asset": "USD"}, {"asset": "0x833589fcD6eDb6E08f4c7C32D4f71b54bdA02913"}},
			[]m{{"asset": nil}, {"asset": "USDC"}, {"network": sol, "asset": "USDC"},
				{"asset": m{"address": usdcOnBase}}, {"asset": ""}}},
		{"network_caip2",
			[]m{{}, {"network": "eip155:123456789"}, {"network": "cloudflare:402"},
				{"network": "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8="}},
			[]m{{"network": "base"}, {"network": "solana:mainnet"}, {"network": "Base"}, {"network": "8453"},
				{"network": 8453}, {"network": "ethereum-l2"}, {"network": nil}}},
		{"scheme_declared",
			[]m{{}, {"scheme": "upto"}, {"scheme": "exact_cosmos_authz"}},
			[]m{{"scheme": nil}, {"scheme": ""}, {"scheme": "unknown"}, {"scheme": "None"}, {"scheme": 1}}},
		{"eip712_domain_extra",
			[]m{{}, {"network": sol, "extra": nil}, {"scheme": "onchain-proof", "extra": nil},
				{"extra": m{"assetTransferMethod": "permit2"}},
				{"extra": m{"assetTransferMethod": "erc7710"}},
				{"extra": m{"assetTransferMethod": "eip3009", "name": "USD Coin", "version": "2"}},
				{"extra": m{"name": "GatewayWalletBatched", "version": "1",
					"verifyingContract": "0x0077777d7EBA4688BDeF3E311b846F25870A19B9"}},
				{"asset": "0x0000000000000000000000000000000000000001", "extra": m{"name": "Any", "version": "1"}},
				{"network": "eip155:4801", "asset": "0x66145f38cBAC35Ca6F1Dfb4914dF98F1614aeA88",
					"extra": m{"name": "Unverified", "version": "2"}},
				{"network": "eip155:31612", "asset": "0xdD468A1DDc392dcdbEf6db6e34E89AA338F9F186", "extra": m{}}},
			[]m{{"extra": m{}}, {"extra": nil}, {"extra": m{"name": "USDC", "version": "2"}},
				{"extra": m{"name": "USD Coin", "version": 2}},
				{"extra": m{"name": "USD Coin"}}, {"extra": m{"name": "GatewayWalletBatched", "version": "1"}},
				{"network": "eip155:4326", "asset": "0xFAfDdbb3FC7688494971a79cc65DCa3EF82079E7",
					"extra": m{"assetTransferMethod": "eip3009"}}}},
	} {
		for _, changes := range test.pass {
			if reason := checkOf(t, test.rule, evidenceOf(t, envelopeWith(2, rowWith(changes)), false)); reason != "" {
				t.Errorf("%s fails for %v: %s", test.rule, changes, reason)
			}
		}
		for _, changes := range test.fail {
			sound := rowWith(nil)
			reason := checkOf(t, test.rule, evidenceOf(t, envelopeWith(2, sound, rowWith(changes)), false))
			if !strings.HasPrefix(reason, "GET /quote, row 2: ") {
				t.Errorf("%s for %v says %q, want a reason about row 2", test.rule, changes, reason)
			}
		}
	}
}

// checkOf returns the reason why a rule fails, or "" if it passes.
func checkOf(t *testing.T, rule string, evidence ...Evidence) string {
	t.Helper()
	checks := Assess(evidence).Checks
	i := slices.IndexFunc(checks, func(c Check) bool { return c.ID == rule })
	if i < 0 {
		t.Fatalf("there is no check %s", rule)
	}
	if checks[i].Pass != (checks[i].Reason == "") {
		t.Errorf("%s passes %v with reason %q", rule, checks[i].Pass, checks[i].Reason)
	}
	return checks[i].Reason
}

func TestEndpointRules(t *testing.T) {
	t.Parallel()
	v2 := envelopeWith(2, rowWith(nil))
	v1 := envelopeWith(1, rowWith(map[string]any{"amount": nil, "maxAmountRequired": "10000", "network": "base"}))
	with := func(e Evidence, change func(*Evidence)) Evidence { change(&e); return e }
	raw := func(a Answer) Evidence {
		a.Status = 402
		return Evidence{Endpoint: "GET /quote", URL: "https://api.acme.test/quote", TLSVerified: true,
			Captured: Capture(a)}
	}
	text, _ := json.Marshal(v2)
	other, _ := json.Marshal(envelopeWith(2, rowWith(map[string]any{"amount": "20000"})))
	v1text, _ := json.Marshal(v1)
	sound := evidenceOf(t, v2, false)
	for _, test := range []struct {
		rule       string
		pass, fail []Evidence
	}{
		{"payload_captured", []Evidence{sound, evidenceOf(t, v1, true),
			raw(Answer{Header: header("X-Payment-Required", stdBase64(text))})},
			[]Evidence{raw(Answer{Body: []byte("{}")}),
				raw(Answer{Header: header("WWW-Authenticate", `L402 macaroon="x"`)}), {},
				raw(Answer{Body: fmt.Appendf(nil, "<html><script>window.x402 = %s</script>", text)})}},
		{"accepts_present", []Evidence{sound},
			[]Evidence{evidenceOf(t, envelopeWith(2), false), evidenceOf(t, map[string]any{"x402Version": 2}, false),
				evidenceOf(t, map[string]any{"x402Version": 2, "accepts": rowWith(nil)}, false),
				evidenceOf(t, map[string]any{"x402Version": 2, "accepts": []int{1}}, false)}},
		{"x402_version_current", []Evidence{sound,
			raw(Answer{Header: header(headerName, `{"x402Version":2.0,"accepts":[]}`)})},
			[]Evidence{evidenceOf(t, v1, true), evidenceOf(t, envelopeWith("2", rowWith(nil)), false),
				evidenceOf(t, envelopeWith(nil, rowWith(nil)), false),
				evidenceOf(t, envelopeWith(3, rowWith(nil)), false)}},
		{"transport_https", []Evidence{sound,
			with(sound, func(e *Evidence) { e.Hops = []string{"https://www.acme.test/quote"} })},
			[]Evidence{with(sound, func(e *Evidence) { e.URL = "http://api.acme.test/quote" }),
				with(sound, func(e *Evidence) { e.TLSVerified = false }),
				with(sound, func(e *Evidence) {
					e.Hops = []string{"http://api.acme.test/quote",
						"https://api.acme.test/quote"}
				})}},
		{"version_channel_coherent",
			[]Evidence{sound, evidenceOf(t, v1, true),
				raw(Answer{Header: header(headerName, stdBase64(text)), Body: text}),
				raw(Answer{Header: header(headerName, stdBase64(text)), Body: v1text}),
				raw(Answer{Header: header(headerName, stdBase64(text)), Body: []byte("null\n")})},
			[]Evidence{evidenceOf(t, v2, true), evidenceOf(t, v1, false),
				raw(Answer{Header: header(headerName, string(text))}),
				raw(Answer{Header: header("X-Payment-Required", stdBase64(text))}),
				raw(Answer{Header: header(headerName, stdBase64(text)), Body: other}),
				raw(Answer{Header: header(headerName, "!"), Body: v1text}),
				raw(Answer{Header: header(headerName, stdBase64([]byte(`{"x402Version":2,"accepts":[]}`))),
					Body: v1text}), raw(Answer{Header: header(headerName, `"`+stdBase64(text)+`"`)})}},
	} {
		for i, e := range test.pass {
			if reason := checkOf(t, test.rule, e); reason != "" {
				t.Errorf("%s fails for example %d: %s", test.rule, i, reason)
			}
		}
		for i, e := range test.fail {
			if checkOf(t, test.rule, e) == "" {
				t.Errorf("%s passes for example %d", test.rule, i)
			}
			if checkOf(t, test.rule, sound, e) == "" && e.Captured.Envelope != nil {
				t.Errorf("%s passes for a sound endpoint beside example %d", test.rule, i)
			}
		}
		if checkOf(t, test.rule) == "" {
			t.Errorf("%s passes without evidence", test.rule)
		}
	}
}

func TestRulesAreDescribed(t *testing.T) {
	t.Parallel()
	want := strings.Fields(
		`payload_captured accepts_present payto_recoverable payto_conformant payto_shape price_present price_sane
		asset_declared network_caip2 scheme_declared transport_https x402_version_current eip712_domain_extra
		version_channel_coherent`)
	var got []string
	for _, r := range Rules() {
		got = append(got, r.ID)
		if r.Label == "" || r.Expected == "" || r.Mend == "" {
			t.Errorf("%s says too little", r.ID)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("rules %v, want %v", got, want)
	}
}

func TestGrade(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		passed int
		failed string
		want   string
	}{
		{14, "", "A"}, {13, "network_caip2", "A"}, {12, "", "B"}, {11, "", "B"}, {10, "", "C"}, {9, "", "C"},
		{8, "", "D"}, {6, "", "D"}, {5, "", "F"}, {0, "", "F"},
		{13, "eip712_domain_extra", "C"}, {13, "payto_shape", "C"}, {13, "price_sane", "C"},
		{13, "transport_https", "C"}, {11, "price_sane", "C"},
		{8, "price_sane", "D"}, {5, "price_sane", "F"}, {13, "payload_captured", "F"}, {13, "accepts_present", "F"},
		{13, "payto_recoverable", "F"},
	} {
		if got := grade(test.passed, 14, map[string]bool{test.failed: true}); got != test.want {
			t.Errorf("grade of %d passed, %q failed = %s, want %s", test.passed, test.failed, got, test.want)
		}
	}
	unread := Evidence{Endpoint: "GET /a", URL: "https://api.acme.test/a", TLSVerified: true, Inconclusive: true}
	for _, test := range []struct {
		name string
		rows []Evidence
		want string
	}{
		{"nothing", nil, "unknown"},
		{"inconclusive", []Evidence{unread}, "unknown"},
		{"answered without terms", []Evidence{unread, {Endpoint: "GET /b"}}, "F"},
		{"one of two captured", []Evidence{unread, evidenceOf(t, envelopeWith(2, rowWith(nil)), false)}, "A"},
	} {
		if got := Assess(test.rows).Grade; got != test.want {
			t.Errorf("%s: grade %s, want %s", test.name, got, test.want)
		}
	}
}

// TestGradeReason checks that a grade names the first failure that limits it, and else counts checks.
func TestGradeReason(t *testing.T) {
	t.Parallel()
	bad := rowWith(map[string]any{"payTo": "0x0000000000000000000000000000000000000000", "asset": nil, "scheme": nil,
		"network": nil, "amount": nil})
	for _, test := range []struct {
		name string
		rows []Evidence
		want string
	}{
		{"nothing", nil, "no grade: no conclusive response so far"},
		{"no terms", []Evidence{{Endpoint: "GET /b"}}, "F: GET /b: no payment terms in header or body"},
		{"good", []Evidence{evidenceOf(t, envelopeWith(2, rowWith(nil)), false)}, "A: 14 of 14 checks pass"},
		{"no list", []Evidence{evidenceOf(t, map[string]any{"x402Version": 2, "accepts": map[string]any{}}, false)},
			"F: GET /quote: accepts must be a list; got the object {}"},
		{"wrong domain", []Evidence{evidenceOf(t, envelopeWith(2, rowWith(map[string]any{"extra": nil})), false)},
			"C at best: GET /quote, row 1: extra.name is missing or not a string"},
		{"a cap above the share", []Evidence{evidenceOf(t, envelopeWith(2, bad), false)}, "C: 9 of 14 checks pass"},
	} {
		if got := Assess(test.rows).GradeReason; got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestPayToSource(t *testing.T) {
	t.Parallel()
	treasury := envelopeWith(2, rowWith(map[string]any{"payTo": nil}))
	treasury["treasury"] = acmePayTo
	for _, test := range []struct {
		envelope         any
		source, location string
	}{
		{envelopeWith(2, rowWith(nil)), "payTo", "accept"},
		{envelopeWith(2, rowWith(nil), rowWith(map[string]any{"payTo": nil, "payToAddress": acmePayTo})),
			"payToAddress", "accept"},
		{treasury, "treasury", "element"},
		{envelopeWith(2, rowWith(map[string]any{"payTo": nil})), "", ""},
	} {
		c := Assess([]Evidence{evidenceOf(t, test.envelope, false)})
		if c.PayToSource != test.source || c.PayToLocation != test.location {
			t.Errorf("recipient in %q, %q, want %q, %q", c.PayToSource, c.PayToLocation, test.source, test.location)
		}
	}
}
