//go:build unix

package main

import (
	"context"
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
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tollbook/cmd/tollbook/database"
	"tollbook/cmd/tollbook/server"
	"tollbook/crawl"
	"tollbook/crawl/facts"
	"tollbook/crawl/probe"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/serve"
	"tollbook/site/testgate"
)

// A lure is an address that nobody may be sent to: forbidden as it is written, or by what its name resolves to.
type lure struct {
	url  string
	addr netip.Addr // what names of the lure's domain resolve to; zero where the text alone is refused
}

// lures are all of the tables of crawl/probe: each address as a literal, with a port, behind a name, beside a public
// address before and after it, and behind a name that is rebound to it; then what is refused by its text. The names of
// lure 17 end in t17.example.
func lures(t testing.TB) []lure {
	t.Helper()
	var out []lure
	for _, line := range tableOf(t, "forbidden_addresses.txt") {
		for form := range forms {
			out = append(out, lureAs(form, len(out), line))
		}
	}
	return append(out, spelt(t)...)
}

// fewer are lures with each address in one of its forms, in turn: the guard behind every door is the same.
func fewer(t testing.TB) []lure {
	t.Helper()
	var out []lure
	for i, line := range tableOf(t, "forbidden_addresses.txt") {
		out = append(out, lureAs(i%forms, i, line))
	}
	return append(out, spelt(t)...)
}

// forms are the ways in which an address is met.
const forms = 6

func lureAs(form, n int, line string) lure {
	addr := netip.MustParseAddr(line[strings.LastIndexByte(line, ' ')+1:])
	literal := addr.String()
	if addr.Is6() {
		literal = "[" + literal + "]"
	}
	switch form {
	case 0:
		return lure{"http://" + literal + "/", addr}
	case 1:
		return lure{"https://" + literal + ":8443/", addr}
	}
	return lure{fmt.Sprintf("http://%s.t%d.example/", []string{"only", "first", "last", "rebound"}[form-2], n), addr}
}

// spelt are the lures whose text alone is refused.
func spelt(t testing.TB) (out []lure) {
	t.Helper()
	for _, line := range tableOf(t, "forbidden_urls.txt") {
		text, _, _ := strings.Cut(line, "\t")
		out = append(out, lure{url: text})
	}
	return out
}

func tableOf(t testing.TB, name string) (lines []string) {
	t.Helper()
	data, err := os.ReadFile("../../crawl/probe/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

// A snare is a network in which every address answers. One, origin, is a server that sends its visitors to the lures;
// a connection to any other is made to a server that counts it.
type snare struct {
	lures   []lure
	guard   probe.Guard
	reached atomic.Int64 // connections that the counting server took
	asked   atomic.Int64 // requests that origin answered

	mu    sync.Mutex
	names map[string]int // look-ups of names that are rebound
}

var origin = netip.MustParseAddr("93.184.216.34")

func newSnare(t *testing.T, lures []lure) *snare {
	t.Helper()
	s := &snare{lures: lures, names: map[string]int{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	trap := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
	}))
	trap.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.reached.Add(1)
		}
	}
	trap.Start()
	t.Cleanup(trap.Close)
	s.guard = probe.Guard{Resolver: s, Connect: func(ctx context.Context, network string, to netip.AddrPort) (net.Conn,
		error) {
		listener := trap.Listener
		if to.Addr() == origin {
			listener = server.Listener
		}
		var d net.Dialer
		return d.DialContext(ctx, network, listener.Addr().String())
	}}
	return s
}

// snareName tells the parts of a name below a lure's domain.
var snareName = regexp.MustCompile(`^([a-z]+)\.t([0-9]+)\.example\.?$`)

func (s *snare) lureOf(host string) (kind string, l lure) {
	m := snareName.FindStringSubmatch(host)
	if m == nil {
		return "", lure{}
	}
	n, err := strconv.Atoi(m[2])
	if err != nil || n >= len(s.lures) {
		return "", lure{}
	}
	return m[1], s.lures[n]
}

// LookupNetIP answers for names below the lures' domains, and for open.example, which lives at a public address that
// counts.
func (s *snare) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	kind, l := s.lureOf(host)
	switch kind {
	case "to", "within", "document":
		return []netip.Addr{origin}, nil
	case "only":
		return []netip.Addr{l.addr}, nil
	case "first":
		return []netip.Addr{l.addr, origin}, nil
	case "last":
		return []netip.Addr{origin, l.addr}, nil
	case "rebound":
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.names[host]++; s.names[host]%2 == 1 {
			return []netip.Addr{origin}, nil
		}
		return []netip.Addr{l.addr}, nil
	}
	if host == "open.example." {
		return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// ServeHTTP is origin: below "to" everything leads to the lure, below "within" all but robots.txt; "document" has
// documents that name the lure, and "rebound" sends to itself over another connection.
func (s *snare) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	host, _, _ := strings.Cut(r.Host, ":")
	kind, l := s.lureOf(host)
	if kind == "within" && r.URL.Path == "/robots.txt" {
		return
	}
	switch kind {
	case "to", "within":
		w.Header()["Location"] = []string{l.url}
	case "rebound":
		w.Header().Set("Connection", "close")
		w.Header().Set("Location", r.URL.Path+"?again")
	case "document":
		named, _ := json.Marshal(l.url)
		switch r.URL.Path {
		case "/openapi.json":
			fmt.Fprintf(w,
				`{"openapi":"3.1.0","servers":[{"url":%s}],"paths":{"/paid":{"get":{"x-payment-info":{"price":"0.01"},"responses":{"402":{"description":"pay"}}}}}}`, named)
		case "/.well-known/x402", "/.well-known/x402.json":
			fmt.Fprintf(w, `{"version":1,"resources":[%s]}`, named)
		case "/robots.txt":
		case "/catalogue":
			s.catalogue(w)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusPaymentRequired)
			fmt.Fprintf(w,
				`{"x402Version":1,"accepts":[{"scheme":"exact","network":"base","maxAmountRequired":"1","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","resource":%s}]}`, named)
		}
		return
	}
	w.WriteHeader(http.StatusTemporaryRedirect)
}

