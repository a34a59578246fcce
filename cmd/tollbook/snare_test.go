package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tollbook/crawl/probe"
)

// A lure is a forbidden address. Either its text is forbidden, or its name resolves to a forbidden address.
type lure struct {
	url  string
	addr netip.Addr // the address that the lure's names resolve to; zero if the text alone is refused
}

// lures returns the addresses in the tables of crawl/probe. Each appears as a literal, with a port, and behind the
// names of nameForms. Then come the addresses that are refused by their text. The names of lure 17 end in t17.example.
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

// fewer returns lures with each address in one form, in turn. That is enough, because every client uses the same guard.
func fewer(t testing.TB) []lure {
	t.Helper()
	var out []lure
	for i, line := range tableOf(t, "forbidden_addresses.txt") {
		out = append(out, lureAs(i%forms, i, line))
	}
	return append(out, spelt(t)...)
}

// nameForms are the kinds of names of an address: alone, before and after a public address, after a public address was
// answered once, behind an alias, and behind an alias whose target was public once.
var nameForms = []string{"only", "first", "last", "rebound", "alias", "turned"}

// forms is the number of forms in which an address appears.
var forms = 2 + len(nameForms)

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
	return lure{fmt.Sprintf("http://%s.t%d.example/", nameForms[form-2], n), addr}
}

// spelt returns the lures whose text alone is refused.
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

// A snare is a network in which every address answers. The server origin redirects its visitors to the lures. All other
// connections go to a server that counts them.
type snare struct {
	lures    []lure
	guard    probe.Guard
	reached  atomic.Int64 // connections that the counting server took
	requests atomic.Int64 // requests that origin answered

	mu    sync.Mutex
	names map[string]int // questions for names that are rebound
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
	s.guard = probe.Guard{Resolver: newResolver(serveDNS(t, s.lookup)),
		Connect: func(ctx context.Context, network string, to netip.AddrPort) (net.Conn,
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

// snareName matches the parts of a name below a lure's domain.
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

// lookup answers questions for names below the lures' domains. It resolves open.example to a public address that counts
// connections.
func (s *snare) lookup(name string, isIPv6 bool) (dnsAnswer, bool) {
	kind, l := s.lureOf(name)
	switch kind {
	case "to", "within", "document":
		return dnsAnswer{addrs: []netip.Addr{origin}}, true
	case "only":
		return dnsAnswer{addrs: []netip.Addr{l.addr}}, true
	case "alias":
		return dnsAnswer{alias: "inside.example.", addrs: []netip.Addr{l.addr}}, true
	case "first":
		return dnsAnswer{addrs: []netip.Addr{l.addr, origin}}, true
	case "last":
		return dnsAnswer{addrs: []netip.Addr{origin, l.addr}}, true
	case "rebound", "turned":
		answer := dnsAnswer{addrs: []netip.Addr{l.addr}}
		if s.asksFirst(name, isIPv6) {
			answer.addrs[0] = origin
		}
		if kind == "turned" {
			answer.alias = "inside.example."
		}
		return answer, true
	}
	return dnsAnswer{addrs: []netip.Addr{netip.MustParseAddr("8.8.8.8")}}, name == "open.example."
}

// asksFirst reports whether a question has the odd number among the same ones.
func (s *snare) asksFirst(name string, isIPv6 bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprint(name, isIPv6)
	s.names[key]++
	return s.names[key]%2 == 1
}

// ServeHTTP is the handler of origin. Hosts below "to" redirect everything to the lure, and those below "within"
// everything but robots.txt. "document" serves documents that name the lure. "rebound" and "turned" redirect to
// themselves over another connection.
func (s *snare) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	host, _, _ := strings.Cut(r.Host, ":")
	kind, l := s.lureOf(host)
	if kind == "within" && r.URL.Path == "/robots.txt" {
		return
	}
	switch kind {
	case "to", "within":
		w.Header()["Location"] = []string{l.url}
	case "rebound", "turned":
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

// catalogue writes a facilitator's catalogue that names every lure.
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

// ways returns the URLs that lead to lures: each lure itself, and its hosts of the given kinds.
func (s *snare) ways(kinds ...string) (all []string) {
	for i, l := range s.lures {
		all = append(all, l.url)
		for _, kind := range kinds {
			all = append(all, fmt.Sprintf("http://%s.t%d.example/", kind, i))
		}
	}
	return all
}

// caught fails the test if a connection reached a forbidden address. It also fails if origin got no request, because
// then the test shows nothing.
func (s *snare) caught(t *testing.T) {
	t.Helper()
	if n := s.reached.Load(); n != 0 {
		t.Errorf("%d connections to forbidden addresses, want 0", n)
	}
	if s.requests.Load() == 0 {
		t.Error("no request came to the server that sends to the lures")
	}
}

// TestSnare checks that the snare counts what the guard allows.
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
