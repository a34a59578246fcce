package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tollbook/site"
	"tollbook/site/routes"
)

// poison replaces each string of a JSON value by a hostile text, except those that the reader needs to go on.
func poison(v any) any {
	switch v := v.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339, v); err == nil || site.ValidSlug(v) && strings.Contains(v, "-") {
			return v
		}
		return hostile + strings.Repeat("漢", 300)
	case []any:
		for i := range v {
			v[i] = poison(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = poison(v[k])
		}
	}
	return v
}

// encodePoison returns the JSON of a response whose strings are hostile.
func encodePoison(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(data, &decoded); err != nil {
		t.Fatal(err)
	}
	if data, err = json.Marshal(poison(decoded)); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestHostileDirectory checks that no command sends a control or invisible character of a directory to the terminal,
// or a line that is wider than 80 columns, and that --json stays JSON.
func TestHostileDirectory(t *testing.T) {
	t.Parallel()
	text, price := "x", site.Decimal("12345678901234567890.123456789")
	usd := string(price)
	now := site.NewTime(moment)
	item := site.ServiceListItem{Slug: "some-slug", Name: "x", Description: "x", Status: "x", MinPriceUSD: &price,
		Networks: []string{"x", "y"}, RiskLevel: "x", RiskReason: &text, CreatedAt: now}
	row := site.RowEndpoint{Method: "x", Path: "x", Description: &text, PriceUSD: &usd}
	long := item
	long.Slug = strings.Repeat("long-slug-", 7) + "x"
	detail := site.ServiceDetail{Slug: "some-slug", Name: "x", Description: "x", BaseURL: "https://acme.example",
		Status: "x", Category: "x", Networks: []string{"x"}, CreatedAt: now, PaymentReady: true,
		Endpoints: []site.Endpoint{{Method: "x", Path: "x", Description: &text, MinPriceUSD: &price,
			Networks:    []string{"x"},
			FirstSeenAt: now, LastSeenAt: now}},
		Assessment: site.Assessment{Risk: site.Risk{Level: "x",
			Flags: []site.RiskFlag{{Level: "x", Title: "x", Evidence: "x"}}},
			Compliance: site.Compliance{GradeReason: "x"}},
		Provenance: site.Provenance{CiteAs: "x"}}
	lookup := site.AddressLookup{Service: site.LookupService{Slug: "some-slug", Name: "x", Status: "x", Risk: "x"},
		Prices: []site.LookupPrice{{Method: "x", NetworkCAIP2: &text, AssetName: "x", AssetAddress: "x", Price: "x",
			PayTo: "x", Since: now}}, AlsoListed: []string{"x"}, Reason: &text}
	bodies := map[string]string{
		"/v1/search": encodePoison(t, site.List[site.SearchResult, site.SearchMeta]{
			Data: []site.SearchResult{
				{ServiceListItem: item, Matched: []string{"x"}, Endpoints: []site.SearchEndpoint{{RowEndpoint: row}}},
				{ServiceListItem: long},
			},
			Meta: site.SearchMeta{PaginationMeta: site.PaginationMeta{Total: 2, Page: 1, TotalPages: 9},
				ReadAs: []site.Reading{{Words: "x", As: "x", To: "x"}},
				Facets: map[string]map[string]int{hostile: {hostile: 1}}},
		}),
		"/v1/best": encodePoison(t, site.List[site.Recommendation, site.RankingMeta]{
			Data: []site.Recommendation{{Slug: "x", Name: "x", Network: "x", PriceUSD: &usd, Why: "x",
				Endpoint: site.RecommendedEndpoint{Method: "x", Path: "x", URL: "x", Description: &text}}},
			Meta: site.RankingMeta{RankingVersion: "x", Prefer: "x",
				Excluded: []site.Exclusion{{Slug: "x", Reason: "x"}}},
		}),
		"/v1/networks": encodePoison(t, site.One[[]site.Network]{Data: []site.Network{
			{Name: "x", Abbreviation: "x", CAIP2: "x"}}}),
		"/v1/categories":               encodePoison(t, site.One[[]string]{Data: []string{"x"}}),
		"/v1/services/some-slug.json":  encodePoison(t, site.One[site.ServiceDetail]{Data: detail}),
		"/v1/index.json":               encodePoison(t, routes.Index{Slugs: []string{"x", "some-slug"}}),
		"/v1/services/other-slug.json": encodePoison(t, site.One[string]{Data: "x"}),
	}
	const url = "https://acme.example/q"
	lookup.URL = url
	poisoned := encodePoison(t, site.One[site.AddressLookup]{Data: lookup})
	quoted := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	bodies["/v1/lookup/url/"+site.Hash(url)+".json"] = strings.Replace(poisoned,
		`"url":`+quoted(hostile+strings.Repeat("漢", 300)), `"url":`+quoted(url), 1)
	address := hostileDirectory(t, func(w http.ResponseWriter, r *http.Request) {
		body, ok := bodies[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			body = fmt.Sprintf(`{"error":{"code":404,"type":"not_found","message":%s}}`, quoted(hostile))
		}
		_, _ = w.Write([]byte(body))
	})
	for line, want := range map[string]string{
		"find x":                            "2 services match",
		"find x --json":                     `"data"`,
		"find x --network nowhere":          "there is no such network",
		"find x --category nowhere":         "there is no such category",
		"best x":                            "score",
		"best x --json":                     `"data"`,
		"show some-slug":                    "Risk: ",
		"show some-slug --json":             `"data"`,
		"show some-slag":                    `did you mean "some-slug"?`,
		"show other-slug":                   "has another type than this program reads",
		"check " + url:                      "Evil",
		"check " + url + " --pay-to 0xabc":  "differs from every one",
		"check " + url + " --json":          `"observed"`,
		"check https://acme.example/unseen": "does not list this URL",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			_, printed := runReader(t, append(strings.Fields(line), "--directory", address)...)
			if !strings.Contains(printed, want) {
				t.Errorf("it prints no %q:\n%.2000s", want, printed)
			}
			if body, _, _ := strings.Cut(printed, "tollbook: "); strings.Contains(line, "--json") &&
				!json.Valid([]byte(body)) {
				t.Errorf("it prints no JSON:\n%.2000s", body)
			}
			checkTerminal(t, printed)
		})
	}
}

