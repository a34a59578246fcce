package x402

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/invisible"
)

func header(name, value string) http.Header {
	return http.Header{http.CanonicalHeaderKey(name): {value}}
}

func stdBase64(text []byte) string { return base64.StdEncoding.EncodeToString(text) }

// captureRow captures an envelope of version 2 with one changed row in its header. It returns the row and the codes of
// the defects.
func captureRow(t *testing.T, changes map[string]any) (Requirement, []string) {
	t.Helper()
	c := evidenceOf(t, envelopeWith(2, rowWith(changes)), false).Captured
	if c.Envelope == nil || len(c.Envelope.Accepts) != 1 {
		t.Fatalf("captured %+v", c)
	}
	var codes []string
	for _, d := range c.Defects {
		codes = append(codes, d.Code)
	}
	return c.Envelope.Accepts[0], codes
}

// TestRowLeniency checks each coercion of a row: the changed members, one value of the result, and the defects.
func TestRowLeniency(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	amount := func(r Requirement) string { return r.Amount + " " + r.AmountRaw }
	payTo := func(r Requirement) string { return r.PayTo + " " + r.PayToSource + " " + r.PayToLocation }
	asset := func(r Requirement) string { return r.AssetName + " " + r.AssetNorm }
	timeout := func(r Requirement) string {
		if r.MaxTimeoutSeconds == nil {
			return "null"
		}
		return fmt.Sprint(*r.MaxTimeoutSeconds)
	}
	extra := func(r Requirement) string { return string(r.Extra) }
	network := func(r Requirement) string { return r.Network + " " + r.NetworkCAIP2 }
	for _, test := range []struct {
		changes m
		look    func(Requirement) string
		want    string
		defects string
	}{
		{m{}, amount, "10000 10000", ""},
		{m{"amount": json.Number("1e4")}, amount, "10000 10000", "amount_number"},
		{m{"amount": 0.01}, amount, " 0.01", "amount_number amount_not_integer"},
		{m{"amount": " 10000 "}, amount, "10000  10000 ", "amount_spaced"},
		{m{"amount": "007"}, amount, "7 007", "amount_leading_zeros"},
		{m{"amount": nil, "maxAmount": "5"}, amount, "5 5", "amount_key"},
		{m{"amount": nil, "price": "$0.01"}, amount, " $0.01", "amount_key amount_not_integer"},
		{m{"amount": true}, amount, " true", "amount_not_integer"},
		{m{"amount": nil}, amount, " ", "amount_missing"},
		{m{"payTo": nil, "treasury": acmePayTo}, payTo, acmePayTo + " treasury accept", "payto_key"},
		{m{"payTo": m{"address": acmePayTo}}, payTo, acmePayTo + " payTo accept", "payto_object"},
		{m{"payTo": "", "pay_to": acmePayTo}, payTo, acmePayTo + " pay_to accept", "payto_key"},
		{m{"payTo": nil}, payTo, "  ", "payto_missing"},
		{m{"asset": m{"address": usdcOnBase, "decimals": 6}}, asset, "USDC " + strings.ToLower(usdcOnBase),
			"asset_object"},
		{m{"asset": "USDC"}, asset, "UNKNOWN USDC", "asset_ticker"},
		{m{"asset": nil}, asset, "UNKNOWN ", "asset_missing"},
		{m{"maxTimeoutSeconds": "60"}, timeout, "60", "timeout_text"},
		{m{"maxTimeoutSeconds": 60.5}, timeout, "null", "timeout_invalid"},
		{m{"maxTimeoutSeconds": -1}, timeout, "null", "timeout_invalid"},
		{m{"maxTimeoutSeconds": json.Number("1e30")}, timeout, "null", "timeout_invalid"},
		{m{"maxTimeoutSeconds": nil}, timeout, "null", "timeout_missing"},
		{m{"extra": `{"name":"USD Coin"}`}, extra, `{"name":"USD Coin"}`, "extra_text"},
		{m{"extra": "words"}, extra, "", "extra_invalid"},
		{m{"extra": nil}, extra, "", ""},
		{m{"network": "Base"}, network, "Base eip155:8453", "network_nickname"},
		{m{"network": 8453}, network, "8453 ", "network_unresolved"},
		{m{"network": "eip155:77777777"}, network, "eip155:77777777 eip155:77777777", "network_unknown"},
		{m{"network": nil}, network, " ", "network_missing"},
		{m{"scheme": nil}, func(r Requirement) string { return r.Scheme }, "", "scheme_missing"},
		{m{"outputSchema": m{}}, amount, "10000 10000", "output_schema_in_v2"},
		{m{"extensions": m{"x": 1}}, amount, "10000 10000", "extensions_in_row"},
	} {
		r, defects := captureRow(t, test.changes)
		if got := test.look(r); got != test.want {
			t.Errorf("%v: %q, want %q", test.changes, got, test.want)
		}
		if got := strings.Join(defects, " "); got != test.defects {
			t.Errorf("%v: defects %q, want %q", test.changes, got, test.defects)
		}
	}
}

