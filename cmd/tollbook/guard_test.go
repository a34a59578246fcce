//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tollbook/cmd/tollbook/run"
	"tollbook/crawl"
	"tollbook/crawl/facts"
	"tollbook/crawl/probe"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/serve"
	"tollbook/site/testgate"
)

// TestNoDoorLeadsInside sends every client that requests user-supplied URLs to every lure, directly and by redirects.
// It counts the connections that arrive.
func TestNoDoorLeadsInside(t *testing.T) {
	t.Parallel()
	every, some := lures(t), fewer(t)
	if len(some) < 300 {
		t.Fatalf("%d lures, want 300 at least", len(some))
	}
	doors := []struct {
		name string
		more []string // kinds of hosts, besides those that redirect
		open func(t *testing.T, s *snare) (try func(address string))
	}{
		{"probe", nil, func(t *testing.T, s *snare) func(string) {
			p := probe.New(probe.Options{Guard: &s.guard})
			t.Cleanup(p.Close)
			return func(address string) {
				p.Probe(t.Context(), probe.Target{URL: address})
				_, _ = p.Head(t.Context(), address)
			}
		}},
		{"lint", nil, func(t *testing.T, s *snare) func(string) {
			return func(address string) {
				err := runLint(t.Context(), lintOptions{guard: s.guard}, []string{address}, io.Discard)
				if err == nil {
					t.Errorf("lint %s passes", address)
				}
			}
		}},
		{"documents", []string{"within", "document"}, func(t *testing.T, s *snare) func(string) {
			f := facts.New(facts.Options{Guard: &s.guard})
			t.Cleanup(f.Close)
			return func(address string) {
				f.Survey(t.Context(), strings.TrimRight(address, "/"), address)
			}
		}},
		{"registry", nil, func(t *testing.T, s *snare) func(string) {
			f := facts.New(facts.Options{Guard: &s.guard})
			t.Cleanup(f.Close)
			return func(address string) {
				if _, _, err := f.Bootstrap(t.Context(), address); err == nil {
					t.Errorf("%s is a list of registries", address)
				}
				if _, _, err := f.Registration(t.Context(), strings.TrimRight(address, "/")+"/",
					"acme.example"); err == nil {
					t.Errorf("%s is a registry", address)
				}
			}
		}},
		{"owner", nil, func(t *testing.T, s *snare) func(string) {
			f := facts.New(facts.Options{Guard: &s.guard})
			t.Cleanup(f.Close)
			return func(address string) {
				if f.CheckToken(t.Context(), address, "token") == nil {
					t.Errorf("%s shows a token", address)
				}
			}
		}},
		{"submission", nil, submissionDoor},
		{"submission's probe", nil, func(t *testing.T, s *snare) func(string) {
			// A crawl may have exceptions to the guard. A submission has none, even if the crawler does.
			within := s.guard
			within.AllowPrivate = []string{"127.0.0.1", "10.0.0.1", "localhost", "169.254.169.254"}
			p := crawl.NewSubmissions(openTestDatabase(t).DB, crawl.SubmissionOptions{HostGap: 1, Limit: time.Minute},
				probe.Options{Guard: &within})
			t.Cleanup(p.Close)
			return func(address string) {
				if r := p.Probe(t.Context(), strings.TrimRight(address, "/"),
					[]string{"GET /", "POST /x"}); r.EndpointsFound != 0 {
					t.Errorf("%s asks to be paid", address)
				}
			}
		}},
	}
	for _, door := range doors {
		t.Run(door.name, func(t *testing.T) {
			t.Parallel()
			all := some
			if door.name == "probe" {
				all = every
			}
			s := newSnare(t, all)
			try, ways := door.open(t, s), s.ways(append(door.more, "to")...)
			for _, way := range ways {
				try(way)
			}
			s.caught(t)
			t.Logf("figures: %s: %d lures, %d ways to them, %d connections", door.name, len(all), len(ways),
				s.reached.Load())
		})
	}
}

// submissionDoor returns a function that posts to /v1/submit, which probes the address.
func submissionDoor(t *testing.T, s *snare) func(string) {
	db := openTestDatabase(t)
	p := crawl.NewSubmissions(db.DB, crawl.SubmissionOptions{HostGap: 1}, probe.Options{Guard: &s.guard})
	t.Cleanup(p.Close)
	h := serve.NewHandler(serve.Options{Trusted: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		Submit: run.SubmitOptions(db.DB, p, listing.FreeHosts{})})
	client := netip.MustParseAddr("198.18.0.1") // each submission has its own client, to stay below the limit
	return func(address string) {
		fields := []string{"url"}
		if !strings.HasPrefix(address, "http://to.") {
			fields = append(fields, "website_url")
		}
		for _, field := range fields {
			client = client.Next()
			text, err := json.Marshal(address)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodPost, "/v1/submit",
				strings.NewReader(submission("acme", field, string(text), "endpoints", `["/","POST /"]`)))
			r.Header.Set("Content-Type", jsonBody)
			r.Header.Set("X-Forwarded-For", client.String())
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code >= 500 {
				t.Errorf("submit %s %s: %d %s", field, address, w.Code, w.Body)
			}
		}
	}
}

// openTestDatabase returns a new database for the test.
func openTestDatabase(t *testing.T) *run.Database {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgrestest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return &run.Database{DB: db}
}

