package probe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// good is the only address that the tests of the guard may reach: that of origin.example.com.
var good = netip.MustParseAddr("93.184.216.34")

// An ambush is a network in which every address answers. good is the origin server. A real server accepts and counts
// the connections to all others.
type ambush struct {
	guard   *Guard
	reached atomic.Int64 // connections that the counting server accepted

	mu      sync.Mutex
	names   map[string][]netip.Addr // the resolver's answers
	lookups map[string]int
}

func (a *ambush) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lookups[host]++
	return a.names[host], nil
}

func (a *ambush) resolve(name string, addrs ...netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names[name+"."] = addrs
}

func newAmbush(t *testing.T, origin http.Handler) *ambush {
	t.Helper()
	a := &ambush{names: map[string][]netip.Addr{}, lookups: map[string]int{}}
	a.resolve("origin.example.com", good)
	server := httptest.NewServer(origin)
	t.Cleanup(server.Close)
	trap := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		w.WriteHeader(http.StatusOK)
	}))
	trap.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			a.reached.Add(1)
		}
	}
	trap.Start()
	t.Cleanup(trap.Close)
	a.guard = &Guard{Resolver: a, Connect: func(ctx context.Context, network string, addr netip.AddrPort) (net.Conn,
		error) {
		to := trap.Listener.Addr().String()
		if addr.Addr() == good {
			to = server.Listener.Addr().String()
		}
		var d net.Dialer
		return d.DialContext(ctx, network, to)
	}}
	return a
}

func (a *ambush) prober(t *testing.T) *Prober {
	t.Helper()
	p := New(Options{Guard: a.guard})
	t.Cleanup(p.Close)
	return p
}

// redirector redirects to the URL in the query.
func redirector(w http.ResponseWriter, r *http.Request) {
	w.Header()["Location"] = []string{r.URL.Query().Get("to")}
	w.WriteHeader(http.StatusTemporaryRedirect)
}