// TestEnvelopeLeniency checks each coercion of an envelope, and each place in a body where services put one.
func TestEnvelopeLeniency(t *testing.T) {
	t.Parallel()
	text, _ := json.Marshal(rowWith(nil))
	row := string(text)
	for _, test := range []struct{ body, want, defects string }{
		{`{"x402Version":2,"accepts":[` + row + `],"resource":{"url":"u"}}`, "v2 body json 1", "v2_outside_header"},
		{`{"accepts":[` + row + `],"resource":{"url":"u"}}`, "v2 body json 1", "version_missing v2_outside_header"},
		{`{"x402Version":"1","accepts":[{"scheme":"exact","maxAmountRequired":"1","network":"base","asset":"` +
			usdcOnBase + `","payTo":"` + acmePayTo + `","resource":"u"}]}`, "v1 body json 1",
			"version_text timeout_missing resource_relative"},
		{`{"x402Version":0,"accepts":[],"resource":{"url":"u"}}`, "v1 body json 0",
			"accepts_empty version_invalid resource_object"},
		{`{"x402Version":2,"accepts":null}`, "v2 body json 0", "accepts_missing v2_outside_header"},
		{`{"x402Version":2,"accepts":"all"}`, "v2 body json 0", "accepts_invalid v2_outside_header"},
		{`{"x402Version":2,"accepts":[7,` + row + `],"resource":{"url":"u"}}`, "v2 body json 1",
			"v2_outside_header row_not_object"},
		{`{"x402Version":2,"accepts":[` + row + `],"resource":"u"}`, "v2 body json 1",
			"v2_outside_header resource_text"},
		{`{"x402Version":2,"accepts":[` + row + `]}`, "v2 body json 1", "v2_outside_header resource_missing"},
		{`{"x402Version":2,"accepts":[` + row + `],"resource":5}`, "v2 body json 1",
			"v2_outside_header field_type resource_missing"},
		{`{"paymentRequired":{"x402Version":2,"accepts":[` + row + `],"resource":{"url":"u"}}}`, "v2 nested json 1",
			"body_nested v2_outside_header"},
		{`{"error":{"code":402,"x402Version":2,"accepts":[` + row + `],"resource":{"url":"u"}}}`, "v2 nested json 1",
			"body_nested v2_outside_header"},
		{`{"paymentRequirements":[` + row + `]}`, "v2 nested json 1",
			"body_nested requirements_bare v2_outside_header resource_missing"},
		{`"{\"x402Version\":2,\"accepts\":[]}"`, "v2 body quoted+raw 0",
			"body_encoded value_quoted raw_json accepts_empty v2_outside_header"},
		{"\ufeff" + `{"x402Version":2,"accepts":[]}`, "v2 body json 0",
			"byte_order_mark accepts_empty v2_outside_header"},
		{`{"x402Version":2,"accepts":[`, "none", "body_unreadable"},
		{strings.Repeat(`{"accepts":`, 100) + `1` + strings.Repeat(`}`, 100), "none", "json_too_deep"},
		{`{"error":"payment required"}`, "none", ""},
		{`[1,2]`, "none", ""},
		{`window.x402 = `, "none", ""},
		{``, "none", ""},
	} {
		c := Capture(Answer{Status: 402, Body: []byte(test.body)})
		got := "none"
		if e := c.Envelope; e != nil {
			got = fmt.Sprintf("v%d %s %s %d", e.Version, e.Channel, e.Decode, len(e.Accepts))
		}
		var codes []string
		for _, d := range c.Defects {
			codes = append(codes, d.Code)
		}
		if got != test.want || strings.Join(codes, " ") != test.defects {
			t.Errorf("%.70s: %s with %v, want %s with %s", test.body, got, codes, test.want, test.defects)
		}
	}
}