// TestNoListingLeadsInside imports every way to a lure as a service, from a list and from a catalogue. Then it visits
// all of them, reads their documents and registries, and probes the waiting submissions.
func TestNoListingLeadsInside(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	s := newSnare(t, fewer(t))
	db := openTestDatabase(t)
	c := crawl.New(db.DB, crawl.Options{HostGap: 1, Hourly: -1, Bootstrap: "http://to.t0.example/"},
		probe.Options{Guard: &s.guard})
	t.Cleanup(c.Close)

	got, err := c.Import(t.Context(), "http://document.t0.example/catalogue", nil)
	if err != nil {
		t.Fatal(err)
	}
	// names that resolve to a forbidden address are refused only when they are visited
	if got.Refused == 0 || got.Listed == 0 {
		t.Errorf("of a catalogue %+v", got)
	}
	for i, l := range s.lures {
		for _, address := range []string{l.url, fmt.Sprintf("http://to.t%d.example/catalogue", i), l.url + "list.json",
			fmt.Sprintf("http://to.t%d.example/list.toml", i)} {
			if _, err := c.Import(t.Context(), address, nil); err == nil {
				t.Errorf("%s is a list", address)
			}
		}
	}
	services, err := db.Services(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	taken := map[string]bool{}
	for _, service := range services {
		taken[service.BaseURL] = true
	}
	var listings []postgres.Listing
	for i, way := range s.ways("to", "within", "document") {
		if u, err := url.Parse(way); err != nil || u.Host == "" {
			continue // neither lists nor submissions can contain it
		}
		base := strings.TrimRight(way, "/")
		if taken[base] {
			continue // from the catalogue, or from an address in both tables
		}
		taken[base] = true
		listings = append(listings, postgres.Listing{
			Slug: fmt.Sprintf("lure-%d", i), Name: fmt.Sprintf("S%d", i), Description: "d", BaseURL: base,
			WebsiteURL: &way, Category: "AI",
			Source: "imported:test", CreatedAt: time.Now(),
			Endpoints: []postgres.ListedEndpoint{{Path: "/"}, {Method: "POST", Path: "/x"}},
		})
	}
	if err := db.AddListings(t.Context(), listings); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Gather(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.caught(t)
	t.Logf(
		"figures: listings: %d services listed by a list and %d by a catalogue, %d requests to the server that "+
			"sends inside, %d connections", len(listings), len(services), s.requests.Load(), s.reached.Load())
}

// insideNames are names that a DNS server resolves to this machine.
var insideNames = map[string]dnsAnswer{
	"four.example.":      {addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}},
	"zero.example.":      {addrs: []netip.Addr{netip.MustParseAddr("0.0.0.0"), netip.IPv6Unspecified()}},
	"six.example.":       {addrs: []netip.Addr{netip.IPv6Loopback()}},
	"mapped.example.":    {addrs: []netip.Addr{netip.MustParseAddr("::ffff:127.0.0.1")}},
	"alias.example.":     {alias: "localhost.", addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}},
	"elsewhere.example.": {addrs: []netip.Addr{netip.MustParseAddr("127.9.9.9"), netip.IPv6Loopback()}},
}

// TestCommandsGoNowhereInside runs the commands with their own network and addresses of a counting server on this
// machine, in every spelling and behind names.
func TestCommandsGoNowhereInside(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	var reached atomic.Int64
	l, err := net.Listen("tcp", ":0") // IPv4 and, if there is any, IPv6
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler(), ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			reached.Add(1)
		}
	}}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"127.0.0.1", "127.1", "0.0.0.0", "0", "2130706433", "0x7f000001", "0177.0.0.1",
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "localhost", "localhost.", "LOCALHOST", "①②⑦.0.0.1", "127。0。0。1"}
	if name, err := os.Hostname(); err == nil && !strings.ContainsAny(name, "_") {
		hosts = append(hosts, name)
	}
	if addrs, err := net.InterfaceAddrs(); err == nil {
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
				hosts = append(hosts, n.IP.String())
			}
		}
	}
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t), asResolver + "=" + serveDNS(t,
		func(name string, _ bool) (dnsAnswer, bool) {
			answer, ok := insideNames[name]
			return answer, ok
		})}
	var list []map[string]any
	for _, host := range hosts {
		address := "http://" + host + ":" + port
		if code, stdout, stderr := tollbook(t, env, "lint", address); code != 2 {
			t.Errorf("lint %s: exit %d, %s%s", address, code, stdout, stderr)
		}
	}
	inside := []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} // each name is its own service
	for name := range insideNames {
		inside = append(inside, strings.TrimSuffix(name, "."))
	}
	for i, host := range inside {
		address := "http://" + host + ":" + port
		list = append(list, map[string]any{"service_name": fmt.Sprintf("S%d", i), "description": "d", "url": address,
			"website_url": address, "category": "AI", "endpoints": []string{"/"}})
	}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	ran(t, env, "services", "import", writeFile(t, "list.json", data))
	for i, host := range inside {
		if code, _, stderr := tollbook(t, env, "services", "import",
			"http://"+host+":"+port+"/discovery/resources"); code != 1 || !strings.Contains(stderr, "refused") {
			t.Errorf("import from %s: exit %d, %s", host, code, stderr)
		}
		if code, _, stderr := tollbook(t, env, "services", "verify", fmt.Sprintf("s%d", i)); code != 1 ||
			!strings.Contains(stderr, "refused") {
			t.Errorf("the owner at %s: exit %d, %s", host, code, stderr)
		}
	}
	ran(t, env, "crawl", "--once")
	count := reached.Load()
	if count != 0 {
		t.Errorf("%d connections, want 0", count)
	}
	if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err != nil {
		t.Error(err)
	} else {
		conn.Close()
	}
	for end := time.Now().Add(time.Minute); reached.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(errors.New("the server does not count"))
		}
	}
	t.Logf("figures: commands: %d spellings, %d of them listed and crawled; %d connections", len(hosts), len(list),
		count)
}