// linesOf reads a table in testdata without comments and empty lines.
func linesOf(t testing.TB, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := s.Text(); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// TestAmbush checks that the counting server of the tests below works: it counts a connection that the guard allows.
func TestAmbush(t *testing.T) {
	t.Parallel()
	a := newAmbush(t, http.HandlerFunc(redirector))
	a.resolve("public.example.com", netip.MustParseAddr("8.8.8.8"))
	got := a.prober(t).Probe(t.Context(), Target{URL: "http://public.example.com/", Method: "GET"})
	if got.Verdict != Open || a.reached.Load() != 1 {
		t.Errorf("verdict %s (%s), %d connections, want open and 1", got.Verdict, got.Reason, a.reached.Load())
	}
}

func TestForbiddenAddresses(t *testing.T) {
	t.Parallel()
	a := newAmbush(t, http.HandlerFunc(redirector))
	p := a.prober(t)
	refused := func(what, target, kind string) {
		t.Helper()
		got := p.Probe(t.Context(), Target{URL: target})
		if got.Verdict != Refused || got.Class != ClassRefused || got.Requests > 2 {
			t.Errorf("%s %s: %s %s, want refused", what, target, got.Verdict, got.Class)
		}
		if !strings.Contains(got.Reason, kind+" address") {
			t.Errorf("%s %s: reason %q does not contain %q", what, target, got.Reason, kind)
		}
	}
	for i, line := range linesOf(t, "testdata/forbidden_addresses.txt") {
		cut := strings.LastIndexByte(line, ' ')
		kind, addr := line[:cut], netip.MustParseAddr(line[cut+1:])
		literal := addr.String()
		if addr.Is6() {
			literal = "[" + literal + "]"
		}
		refused("literal", "http://"+literal+"/", kind)
		refused("literal", "https://"+literal+":8443/", kind)

		name := fmt.Sprintf("n%d.example.com", i)
		a.resolve(name, addr)
		a.resolve("first."+name, addr, good)
		a.resolve("last."+name, good, addr)
		refused("name", "http://"+name+"/", kind)
		refused("name", "https://"+name+"/", kind)
		refused("mixed", "http://first."+name+"/", kind)
		refused("mixed", "http://last."+name+"/", kind)
		if strings.Contains(p.Probe(t.Context(), Target{URL: "http://" + name + "/"}).Reason, addr.String()) {
			t.Errorf("%s: the reason reveals our resolver's answer", name)
		}

		for _, to := range []string{"http://" + name + "/", "https://" + name + "/", "http://" + literal + "/",
			"//" + name} {
			got := p.Probe(t.Context(), Target{URL: "http://origin.example.com/?to=" + url.QueryEscape(to),
				Method: "PUT"})
			if got.Verdict != Failed || got.Class != ClassRedirect {
				t.Errorf("redirect to %s: %s %s (%s), want failed redirect", to, got.Verdict, got.Class, got.Reason)
			}
		}
		if n := a.reached.Load(); n != 0 {
			t.Fatalf("%s was reached", addr)
		}
	}
}

func TestForbiddenURLs(t *testing.T) {
	t.Parallel()
	a := newAmbush(t, http.HandlerFunc(redirector))
	p := a.prober(t)
	for _, line := range linesOf(t, "testdata/forbidden_urls.txt") {
		target, _, _ := strings.Cut(line, "\t")
		got := p.Probe(t.Context(), Target{URL: target})
		if got.Verdict != Refused || got.Requests != 0 || got.Reason == "" {
			t.Errorf("%q: %s %s (%s), %d requests, want refused before any", target, got.Verdict, got.Class, got.Reason,
				got.Requests)
		}
		if u, err := url.Parse(target); err == nil {
			if err := a.guard.CheckURL(u); !errors.Is(err, ErrRefused) {
				t.Errorf("CheckURL(%q) = %v, want ErrRefused", target, err)
			}
			if u.Host != "" && u.Scheme != "" {
				if conn, err := a.guard.DialContext(t.Context(), "tcp",
					net.JoinHostPort(u.Hostname(), effectivePort(u.Scheme, u.Port()))); err == nil {
					conn.Close()
				}
			}
		}
		if !strings.Contains(target, ":") || strings.HasPrefix(target, "/") || target == "" {
			continue // as a Location these are relative to the origin
		}
		got = p.Probe(t.Context(), Target{URL: "http://origin.example.com/?to=" + url.QueryEscape(target),
			Method: "PUT"})
		if got.Verdict != Failed {
			t.Errorf("redirect to %q: %s %s (%s), want failed", target, got.Verdict, got.Class, got.Reason)
		}
	}
	if n := a.reached.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func TestPublicURLs(t *testing.T) {
	t.Parallel()
	var g Guard
	for _, line := range linesOf(t, "testdata/public_urls.txt") {
		text, want, _ := strings.Cut(line, "\t")
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := g.canonical(u)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if again, err := g.canonical(got); err != nil || again.String() != got.String() {
			t.Errorf("%s: canonical twice is %v, %v", text, again, err)
		}
	}
}

// TestRebinding lets a resolver answer with a public address once and with loopback afterwards. The connection must go
// to the checked address, and the next one must be refused.
func TestRebinding(t *testing.T) {
	t.Parallel()
	a := newAmbush(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	r := &rebinding{then: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}
	a.guard.Resolver = r
	p := a.prober(t)
	ask := func() Result { return p.Probe(t.Context(), Target{URL: "http://rebind.example.com/", Method: "GET"}) }
	if got := ask(); got.Verdict != Open || r.lookups != 1 {
		t.Errorf("first: %s (%s) after %d lookups, want open after 1", got.Verdict, got.Reason, r.lookups)
	}
	p.Close() // the next probe needs a new connection
	if got := ask(); got.Verdict != Refused || r.lookups != 2 {
		t.Errorf("second: %s (%s) after %d lookups, want refused after 2", got.Verdict, got.Reason, r.lookups)
	}
	if n := a.reached.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

type rebinding struct {
	then    []netip.Addr
	lookups int
}

func (r *rebinding) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	r.lookups++
	if r.lookups == 1 {
		return []netip.Addr{good}, nil
	}
	return r.then, nil
}

func TestAllowPrivate(t *testing.T) {
	t.Parallel()
	g := &Guard{AllowPrivate: []string{"localhost:4021", "10.0.0.5", "[::1]:80", "fd00::7", "Box.Internal"}}
	tests := []struct {
		url     string
		allowed bool
	}{
		{"http://localhost:4021/", true},
		{"http://LOCALHOST.:4021/", true},
		{"http://localhost:4022/", false},
		{"http://localhost/", false},
		{"http://127.0.0.1:4021/", false},
		{"http://10.0.0.5/", true},
		{"http://10.0.0.5:22/", true},
		{"http://10.0.0.6/", false},
		{"http://[::1]/", true},
		{"https://[::1]/", false},
		{"http://[fd00::7]:9999/", true},
		{"http://box.internal/", true},
		{"http://a.box.internal/", false},
		{"ftp://10.0.0.5/", false},
		{"http://u@10.0.0.5/", false},
	}
	for _, tt := range tests {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.CheckURL(u); (err == nil) != tt.allowed {
			t.Errorf("CheckURL(%s) = %v, want allowed %v", tt.url, err, tt.allowed)
		}
	}
	if err := g.Validate(); err != nil {
		t.Errorf("Validate: %v", err)
	}
	for _, bad := range []string{"", "http://localhost", "a b", "[::1", "-x"} {
		if err := (&Guard{AllowPrivate: []string{bad}}).Validate(); err == nil {
			t.Errorf("Validate(%q) = nil, want an error", bad)
		}
	}
}

func TestCheckRedirect(t *testing.T) {
	t.Parallel()
	tests := []struct {
		from, to string
		want     string // "" for a redirect that may be followed
	}{
		{"http://example.com/", "https://example.com/", ""},
		{"http://example.com/", "http://www.example.com/", ""},
		{"https://api.example.com/", "https://example.com/v2", ""},
		{"https://api.example.com/", "https://api.example.com:8443/", ""},
		{"https://a.example.co.uk/", "https://b.example.co.uk/", ""},
		{"https://a.sample.test/", "https://b.sample.test/", ""},
		{"http://8.8.8.8/", "https://8.8.8.8/", ""},
		{"https://bücher.example/", "https://www.xn--bcher-kva.example/", ""},
		{"https://example.com/", "http://example.com/", "redirects from https to http"},
		{"https://example.com/", "HTTP://example.com/", "redirects from https to http"},
		{"http://example.com/", "http://example.org/", "redirects to another site, example.org"},
		{"http://a.co.uk/", "http://b.co.uk/", "redirects to another site, b.co.uk"},
		{"http://a.vercel.app/", "http://b.vercel.app/", "redirects to another site, b.vercel.app"},
		{"http://a.github.io/", "http://github.io/", "redirects to another site, github.io"},
		{"http://8.8.8.8/", "http://8.8.4.4/", "redirects to another site, 8.8.4.4"},
		{"http://example.com/", "http://example.com.evil.org/", "redirects to another site, example.com.evil.org"},
		{"http://example.com/", "http://notexample.com/", "redirects to another site, notexample.com"},
		{"http://example.com/", "http://example.com:22/",
			"refused: port 22 is not for web services; use 80, 443 or one above 1023"},
		{"http://example.com/", "http://u:p@example.com/", "refused: the URL contains a user name or password"},
		{"http://example.com/", "http://127.0.0.1/", "refused: 127.0.0.1 is a loopback address"},
		{"http://example.com/", "ftp://example.com/", `refused: want an http or https URL, got scheme "ftp"`},
	}
	var g Guard
	for _, tt := range tests {
		from, err1 := url.Parse(tt.from)
		to, err2 := url.Parse(tt.to)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		got := ""
		if err := g.CheckRedirect(from, to); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s to %s (-want +got):\n%s", tt.from, tt.to, diff)
		}
	}
}

// TestDialTriesEveryAddress checks that an address that does not answer does not hide the one after it.
func TestDialTriesEveryAddress(t *testing.T) {
	t.Parallel()
	a := newAmbush(t, http.HandlerFunc(redirector))
	dead := netip.MustParseAddr("8.8.4.4")
	inner := a.guard.Connect
	var dialled []string
	a.guard.Connect = func(ctx context.Context, network string, addr netip.AddrPort) (net.Conn, error) {
		dialled = append(dialled, addr.String())
		if addr.Addr() == dead {
			return nil, errors.New("dead")
		}
		return inner(ctx, network, addr)
	}
	a.resolve("two.example.com", dead, good)
	conn, err := a.guard.DialContext(t.Context(), "tcp", "two.example.com:443")
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if diff := cmp.Diff([]string{"8.8.4.4:443", "93.184.216.34:443"}, dialled); diff != "" {
		t.Errorf("dialled (-want +got):\n%s", diff)
	}
	if _, err := a.guard.DialContext(t.Context(), "tcp", "nothing.example.com:443"); err == nil ||
		errors.Is(err, ErrRefused) {
		t.Errorf("name without addresses: %v, want no such host", err)
	}
}