func TestRelation(t *testing.T) {
	t.Parallel()
	v2 := func(changes ...map[string]any) string {
		var rows []map[string]any
		for _, c := range changes {
			rows = append(rows, rowWith(c))
		}
		text, _ := json.Marshal(envelopeWith(2, rows...))
		return string(text)
	}
	v1 := func(payTo string) string {
		text, _ := json.Marshal(envelopeWith(1,
			rowWith(map[string]any{"amount": nil, "maxAmountRequired": "10000", "network": "base", "payTo": payTo})))
		return string(text)
	}
	polygon := map[string]any{"network": "eip155:137"}
	for _, test := range []struct {
		name, header, body string
		want               Relation
		version            int
	}{
		{"header alone", v2(nil), `{}`, Single, 2},
		{"equal", v2(nil), v2(nil), Mirror, 2},
		{"another order", v2(nil, polygon), v2(polygon, nil), Mirror, 2},
		{"fewer rows in one version", v2(nil, polygon), v2(nil), Divergent, 2},
		{"both versions", v2(nil), v1(acmePayTo), DualStack, 2},
		{"version 1 in lower case", v2(nil), v1(strings.ToLower(acmePayTo)), DualStack, 2},
		{"version 1 with fewer rows", v2(nil, polygon), v1(acmePayTo), DualStack, 2},
		{"another recipient", v2(nil), v1("0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB"), Divergent, 2},
		{"another price", v2(nil), v2(map[string]any{"amount": "1"}), Divergent, 2},
		{"empty header", v2(), v1(acmePayTo), Single, 1},
	} {
		c := Capture(Answer{Status: 402, Header: header(headerName, stdBase64([]byte(test.header))),
			Body: []byte(test.body)})
		if c.Relation != test.want || c.Divergent != (test.want == Divergent) || c.Envelope.Version != test.version {
			t.Errorf("%s: relation %q, divergent %v, version %d chosen; want %q, version %d", test.name, c.Relation,
				c.Divergent, c.Envelope.Version, test.want, test.version)
		}
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	print := func(e m) string { return evidenceOf(t, e, false).Captured.Envelope.Fingerprint() }
	with := func(key string, value any) m {
		e := envelopeWith(2, rowWith(nil), rowWith(m{"network": "eip155:137"}))
		e[key] = value
		return e
	}
	base := print(with("error", "Payment required"))
	if len(base) != 64 {
		t.Errorf("fingerprint %q is no sha256 in hex", base)
	}
	for name, e := range map[string]m{
		"order of rows": envelopeWith(2, rowWith(m{"network": "eip155:137"}), rowWith(nil)),
		"a row twice":   envelopeWith(2, rowWith(nil), rowWith(nil), rowWith(m{"network": "eip155:137"})),
		"error text":    with("error", "no payment at 12:00"),
		"extensions":    with("extensions", m{"sign-in-with-x": m{"nonce": "8f1c"}}),
		"description":   with("resource", m{"url": "https://api.acme.test/quote", "description": "new"}),
		"case of hex": envelopeWith(2, rowWith(m{"payTo": strings.ToLower(acmePayTo)}),
			rowWith(m{"network": "eip155:137"})),
		"channel state": envelopeWith(2,
			rowWith(m{"extra": m{"version": "2", "name": "USD Coin", "channelState": m{"n": 1}}}),
			rowWith(m{"network": "eip155:137"})),
		"number encoding": envelopeWith(2, rowWith(m{"amount": json.Number("1e4")}),
			rowWith(m{"network": "eip155:137"})),
	} {
		if print(e) != base {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
	for name, e := range map[string]m{
		"price": envelopeWith(2, rowWith(m{"amount": "1"}), rowWith(m{"network": "eip155:137"})),
		"recipient": envelopeWith(2, rowWith(m{"payTo": "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB"}),
			rowWith(m{"network": "eip155:137"})),
		"scheme": envelopeWith(2, rowWith(m{"scheme": "upto"}), rowWith(m{"network": "eip155:137"})),
		"extra": envelopeWith(2, rowWith(m{"extra": m{"name": "USD Coin", "version": "3"}}),
			rowWith(m{"network": "eip155:137"})),
		"timeout": envelopeWith(2, rowWith(m{"maxTimeoutSeconds": 61}), rowWith(m{"network": "eip155:137"})),
		"fewer":   envelopeWith(2, rowWith(nil)),
		"version": envelopeWith(3, rowWith(nil), rowWith(m{"network": "eip155:137"})),
	} {
		if print(e) == base {
			t.Errorf("%s does not change the fingerprint", name)
		}
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ raw, want string }{
		{`{"b":1,"a":[1, {"d":null,"c":true}],"b":2}`, `{"a":[1,{"c":true,"d":null}],"b":2}`},
		{`"a\u0000b<"`, "\"a\ufffdb<\""},
		{"\"caf\xe9\"", "\"caf\ufffd\""},
		{`[1e999999999, 1.50]`, `["1e999999999",1.50]`},
		{` {} `, `{}`}, {`[]`, `[]`}, {`"\ud800"`, "\"\ufffd\""},
	} {
		var b bytes.Buffer
		if canonical(&b, json.RawMessage(test.raw)); b.String() != test.want {
			t.Errorf("canonical(%s) = %s, want %s", test.raw, &b, test.want)
		}
	}
}

func TestResource(t *testing.T) {
	t.Parallel()
	text := `{"x402Version":2,"accepts":[],"resource":{"url":"https://acme.test/a\u202e b","description":7,"mimeType":"text/plain",
		"serviceName":"Acme","iconUrl":"https://acme.test/i.png","tags":["one","  two\u0000 ",3,"","` + strings.Repeat("x", 100) + `"]}}`
	c := Capture(Answer{Status: 402, Header: header(headerName, stdBase64([]byte(text)))})
	want := Resource{URL: "https://acme.test/ab", MimeType: "text/plain", ServiceName: "Acme",
		IconURL: "https://acme.test/i.png", Tags: []string{"one", "two", strings.Repeat("x", 63) + "…"}}
	if diff := cmp.Diff(want, c.Envelope.Resource); diff != "" {
		t.Errorf("resource (-want +got):\n%s", diff)
	}
	if !hasDefect(c, fieldTypeMismatch) {
		t.Errorf("a number as description is no defect: %v", c.Defects)
	}
}

// TestScalarsAreVisible checks that the texts of a row contain no invisible character, and that an address with one
// stays invalid.
func TestScalarsAreVisible(t *testing.T) {
	t.Parallel()
	r, _ := captureRow(t, map[string]any{"payTo": acmePayTo[:20] + "\u200b" + acmePayTo[20:], "scheme": "exact\x00",
		"network": "eip155:8453\u202e", "amount": "1\x00"})
	for _, s := range []string{r.PayTo, r.Scheme, r.Network, r.AmountRaw} {
		if strings.ContainsFunc(s, invisible.Is) || !strings.Contains(s, "\ufffd") {
			t.Errorf("%q hides a character", s)
		}
	}
	if CheckAddress("eip155:8453", r.PayTo) == nil || r.Amount != "" || r.NetworkCAIP2 != "" {
		t.Errorf("hidden characters are overlooked: %+v", r)
	}
}

func BenchmarkCapture(b *testing.B) {
	text, _ := json.Marshal(envelopeWith(2, rowWith(nil), rowWith(map[string]any{"network": "eip155:137"})))
	a := Answer{Status: 402, Header: header(headerName, stdBase64(text)), Body: []byte("{}")}
	b.ReportAllocs()
	for b.Loop() {
		Capture(a)
	}
}

// TestCaptureOwnsItsBytes changes the buffer after the capture, as a caller that reuses its buffer does.
func TestCaptureOwnsItsBytes(t *testing.T) {
	t.Parallel()
	text, _ := json.Marshal(envelopeWith(2, rowWith(nil)))
	body := slices.Clone(text)
	c := Capture(Answer{Status: 402, Body: body})
	for i := range body {
		body[i] = 'x'
	}
	if string(c.Envelope.Raw) != string(text) {
		t.Errorf("what was captured has changed: %s", c.Envelope.Raw)
	}
}
