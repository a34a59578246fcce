package crawl

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/facts"
	"tollbook/crawl/probe"
	"tollbook/crawl/sample"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/testgate"
)

// town serves several host names on loopback and counts their requests.
type town struct {
	mu       sync.Mutex
	hosts    map[string]http.HandlerFunc
	requests map[string]int // by "host path"
}

func newTown(t *testing.T, domain string) (*town, probe.Options) {
	t.Helper()
	w := &town{hosts: map[string]http.HandlerFunc{}, requests: map[string]int{}}
	s := httptest.NewServer(w)
	t.Cleanup(s.Close)
	return w, probe.Options{Routes: []probe.Route{{Domain: domain,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, bool, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, network, s.Listener.Addr().String())
			return conn, true, err
		}}}}
}

func (w *town) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.requests[r.Host+" "+r.URL.Path]++
	h := w.hosts[r.Host]
	w.mu.Unlock()
	if h == nil {
		http.NotFound(rw, r)
		return
	}
	h(rw, r)
}

func (w *town) count(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests[what]
}

func gather(t *testing.T, c *Crawler) GatherReport {
	t.Helper()
	g, err := c.Gather(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGather checks that documents declare endpoints, which the next visit probes, that a registry is asked about the
// domain, and that each is asked again when it is due and not before.
func TestGather(t *testing.T) {
	t.Parallel()
	w, o := newTown(t, "com")
	w.hosts["api.acme.com"] = func(rw http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "GET /a", "POST /b":
			pay(rw, challenge)
		case "GET /openapi.json":
			io.WriteString(rw, `{"openapi": "3.1.0", "paths": {"/a": {"get": {"x-payment-info": {"price": `+
				`"0.01"}}}, "/b": {"post": {"summary": "B", "responses": {"402": {}}}}, "/free": {"get": `+
				`{"security": []}}}}`)
		default:
			http.NotFound(rw, r)
		}
	}
	registered := true
	w.hosts["rdap.registry.com"] = func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/dns.json":
			io.WriteString(rw, `{"services": [[["com"], ["http://rdap.registry.com/"]]]}`)
		case r.URL.Path == "/domain/acme.com" && registered:
			io.WriteString(rw,
				`{"objectClassName": "domain", "events": [{"eventAction": "registration",
				"eventDate": "2025-01-02T03:04:05Z"}], "entities": [{"roles": ["registrar"],
				"vcardArray": ["vcard", [["fn", {}, "text", "Names Ltd"]]]}]}`)
		default:
			rw.WriteHeader(http.StatusTooManyRequests)
		}
	}
	m := open(t)
	l := oneEndpoint("acme", "http://api.acme.com", "/a")
	l.Endpoints[0].Method = ""
	m.list(t, l, oneEndpoint("guest", "http://guest.vercel.app", "/x"),
		oneEndpoint("other", "http://other.sample.test", "/x"))
	now := &clock{now: dawn}
	calls := 0
	var log strings.Builder
	c := crawler(t, m, Options{Now: now.Now, Bootstrap: "http://rdap.registry.com/dns.json",
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Rand:   func() float64 { return 0.5 }, Changed: func([]checks.Visit) { calls++ }, Workers: 1}, o)

	// The other two services have no server: nothing can be read of them.
	if diff := cmp.Diff(GatherReport{Sites: 3, Unseen: 2, Endpoints: 1, Domains: 1}, gather(t, c)); diff != "" ||
		calls != 3 {
		t.Errorf("first round, Changed called %d times (-want +got):\n%s", calls, diff)
	}
	for _, slug := range []string{"guest", "other"} {
		if !regexp.MustCompile(`msg="site could not be read" service=` + slug + ` err="get http://` + slug +
			`[^"]*/robots.txt: [^"]+"`).MatchString(log.String()) {
			t.Errorf("the log does not say why the site of %s could not be read:\n%s", slug, log.String())
		}
	}
	if diff := cmp.Diff(GatherReport{}, gather(t, c)); diff != "" {
		t.Errorf("second round at once (-want +got):\n%s", diff)
	}
	if report := round(t, c); report.Online != 1 {
		t.Errorf("%+v, want acme online", report)
	}
	stored := m.facts(t, dawn)
	acme := stored["acme"]
	site := postgres.SiteFacts{CheckedAt: &dawn, Homepage: new(false), OpenAPI: new(true), Pricing: new(false),
		LLMsTxt: new(false), Robots: new(false), Terms: new(false), Domain: new("acme.com"),
		Answers: []postgres.SiteAnswer{
			{Document: "robots", URL: "http://api.acme.com/robots.txt", Exists: new(false), Reason: "no document"}}}
	missing := func(document, path string) {
		site.Answers = append(site.Answers, postgres.SiteAnswer{Document: document, URL: "http://api.acme.com" + path,
			Status: 404, ContentType: "text/plain", Exists: new(false), Reason: "not found"})
	}
	missing("homepage", "/")
	missing("pricing", "/pricing")
	missing("terms", "/terms")
	missing("llms_txt", "/llms.txt")
	site.Answers = append(site.Answers, postgres.SiteAnswer{Document: "openapi",
		URL: "http://api.acme.com/openapi.json", Status: 200, ContentType: "text/plain", Exists: new(true),
		Reason: "an OpenAPI document", Declared: new(2), Skipped: []postgres.SiteSkipped{{Reason: "free", Count: 1}}})
	if diff := cmp.Diff(&site, acme.Site); diff != "" {
		t.Errorf("site (-want +got):\n%s", diff)
	}
	created := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	domain := postgres.DomainFacts{Domain: "acme.com", CheckedAt: &dawn, Registrar: new("Names Ltd"),
		CreatedAt: &created, URL: new("http://rdap.registry.com/domain/acme.com"), Registered: new(true)}
	if diff := cmp.Diff(&domain, acme.Domain); diff != "" {
		t.Errorf("domain (-want +got):\n%s", diff)
	}
	if d := stored["guest"].Domain; d == nil || d.Suffix == nil || *d.Suffix != "vercel.app" || d.CheckedAt != nil {
		t.Errorf("domain of a service below a shared host: %+v", d)
	}
	if d := stored["other"].Domain; d != nil {
		t.Errorf("a domain under .test: %+v", d)
	}
	var endpoints []string
	for _, e := range acme.Endpoints {
		endpoints = append(endpoints, fmt.Sprintf("%s %s %s paid %t", e.Method, e.Path, e.Origin, e.LastPaidAt != nil))
	}
	if diff := cmp.Diff([]string{"GET /a import paid true", "POST /b openapi paid true"}, endpoints); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}

	// A day later documents are read again and the registry is not asked. A week later the registry is busy, and its
	// last answer stays.
	now.set(dawn.Add(25 * time.Hour))
	if g := gather(t, c); g.Sites != 3 || g.Domains != 0 || g.Endpoints != 0 {
		t.Errorf("a day later: %+v", g)
	}
	registered = false
	now.set(dawn.Add(8 * 24 * time.Hour))
	if g := gather(t, c); g.Domains != 0 || w.count("rdap.registry.com /domain/acme.com") != 2 ||
		w.count("rdap.registry.com /dns.json") != 2 {
		t.Errorf("a week later: %+v, requests %v", g, w.requests)
	}
	if diff := cmp.Diff(&domain, m.facts(t, dawn)["acme"].Domain); diff != "" {
		t.Errorf("domain after a busy answer (-want +got):\n%s", diff)
	}
	if n := w.count("api.acme.com /robots.txt"); n != 3 {
		t.Errorf("%d requests for robots.txt on three days, want 3", n)
	}
}