// TestFilters checks the request for a search with filters, and what the command says if nothing matches.
func TestFilters(t *testing.T) {
	t.Parallel()
	address := hostileDirectory(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/networks":
			fmt.Fprint(w, `{"data":[{"caip2":"eip155:8453","name":"Base","abbreviation":"BSE"}]}`)
		case "/v1/categories":
			fmt.Fprint(w, `{"data":["AI","Web Search"]}`)
		case "/v1/search":
			want := "category=Web+Search&max_price_usd=0.01&network=BSE&q=speech+to+text&strict=1&verified=false"
			if got := r.URL.Query().Encode(); got != want {
				t.Errorf("the request is %s, want %s", got, want)
			}
			fmt.Fprint(w, `{"data":[],"meta":{"total":0,"page":1,"per_page":10,"total_pages":0,`+
				`"read_as":[{"words":"spech","as":"corrected","to":"speech"}],`+
				`"without":{"network":0,"max_price_usd":3,"verified":1}}}`)
		}
	})
	status, got := runReader(t, "find", "speech", "to", "text", "--network", "base", "--max_price_usd", "0.01",
		"--verified=false",
		"--category", "web search", "--directory", address)
	const want = `Nothing matches "speech to text" with --network BSE --category "Web Search"
--verified=false --max-price 0.01.
  no service has the word "spech"; "speech" is searched instead
3 services match without --max-price 0.01.
1 service matches without --verified=false.
`
	if status != 0 || got != want {
		t.Errorf("exit status %d, it prints\n%swant\n%s", status, got, want)
	}
}

// TestPageIsBounded checks that texts and lists of megabytes are shortened as they are written, and that the reader
// learns of it.
func TestPageIsBounded(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("9", 10<<20)
	for name, write := range map[string]func(p *page){
		"a word":          func(p *page) { p.wrap("    ", "costs "+huge+" dollars") },
		"a value":         func(p *page) { p.value("Price", huge) },
		"a million words": func(p *page) { p.wrap("    ", strings.Repeat("word ", 1_000_000)) },
		"a million lines": func(p *page) {
			for i := range 1_000_000 {
				p.line("flag %d", i)
			}
		},
	} {
		var p page
		write(&p)
		if p.Len() > maxPage+2*maxWord || !strings.Contains(p.String(), "…") {
			t.Errorf("%s: %d bytes: %.200q", name, p.Len(), p.String())
		}
	}
}
