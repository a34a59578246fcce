package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"tollbook/site"
	"tollbook/site/invisible"
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
		"/checkpoint.json":             readFile(t, "testdata/publications/v0.1.0/checkpoint.json"),
		"/v1/allow": encodePoison(t, site.List[site.Allowance, site.PaginationMeta]{
			Data: []site.Allowance{{Slug: "some-slug", Name: "x", Category: "x", AdviceLevel: "x",
				Hosts: []string{"x", "acme-host"}, Options: []site.AllowedOption{{NetworkCAIP2: "x", AssetAddress: "x",
					AssetName: "x", PayTo: "x"}}}},
			Meta: site.PaginationMeta{Total: 1, Page: 1, TotalPages: 1},
		}),
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
		"allow":                             `"services"`,
		"allow --format hosts":              "acme-host",
		"allow --format recipients":         "",
		"allow --format payfetch":           `"allowlist"`,
		"allow --format clawrouter":         `"allowedPayees"`,
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

// TestEndlessAllowList checks that allow does not read pages without end.
func TestEndlessAllowList(t *testing.T) {
	t.Parallel()
	row := `{"slug":"a","hosts":["a.example"],"options":[]}`
	page := `{"data":[` + row + strings.Repeat(","+row, 99) + `],"meta":{"total":1000000000,"total_pages":1000000000}}`
	checkpoint, requests := readFile(t, "testdata/publications/v0.1.0/checkpoint.json"), 0
	address := hostileDirectory(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/checkpoint.json" {
			fmt.Fprint(w, checkpoint)
			return
		}
		requests++
		fmt.Fprint(w, page)
	})
	if status, printed := runReader(t, "allow", "--directory", address); status != 1 || requests > 1000 ||
		!strings.Contains(printed, "more than 100000 services") {
		t.Errorf("exit status %d after %d requests: %.300s", status, requests, printed)
	}
}

// TestHostilePublication checks that verify cuts and cleans what a publication says, and lists no faults without end.
func TestHostilePublication(t *testing.T) {
	t.Parallel()
	id, files := "20261130T000000Z-", strings.Builder{}
	for i := range 30_000 {
		fmt.Fprintf(&files, "%064x  a/%06d%s.json\n", i, i, strings.Repeat("x", 80))
	}
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(files.String())))
	id += digest[:6]
	bodies := map[string]string{
		"/checkpoint.json": fmt.Sprintf(`{"snapshot":%q,"previous":null,"generation":1,"built_at":"2026-11-30T00:00:00.000Z",
			"next_at":"2026-11-30T00:00:00.000Z","digest":%q,"erased":0,"signature":null}`, id, digest),
		"/SHA256SUMS": files.String(),
	}
	for name, change := range map[string]func() map[string]string{
		"a title in the id": func() map[string]string {
			return map[string]string{"/checkpoint.json": strings.Replace(bodies["/checkpoint.json"], id,
				"\\u001b]0;title\\u0007", 1)}
		},
		"not JSON":        func() map[string]string { return map[string]string{"/checkpoint.json": hostile} },
		"files that miss": func() map[string]string { return bodies },
		"a zip of nothing": func() map[string]string {
			all := maps.Clone(bodies)
			all["/snapshots/"+id+".zip"] = strings.Repeat(hostile, 100)
			return all
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := change()
			address := hostileDirectory(t, func(w http.ResponseWriter, r *http.Request) {
				if body, ok := answers[r.URL.Path]; ok {
					_, _ = w.Write([]byte(body))
					return
				}
				http.Error(w, hostile, http.StatusNotFound)
			})
			code, stdout, stderr := tollbook(t, nil, "verify", address)
			if code != 1 {
				t.Errorf("exit %d: %.300s%.300s", code, stdout, stderr)
			}
			for line := range strings.Lines(stdout + stderr) {
				if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool {
					return unicode.IsControl(r) || invisible.Is(r)
				}) || len(line) > 3000 {
					t.Errorf("it prints %.500q", line)
				}
			}
			if n := strings.Count(stdout, "\n"); n > 10_010 {
				t.Errorf("it prints %d lines", n)
			}
		})
	}
}

// hostileReads has a test with a hostile directory, publication or list for each command that reads what others
// publish, and "" for commands that have such a flag or argument and read only what is the operator's own.
var hostileReads = map[string]string{
	"allow":                   "TestHostileDirectory", // and TestEndlessAllowList
	"best":                    "TestHostileDirectory",
	"check":                   "TestHostileDirectory", // and TestAskStranger for what a URL answers
	"checks void":             "",
	"config":                  "",
	"crawl":                   "TestHostileServers",
	"data pull":               "TestPullHostile", // and TestPullTrap for links and pipes
	"data query":              "TestQuery",
	"facilitators candidates": "TestPollHostileFacilitators",
	"find":                    "TestHostileDirectory",
	"index":                   "TestLyingNode",
	"lint":                    "TestLintShowsNoTricks",
	"mcp":                     "TestHostileTextsStaySmall", // and TestVisible
	"ready":                   "",
	"serve":                   "TestHostilePublication", // which verify reads with the same code
	"services import":         "",
	"show":                    "TestHostileDirectory",
	"sources pull":            "TestHostileWalks", // and TestHostileRows
	"verify":                  "TestHostilePublication",
}

// TestHostileReads checks that each command that reads what somebody else publishes has such a test.
func TestHostileReads(t *testing.T) {
	t.Parallel()
	defined := functionNames(t)
	exists := map[string]bool{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, child := range c.Commands() {
			walk(child)
		}
		name := strings.TrimPrefix(c.CommandPath(), "tollbook ")
		exists[name] = true
		reads := c.Flags().Lookup("directory") != nil || c.Flags().Lookup("from") != nil || strings.Contains(c.Use, "URL")
		if _, ok := hostileReads[name]; c.Runnable() && reads && !ok {
			t.Errorf("tollbook %s may read what others publish, and no test has a hostile one", name)
		}
	}
	walk(newRootCommand())
	for name, test := range hostileReads {
		if !exists[name] || test != "" && !defined[test] {
			t.Errorf("there is no command %s, or no test %s", name, test)
		}
	}
}

// TestPublicationOfPipes checks that a pipe in the place of a publication's file holds no command that reads it.
func TestPublicationOfPipes(t *testing.T) {
	t.Parallel()
	k := keptPublications[len(keptPublications)-1]
	for _, pattern := range []string{"checkpoint.json", "snapshots/*.zip", "packs/*.zip"} {
		place := filepath.Join(t.TempDir(), "public")
		if err := os.CopyFS(place, os.DirFS(k.folder())); err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(place, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		if err := os.Remove(names[0]); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(names[0], 0o644); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := tollbook(t, nil, "verify", place)
		if code != 1 || !strings.Contains(stdout+stderr, "not a regular file") {
			t.Errorf("verify with a pipe as %s: exit %d: %s%s", pattern, code, stdout, stderr)
		}
	}
}