// TestExclusion checks that paths that robots.txt excludes for us by name are not probed, and those that it excludes
// for all robots are.
func TestExclusion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		robots   string
		requests int
		class    string
	}{
		{"User-agent: *\nDisallow: /\n", 2, "paid_ok"}, // GET and HEAD
		{"User-agent: Tollbook\nDisallow: /v1/x\n", 0, classRobots},
	} {
		w, o := newTown(t, "com")
		w.hosts["acme.com"] = func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				rw.Header().Set("Content-Type", "text/plain")
				io.WriteString(rw, c.robots)
				return
			}
			pay(rw, challenge)
		}
		m := open(t)
		m.list(t, oneEndpoint("acme", "http://acme.com/v1", "/x"))
		now := &clock{now: dawn}
		crawler := crawler(t, m, Options{Now: now.Now, Bootstrap: "http://rdap.com/"}, o)
		gather(t, crawler)
		report := round(t, crawler)
		if n := w.count("acme.com /v1/x"); n != c.requests || report.Visits != 1 ||
			report.Online != min(c.requests, 1) {
			t.Errorf("%q: %d requests, %+v", c.robots, n, report)
		}
		if got := m.strings(t, `SELECT class FROM endpoints`); !slices.Equal(got, []string{c.class}) {
			t.Errorf("%q: class %q, want %s", c.robots, got, c.class)
		}
	}
}

