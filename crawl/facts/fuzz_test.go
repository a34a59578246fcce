package facts

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"tollbook/crawl/source"
	"tollbook/site"
)

// FuzzDocuments passes arbitrary bytes to every reader. None may panic or return more than its limit, and all results
// must be fit to be stored: a path below the base URL, clean text.
func FuzzDocuments(f *testing.F) {
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(txtar.Parse(data).Files[0].Data)
	}
	f.Add([]byte(strings.Repeat("[", 20_000)))
	f.Add([]byte(`{"services":` + strings.Repeat(`[{"services":`, 5000)))
	f.Add([]byte("openapi: 3.1.0\npaths: &p\n  /a: {get: {responses: {402: *p}}}\n"))
	f.Add([]byte(`{"linkset": [{"api-catalog": [{"href": "/a"}], "service-desc": {"href": "/b"}}]}`))
	address := mustParse("https://api.example.com/openapi.json")
	discovery, _ := source.KindOf("x402-discovery")
	f.Fuzz(func(t *testing.T, doc []byte) {
		const base = "https://api.example.com"
		api, _ := ReadOpenAPI(doc, address, base)
		listed, _ := ReadManifest(doc, address, base)
		for _, got := range []Reading{api, listed} {
			if len(got.Endpoints) > MaxEndpoints {
				t.Errorf("%d endpoints of one document", len(got.Endpoints))
			}
			for _, skipped := range got.Skipped {
				if skipped.Count <= 0 || !slices.Contains(site.SkipReasons, skipped.Reason) {
					t.Errorf("skipped %+v", skipped)
				}
			}
			for _, d := range got.Endpoints {
				if d.Price == nil {
					continue
				}
				for _, o := range d.Price.Offers {
					for _, text := range []string{o.Protocol, o.Method, o.Intent, o.Network, o.Currency, o.Amount} {
						checkText(t, text, 100)
					}
				}
			}
		}
		below := FilterBelow(base, slices.Concat(api.Endpoints, listed.Endpoints))
		for _, e := range below {
			checkEndpoint(t, e)
		}
		cards, _ := ReadAgentCard(doc, address)
		catalog, _ := ReadAPICatalog(doc, address)
		if len(cards) > maxCandidates || len(catalog.Descriptions) > maxDescriptions ||
			len(catalog.Catalogs) > maxCatalogs {
			t.Errorf("%d candidates, %d descriptions, %d catalogues", len(cards), len(catalog.Descriptions),
				len(catalog.Catalogs))
		}
		if p, err := discovery.Read(doc); err == nil {
			for _, s := range GroupSellers(p.Rows) {
				if u, err := url.Parse(s.BaseURL); err != nil || u.Host == "" || len(s.Endpoints) == 0 ||
					len(s.Endpoints) > MaxEndpoints {
					t.Errorf("seller at %q with %d endpoints", s.BaseURL, len(s.Endpoints))
				}
				checkText(t, s.Name, 100)
				for _, e := range s.Endpoints {
					checkEndpoint(t, e)
				}
			}
		}
		if r, err := ReadRegistration(doc, "example.com", now); err == nil {
			checkText(t, r.Registrar, 200)
			if !r.Created.IsZero() && (r.Created.Year() < 1980 || r.Created.After(now.AddDate(0, 0, 1))) {
				t.Errorf("registered at %s", r.Created)
			}
		}
		if b, err := ReadBootstrap(doc); err == nil {
			for _, servers := range b {
				if u, err := url.Parse(servers[0]); err != nil || u.Host == "" {
					t.Errorf("server %q", servers[0])
				}
			}
		}
	})
}

func checkEndpoint(t *testing.T, e Endpoint) {
	t.Helper()
	if !strings.HasPrefix(e.Path, "/") || strings.HasPrefix(e.Path, "//") || len(e.Path) > maxPath ||
		strings.ContainsFunc(e.Path, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) ||
		!utf8.ValidString(e.Path) {
		t.Errorf("path %q", e.Path)
	}
	if e.Method != "" && methodOf(e.Method) != e.Method {
		t.Errorf("method %q", e.Method)
	}
	if _, err := url.Parse("https://api.example.com" + e.Path); err != nil {
		t.Errorf("path %q makes no URL: %v", e.Path, err)
	}
	checkText(t, e.Description, 500)
	checkText(t, e.MimeType, 100)
}

func checkText(t *testing.T, s string, most int) {
	t.Helper()
	if !utf8.ValidString(s) || utf8.RuneCountInString(s) > most || strings.ContainsFunc(s, unicode.IsControl) {
		t.Errorf("text %q", s)
	}
}

// FuzzRobots checks arbitrary rules and paths. /robots.txt itself must always be allowed.
func FuzzRobots(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\nAllow: /%C3%A4"), "/a%zz%")
	f.Add([]byte("user-agent: tollbook\r\ndisallow: *"), "")
	f.Fuzz(func(t *testing.T, text []byte, path string) {
		rules := ReadRobots(text, Token)
		if !rules.Allows("/robots.txt") || !(Rules{}).Allows(path) {
			t.Error("a path is disallowed without a rule")
		}
		if rules.Allows(path) != rules.Allows(normalPath(path)) {
			t.Errorf("%q and its normal form differ", path)
		}
	})
}
