package x402

import (
	"slices"
	"strings"
	"testing"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	sol := "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	withBazaar := func(bazaar any) m {
		e := envelopeWith(2, rowWith(nil))
		e["extensions"] = m{"bazaar": bazaar}
		return e
	}
	testnet := rowWith(m{"network": "eip155:84532", "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
		"extra": m{"name": "USDC", "version": "2"}})
	elsewhere := envelopeWith(2, rowWith(nil))
	elsewhere["resource"] = m{"url": "http://api.acme.test/quote"}
	query := envelopeWith(2, rowWith(nil))
	query["resource"] = m{"url": "https://API.acme.test/quote/?city=Oslo"}
	tool := envelopeWith(2, rowWith(nil))
	tool["resource"] = m{"url": "mcp://tool/quote"}
	of := func(name string) func(*Evidence) { return func(e *Evidence) { e.URL += "#" + name } }
	for _, test := range []struct {
		name     string
		envelope any
		change   func(*Evidence)
		want     string // codes, joined by blanks
	}{
		{"sound", envelopeWith(2, rowWith(nil)), nil, ""},
		{"another query", query, nil, ""},
		{"resource under http", elsewhere, nil, "resource_plain_http"},
		{"tool", tool, of("quote"), ""},
		{"another tool", tool, of("news"), "resource_url_mismatch"},
		{"tool of no server", tool, nil, "resource_url_mismatch"},
		{"fee payer", envelopeWith(2, rowWith(m{"network": sol, "extra": m{"feePayer": ""}})), nil,
			"svm_feepayer_missing"},
		{"upto without facilitator", envelopeWith(2, rowWith(m{"scheme": "upto"})), nil, "upto_facilitator_missing"},
		{"short timeout", envelopeWith(2, rowWith(m{"maxTimeoutSeconds": 4})), nil, "timeout_out_of_range"},
		{"longest timeout", envelopeWith(2, rowWith(m{"maxTimeoutSeconds": 3600})), nil, ""},
		{"long timeout", envelopeWith(2, rowWith(m{"maxTimeoutSeconds": 3601})), nil, "timeout_out_of_range"},
		{"long timeout of a channel", envelopeWith(2,
			rowWith(m{"maxTimeoutSeconds": 86400, "scheme": "batch-settlement"})), nil, ""},
		{"no timeout", envelopeWith(2, rowWith(m{"maxTimeoutSeconds": nil})), nil, "schema_invalid"},
		{"checksums", envelopeWith(2, rowWith(m{"payTo": "0x209693bc6afc0C5328bA36FaF03C514EF312287C",
			"asset": "0x833589fcD6eDb6E08f4c7C32D4f71b54bdA02913"})), nil, "checksum_bad checksum_bad"},
		{"testnet", envelopeWith(2, testnet), nil, "testnet_only"},
		{"testnet beside mainnet", envelopeWith(2, testnet, rowWith(nil)), nil, ""},
		{"bazaar without input", withBazaar(m{"info": m{}}), nil, "bazaar_invalid"},
		{"bazaar with a bad template",
			withBazaar(m{"info": m{"input": m{"type": "http", "method": "GET"}}, "routeTemplate": "/a/../b"}), nil,
			"bazaar_invalid"},
		{"HEAD", envelopeWith(2, rowWith(nil)), func(e *Evidence) { e.HeadFree = true }, "head_free"},
		{"dearer than declared", envelopeWith(2, rowWith(nil)), func(e *Evidence) { e.DeclaredUSD = "$0.009" },
			"price_above_openapi"},
		{"as declared", envelopeWith(2, rowWith(nil)), func(e *Evidence) { e.DeclaredUSD = "0.010" }, ""},
	} {
		e := evidenceOf(t, test.envelope, false)
		if test.change != nil {
			test.change(&e)
		}
		var got []string
		for _, w := range Assess([]Evidence{e}).Warnings {
			got = append(got, w.Code)
			if !slices.ContainsFunc(WarningCodes(), func(c WarningCode) bool { return c.Code == w.Code }) {
				t.Errorf("%s is not described", w.Code)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: warnings %v, want %q", test.name, got, test.want)
		}
	}
}

func TestWarningOrder(t *testing.T) {
	t.Parallel()
	a := evidenceOf(t, envelopeWith(2, rowWith(map[string]any{"scheme": "upto"}),
		rowWith(map[string]any{"maxTimeoutSeconds": 1}), rowWith(map[string]any{"maxTimeoutSeconds": 2})), false)
	b := a
	a.Endpoint, b.Endpoint = "GET /quote", "POST /quote"
	one, two := Assess([]Evidence{a, b}).Warnings, Assess([]Evidence{b, a}).Warnings
	if len(one) != 6 {
		t.Fatalf("%d warnings, want 6: %v", len(one), one)
	}
	if !slices.EqualFunc(one, two, func(x, y Warning) bool {
		return x.Code == y.Code && x.Endpoint == y.Endpoint && x.Detail == y.Detail && rowOf(x) == rowOf(y)
	}) {
		t.Errorf("the order depends on that of the evidence:\n%v\n%v", one, two)
	}
}
