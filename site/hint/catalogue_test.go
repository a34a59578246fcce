package hint

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withBazaar returns terms of version 2 with an extension.
func withBazaar(extension string) string {
	return strings.TrimSuffix(v2, "}") + `,"extensions":{"bazaar":` + extension + `}}`
}

const goodBazaar = `{"info":{"input":{"type":"http","method":"GET"}},"schema":{
	"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","required":["input"],
	"properties":{"input":{"type":"object","properties":{"type":{"const":"http"}}}}}}`

// TestBrokenRules checks which rules of CDP and of x402scan endpoints break.
func TestBrokenRules(t *testing.T) {
	t.Parallel()
	with := func(f Facts, change func(*Facts)) Facts { change(&f); return f }
	good := facts("{}", "TERMS: "+withBazaar(goodBazaar))
	for _, tt := range []struct {
		name          string
		facts         Facts
		cdp, x402scan []string
	}{
		{"good", good, nil, nil},
		{"nothing known", Facts{URL: listed}, nil, nil},
		{"no bazaar", facts("{}", "TERMS: "+v2), []string{"bazaar_missing"}, []string{"input_schema_missing"}},
		{"version 1", facts(v1 + v1Input + "}]}"), nil, []string{"version_1"}},
		{"version 1 with bazaar", facts(v1 + `}],"extensions":{"bazaar":` + goodBazaar + `}}`), []string{"bazaar_missing"},
			[]string{"version_1", "input_schema_missing"}},
		{"no resource", facts("{}", "TERMS: "+strings.Replace(withBazaar(goodBazaar),
			`"url":"https://api.acme.test/quote"`, `"description":"d"`, 1)), []string{"resource_missing"}, nil},
		{"400 to {}", with(good, func(f *Facts) { f.Bare = &Try{"POST {}", 400} }), []string{"bare_refused"}, nil},
		{"422 to the example", with(good, func(f *Facts) { f.Example = &Try{"POST {}", 422} }), []string{"example_refused"},
			[]string{"example_refused"}},
		{"another network", facts("{}", "TERMS: "+strings.Replace(withBazaar(goodBazaar), "eip155:8453", "eip155:56", 1)),
			[]string{"network_unsupported"}, []string{"network_unsupported"}},
		{"no TLS", with(good, func(f *Facts) { f.URL = "http://api.acme.test/quote" }), nil, []string{"not_https"}},
		{"MPP", facts("", "WWW-Authenticate: "+mpp+expires), []string{"no_x402"}, []string{"no_x402"}},
		{"info without schema", facts("{}", "TERMS: "+withBazaar(`{"info":{"input":{"type":"http","method":"GET"}}}`)),
			[]string{"bazaar_invalid"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for name, want := range map[string][]string{"cdp": tt.cdp, "x402scan": tt.x402scan} {
				var got []string
				for _, r := range BrokenRules(name, &tt.facts) {
					got = append(got, r.Code)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// TestCatalogues checks that each catalogue says how to get in, and that each rule has a document.
func TestCatalogues(t *testing.T) {
	t.Parallel()
	if !slices.IsSorted(Catalogues()) {
		t.Errorf("the catalogues are not in the order of their names: %v", Catalogues())
	}
	for _, c := range catalogues {
		if c.how == "" {
			t.Errorf("%s does not say how to get in", c.name)
		}
		for _, r := range c.rules {
			if u, err := url.Parse(r.document); err != nil || u.Scheme != "https" || r.meaning == "" {
				t.Errorf("%s: rule %s lacks words or a document", c.name, r.code)
			}
		}
	}
}