// catalogue is one of a facilitator that names every lure.
func (s *snare) catalogue(w io.Writer) {
	type item struct {
		Resource string `json:"resource"`
		Type     string `json:"type"`
	}
	var page struct {
		Version    int            `json:"x402Version"`
		Items      []item         `json:"items"`
		Pagination map[string]int `json:"pagination"`
	}
	page.Version, page.Pagination = 2, map[string]int{"limit": len(s.lures), "offset": 0, "total": len(s.lures)}
	for _, l := range s.lures {
		page.Items = append(page.Items, item{l.url, "http"})
	}
	_ = json.NewEncoder(w).Encode(page)
}

// ways are the addresses that lead to a lure: itself, and those of hosts of these kinds.
func (s *snare) ways(kinds ...string) (all []string) {
	for i, l := range s.lures {
		all = append(all, l.url)
		for _, kind := range kinds {
			all = append(all, fmt.Sprintf("http://%s.t%d.example/", kind, i))
		}
	}
	return all
}

// caught fails the test when somebody was reached, or when nobody was ever asked: then it has shown nothing.
func (s *snare) caught(t *testing.T) {
	t.Helper()
	if n := s.reached.Load(); n != 0 {
		t.Errorf("%d connections to forbidden addresses, want 0", n)
	}
	if s.asked.Load() == 0 {
		t.Error("no request came to the server that sends to the lures")
	}
}

// TestSnare shows that the snare of the tests below works: what the guard lets through is counted.
func TestSnare(t *testing.T) {
	t.Parallel()
	s := newSnare(t, nil)
	p := probe.New(probe.Options{Guard: &s.guard})
	defer p.Close()
	if r := p.Probe(t.Context(), probe.Target{URL: "http://open.example/", Method: "GET"}); r.Verdict != probe.Open ||
		s.reached.Load() != 1 {
		t.Errorf("%s (%s), %d connections, want open and 1", r.Verdict, r.Reason, s.reached.Load())
	}
}

// TestNoDoorLeadsInside has everything that goes to an address somebody else chose go to every lure, directly and by
// redirects, and counts who arrives.
func TestNoDoorLeadsInside(t *testing.T) {
	t.Parallel()
	every, some := lures(t), fewer(t)
	if len(some) < 300 {
		t.Fatalf("%d lures, want 300 at least", len(some))
	}
	doors := []struct {
		name string
		more []string // kinds of hosts, beside those that redirect
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
				err := runLint(t.Context(), lintOptions{gap: 1, guard: s.guard}, address, io.Discard)
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
			// The guard's exceptions are a crawl's: a submission has none, whatever the crawler beside it has.
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

// submissionDoor is POST /v1/submit, with the probe at its end.
func submissionDoor(t *testing.T, s *snare) func(string) {
	db := openTestDatabase(t)
	p := crawl.NewSubmissions(db.DB, crawl.SubmissionOptions{HostGap: 1}, probe.Options{Guard: &s.guard})
	t.Cleanup(p.Close)
	h := serve.NewHandler(serve.Options{Trusted: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		Submit: server.SubmitOptions(db.DB, p, site.FreeHosts{})})
	client := netip.MustParseAddr("198.18.0.1") // each submission is of a client of its own, who has not sent too many
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
func openTestDatabase(t *testing.T) *database.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgrestest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return &database.DB{DB: db}
}

// TestNoListingLeadsInside lists every way to a lure as a service, as a list does that an operator was handed, and has
// a catalogue name them too; then visits all and looks at their documents, registries and queued submissions.
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
	// names that resolve to where nobody goes show it only when they are visited
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
			continue // no list and no submission can hold it
		}
		base := strings.TrimRight(way, "/")
		if taken[base] {
			continue // by the catalogue, or by an address that both tables have
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
			"sends inside, %d connections", len(listings), len(services), s.asked.Load(), s.reached.Load())
}

// TestCommandsGoNowhereInside has the commands themselves, with no hand in their network, asked for a server that
// counts on this very machine, in every spelling of it.
func TestCommandsGoNowhereInside(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	var reached atomic.Int64
	l, err := net.Listen("tcp", "0.0.0.0:0")
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
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	var list []map[string]any
	for _, host := range hosts {
		address := "http://" + host + ":" + port
		if code, stdout, stderr := run(t, env, "lint", address); code != 2 {
			t.Errorf("lint %s: exit %d, %s%s", address, code, stdout, stderr)
		}
	}
	inside := []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} // no two are one service
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
		if code, _, stderr := run(t, env, "services", "import",
			"http://"+host+":"+port+"/discovery/resources"); code != 1 || !strings.Contains(stderr, "refused") {
			t.Errorf("import from %s: exit %d, %s", host, code, stderr)
		}
		if code, _, stderr := run(t, env, "services", "verify", fmt.Sprintf("s%d", i)); code != 1 ||
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