// TestGatherTheSampleWorld gathers facts about every sample service. Services with a website have all documents; a
// service that is listed with a part of its endpoints gets the others.
func TestGatherTheSampleWorld(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	world, err := sample.Start(t.Context(), sample.Options{Now: func() time.Time { return dawn }, Pace: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { world.Close() })
	m := open(t)
	listings := sampleListings()
	with := 0
	for i := range listings {
		if listings[i].Slug == "harborlight-search" {
			listings[i].Endpoints = listings[i].Endpoints[:1]
		}
	}
	m.list(t, listings...)
	c := crawler(t, m, Options{Now: func() time.Time { return dawn }, Bootstrap: "http://10.0.0.1/"}, probe.Options{
		Routes: []probe.Route{{Domain: sample.Domain, Dial: world.Dial, RootCAs: world.RootCAs()}},
	})
	c.fetcher.Close()
	c.fetcher = facts.New(facts.Options{ // the silent service costs its timeout
		Enter: c.hosts.enter, Robots: robotsStore{m.DB}, Now: c.o.Now, Timeout: 10 * time.Second,
		Routes: []probe.Route{{Domain: sample.Domain, Dial: world.Dial, RootCAs: world.RootCAs()}},
	})
	g := gather(t, c)
	if g.Sites != len(listings) || g.Endpoints != 2 || g.Domains != 0 {
		t.Errorf("%+v, want all %d sites, the two endpoints that one lacks, and no domain", g, len(listings))
	}
	stored := m.facts(t, dawn)
	for _, l := range listings {
		s := stored[l.Slug].Site
		if s == nil {
			t.Errorf("%s was not gathered", l.Slug)
			continue
		}
		if troubled[l.Slug] == "offline" && s.CheckedAt != nil && l.WebsiteURL == nil && s.Homepage != nil &&
			*s.Homepage {
			t.Errorf("%s has a homepage although its server is down", l.Slug)
		}
		if l.WebsiteURL == nil || troubled[l.Slug] != "" {
			continue
		}
		with++
		for name, is := range map[string]*bool{"homepage": s.Homepage, "openapi": s.OpenAPI, "pricing": s.Pricing,
			"llms.txt": s.LLMsTxt, "robots.txt": s.Robots, "terms": s.Terms} {
			if is == nil || !*is {
				t.Errorf("%s has no %s", l.Slug, name)
			}
		}
	}
	if with < 5 {
		t.Errorf("%d services with a website, want 5 or more", with)
	}
	if n := len(stored["harborlight-search"].Endpoints); n != 3 {
		t.Errorf("harborlight-search has %d endpoints, want 3", n)
	}
}

// TestImport imports a facilitator's catalogue over HTTP, twice.
func TestImport(t *testing.T) {
	t.Parallel()
	w, o := newTown(t, "com")
	items := []map[string]any{}
	for i := range 120 {
		items = append(items, map[string]any{"resource": fmt.Sprintf("https://api%d.seller.com/%d", i%3, i),
			"type": "http", "serviceName": fmt.Sprintf("Seller %d", i%3), "tags": []string{"data"}})
	}
	items = append(items, map[string]any{"resource": "http://localhost:3000/x"},
		map[string]any{"resource": "https://listed.com/v1/known", "method": "POST"},
		map[string]any{"resource": "https://listed.com/v1/new"},
		map[string]any{"resource": "https://listed.com/outside"})
	w.hosts["facilitator.com"] = func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/list.toml":
			io.WriteString(rw, "[[service]]\nservice_name = \"Filed\"\ndescription = \"d\"\n"+
				"url = \"https://filed.com\"\ncategory = \"AI\"\nendpoints = [\"/x\"]\n")
		case "/discovery/resources":
			var offset, limit int
			fmt.Sscan(r.URL.Query().Get("offset"), &offset)
			fmt.Sscan(r.URL.Query().Get("limit"), &limit)
			page := items[min(offset, len(items)):min(offset+limit, len(items))]
			json.NewEncoder(rw).Encode(map[string]any{"items": page, "pagination": map[string]int{"total": len(items)}})
		default:
			http.NotFound(rw, r)
		}
	}
	m := open(t)
	m.list(t, oneEndpoint("listed", "https://listed.com/v1", "/known"),
		oneEndpoint("seller-1", "https://elsewhere.com", "/x"))
	c := crawler(t, m, Options{Now: func() time.Time { return dawn }}, o)
	const address = "http://facilitator.com/discovery/resources"
	preview, err := c.Preview(t.Context(), address, nil)
	if rows := m.strings(t, `SELECT slug FROM services ORDER BY slug`); err != nil ||
		!slices.Equal(rows, []string{"listed", "seller-1"}) {
		t.Errorf("error %v, services after a preview: %q", err, rows)
	}
	got, err := c.Import(t.Context(), address, nil)
	if diff := cmp.Diff(preview, got); err != nil || diff != "" {
		t.Errorf("error %v (-preview +import):\n%s", err, diff)
	}
	if len(got.New) != 3 || len(got.Added) != 1 || got.Added[0].Slug != "listed" || len(got.Added[0].Endpoints) != 2 {
		t.Errorf("import: %+v", got)
	}
	got.New, got.Added = nil, nil
	if diff := cmp.Diff(ImportReport{Listed: 3, Existing: 1, Endpoints: 2, Refused: 1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := c.Import(t.Context(), address, nil)
	if diff := cmp.Diff(ImportReport{Existing: 4, Refused: 1}, again); err != nil || diff != "" {
		t.Errorf("again: error %v (-want +got):\n%s", err, diff)
	}
	want := []string{"api1-seller-com|Data|imported:facilitator.com|40", "listed|AI|imported:file|3",
		"seller-0|Data|imported:facilitator.com|40", "seller-1|AI|imported:file|1",
		"seller-2|Data|imported:facilitator.com|40"}
	rows := m.strings(t, `SELECT slug || '|' || category || '|' || source || '|' || count(e) FROM services s LEFT `+
		`JOIN endpoints e ON service_id = s.id GROUP BY s.id ORDER BY slug`)
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	if got, err := c.FetchList(t.Context(), "http://facilitator.com/list.toml"); err != nil || len(got) == 0 {
		t.Errorf("list: %q, error %v", got, err)
	}
	if _, err := c.FetchList(t.Context(), "http://facilitator.com/none.json"); err == nil ||
		!strings.Contains(err.Error(), "the answer is 404") {
		t.Errorf("list that is not there: %v", err)
	}
	for address, fault := range map[string]string{
		"http://facilitator.com/none": "the answer is 404",
		"http://10.0.0.1/x":           "refused", "ftp://x": "must start with",
	} {
		if _, err := c.Import(t.Context(), address, nil); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("import %s: %v, want %q", address, err, fault)
		}
	}
}
