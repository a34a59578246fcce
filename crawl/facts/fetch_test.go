package facts

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/probe"
)

// town serves several host names on loopback and records their requests.
type town struct {
	mu       sync.Mutex
	hosts    map[string]http.Handler
	requests []string // "host path", in order
}

func newTown(t *testing.T, hosts map[string]http.Handler) (*town, *Fetcher) {
	t.Helper()
	w := &town{hosts: hosts}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	f := New(Options{
		Now: func() time.Time { return now },
		Routes: []probe.Route{{Domain: "test",
			Dial: func(ctx context.Context, network, addr string) (net.Conn, bool, error) {
				var d net.Dialer
				conn, err := d.DialContext(ctx, network, server.Listener.Addr().String())
				return conn, true, err
			}}},
	})
	t.Cleanup(f.Close)
	return w, f
}

func (w *town) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.requests = append(w.requests, r.Host+" "+r.URL.RequestURI())
	h := w.hosts[r.Host]
	w.mu.Unlock()
	if h == nil {
		http.NotFound(rw, r)
		return
	}
	h.ServeHTTP(rw, r)
}

// log returns the requests since the last call, without those for robots.txt.
func (w *town) log() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	requests := slices.DeleteFunc(w.requests, func(s string) bool { return strings.HasSuffix(s, " /robots.txt") })
	w.requests = nil
	return requests
}

// pages is a site of fixed answers: path to "status type body"; other paths are not found.
type pages map[string]string

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, ok := p[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	parts := strings.SplitN(text, " ", 3)
	var status int
	fmt.Sscan(parts[0], &status)
	if status/100 == 3 {
		w.Header().Set("Location", parts[2])
	} else if parts[1] != "-" {
		w.Header().Set("Content-Type", parts[1])
	} else {
		w.Header()["Content-Type"] = nil
	}
	w.WriteHeader(status)
	io.WriteString(w, parts[2])
}

const (
	page = "200 text/html <!DOCTYPE html><html><title>A page</title></html>"
	sold = `200 application/json {"openapi": "3.1.0", "paths": {"/buy": {"get": {"x-payment-info": {"price": ` +
		`"0.01"}}}}}`
)

// String returns a letter for each document: upper case if it exists, lower case if not, a dot if unknown.
func (s Site) String() string {
	var b strings.Builder
	for i, is := range []*bool{s.Homepage, s.OpenAPI, s.Pricing, s.LLMsTxt, s.Robots, s.Terms} {
		letter := "hoplrt"[i : i+1]
		switch {
		case is == nil:
			letter = "."
		case *is:
			letter = strings.ToUpper(letter)
		}
		b.WriteString(letter)
	}
	for _, e := range s.Endpoints {
		b.WriteString(" " + e.Method + e.Path + "(" + e.Origin + ")")
	}
	for _, e := range s.Candidates {
		b.WriteString(" " + e.Method + e.Path + "(" + e.Origin + ")?")
	}
	return b.String()
}

// TestSurvey checks what counts as a document, and what is unknown.
func TestSurvey(t *testing.T) {
	t.Parallel()
	whole := pages{
		"/": page, "/pricing": "200 text/html <html>Prices</html>", "/terms": "200 text/markdown # Terms",
		"/llms.txt":   "200 text/plain # Acme",
		"/robots.txt": "200 text/plain User-agent: *\nDisallow:", "/openapi.json": sold,
		"/.well-known/x402": `200 application/json {"resources": ["http://acme.test/buy", "http://acme.test/other", ` +
			`"http://evil.test/x"]}`,
	}
	with := func(changes pages) pages {
		p := pages{}
		for _, from := range []pages{whole, changes} {
			for path, text := range from {
				if p[path] = text; text == "" {
					delete(p, path)
				}
			}
		}
		return p
	}
	everything := pages{}
	for _, path := range []string{"/", "/acme/api", "/pricing", "/terms", "/llms.txt", "/robots.txt", "/openapi.json",
		"/.well-known/x402"} {
		everything[path] = page
	}
	for _, c := range []struct {
		name    string
		site    http.Handler
		base    string // "http://acme.test" when empty
		website string
		want    string
	}{
		{name: "everything", site: whole, want: "HOPLRT GET/buy(openapi) /buy(well-known) /other(well-known)"},
		{name: "nothing", site: pages{}, want: "hoplrt"},
		{name: "lists under other names", site: pages{
			"/.well-known/x402.json": `200 application/json {"x402Version": 2, "items": [{"resource": ` +
				`"http://acme.test/a"}, {"resource": "http://evil.test/x"}]}`,
			"/.well-known/mpp": `200 application/json {"endpoints": [{"path": "/b", "protocols": ["mpp", ` +
				`"x402"]}, {"path": "/c", "protocols": ["mpp"]}, "/a", "/d"]}`,
		}, want: "hoplrt /a(well-known) /b(well-known) /c(well-known) /d(well-known)"},
		{name: "the same page for every path", site: everything, want: "Hoplrt"},
		{name: "an API without pages",
			site: pages{"/": `200 application/json {"ok": true}`, "/openapi.json": sold},
			want: "hOplrt GET/buy(openapi)"},
		{name: "wrong types", site: with(pages{"/llms.txt": "200 text/plain <html></html>",
			"/openapi.json": "200 application/json <html></html>", "/robots.txt": "200 application/json {}",
			"/.well-known/x402": ""}), want: "HoPlrT"},
		{name: "missing types", site: with(pages{"/llms.txt": "200 - # Acme", "/.well-known/x402": ""}),
			want: "HOPLRT GET/buy(openapi)"},
		{name: "answers about us", site: with(pages{"/terms": "403 text/plain no", "/pricing": "429 text/plain later",
			"/llms.txt": "503 text/plain later", "/.well-known/x402": ""}), want: "HO..R. GET/buy(openapi)"},
		{name: "a homepage that asks for payment",
			site: with(pages{"/": "402 application/json {}", "/.well-known/x402": ""}),
			want: "hOPLRT GET/buy(openapi)"},
		{name: "robots.txt for all robots",
			site: with(pages{"/robots.txt": "200 text/plain User-agent: *\nDisallow: /"}), want: "....R."},
		{name: "robots.txt for us", site: with(pages{"/robots.txt": "200 text/plain User-agent: *\nDisallow: " +
			"/\n\nUser-agent: Tollbook\nDisallow: /terms\nDisallow: /.well-known/"}), want: "HOPLR. GET/buy(openapi)"},
		{name: "robots.txt that fails", site: with(pages{"/robots.txt": "500 text/plain oops"}), want: "......"},
		{name: "robots.txt on another site",
			site: with(pages{"/robots.txt": "302 - http://evil.test/", "/.well-known/x402": ""}),
			want: "HOPLrT GET/buy(openapi)"},
		{name: "documents on another site",
			site: with(pages{"/terms": "302 - http://evil.test/terms", "/pricing": "302 - http://10.0.0.1/",
				"/llms.txt": "302 - file:///etc/passwd", "/.well-known/x402": "302 - /.well-known/x402"}),
			want: "HOplRt GET/buy(openapi)"},
		{name: "a separate website", site: whole, website: "http://www.acme.test/home",
			want: "HOPLRT GET/buy(openapi) /buy(well-known) /other(well-known)"},
		{name: "a website that describes the API on another host", base: "http://api.acme.test", website: "http://acme.test",
			site: pages{"/": page, "/openapi.json": `200 application/json {"servers": [{"url": "https://evil.test"}, ` +
				`{"url": "https://api.acme.test/v1"}], "paths": {"/buy": {"get": {"responses": {"402": {}}}}}}`},
			want: "HOplrt GET/v1/buy(openapi)"},
		{name: "a website on another domain", site: pages{"/openapi.json": sold}, website: "http://forge.test/acme/api",
			want: "HOplrt GET/buy(openapi)"},
		{name: "a base path", base: "http://acme.test/v1",
			site: pages{"/v1/openapi.json": strings.Replace(sold, "/buy", "/v1/buy", 1), "/openapi.json": page},
			want: "hOplrt GET/buy(openapi)"},
		{name: "an invalid base URL", base: "%zz", site: pages{}, want: "......"},
		{name: "deep JSON", site: with(pages{"/openapi.json": "200 application/json " +
			strings.Repeat(`{"paths":`, 20_000),
			"/.well-known/x402": "200 application/json " + strings.Repeat("[", 200_000)}), want: "HoPLRT"},
		{name: "documents of the size of real ones", site: pages{"/openapi.json": `200 application/json {"paths": {"/x": ` +
			`{"get": {"responses": {"402": {}}}}}, "x": "` + strings.Repeat("x", 4<<20) + `"}`,
			"/.well-known/x402.json": `200 application/json {"items": ["/buy"], "x": "` + strings.Repeat("x", 4<<20) +
				`"}`}, want: "hOplrt GET/x(openapi) /buy(well-known)"},
		{name: "an old path of agent cards", site: pages{"/.well-known/agent.json": `200 application/json {"skills": ` +
			`[], "url": "http://acme.test/a2a", "capabilities": {"extensions": [{"uri": "https://x.test/x402/v1"}]}}`},
			want: "hoplrt POST/a2a(agent-card)?"},
		{name: "12 MB", site: with(pages{"/openapi.json": `200 application/json {"paths": {}, "x": "` +
			strings.Repeat("x", 12<<20) + `"}`,
			"/.well-known/x402": "200 application/json [" + strings.Repeat("1,", 6<<20) + "1]",
			"/llms.txt":         "200 text/plain " + strings.Repeat("ä", 2<<20),
			"/terms":            "200 text/html " + strings.Repeat("<p>", 1<<20)}), want: "H.PLRT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			base := c.base
			if base == "" {
				base = "http://acme.test"
			}
			w, f := newTown(t, map[string]http.Handler{"acme.test": c.site, "www.acme.test": pages{"/home": page},
				"forge.test": everything})
			got := f.Survey(t.Context(), base, c.website)
			if diff := cmp.Diff(c.want, got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, requests := range w.log() {
				if strings.HasPrefix(requests, "evil") {
					t.Errorf("requested %s", requests)
				}
			}
		})
	}
}

// TestRobotsOnceADay checks that robots.txt of an origin is requested once a day for all its documents.
func TestRobotsOnceADay(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	clock := now
	_, f := newTown(t, map[string]http.Handler{"acme.test": http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			requests.Add(1)
		}
		http.NotFound(w, r)
	})})
	f.o.Now = func() time.Time { return clock }
	for _, c := range []struct {
		after time.Duration
		want  int32
	}{{0, 1}, {23 * time.Hour, 1}, {24 * time.Hour, 2}} {
		clock = now.Add(c.after)
		f.Survey(t.Context(), "http://acme.test", "")
		if got := requests.Load(); got != c.want {
			t.Errorf("after %s: %d requests for robots.txt, want %d", c.after, got, c.want)
		}
	}
}

// TestRobotsOfEachHop checks that the robots.txt of a redirect's host is respected.
func TestRobotsOfEachHop(t *testing.T) {
	t.Parallel()
	w, f := newTown(t, map[string]http.Handler{
		"acme.test": pages{"/terms": "302 - http://docs.acme.test/terms",
			"/pricing": "302 - http://docs.acme.test/pricing"},
		"docs.acme.test": pages{"/robots.txt": "200 text/plain User-agent: *\nDisallow: /terms", "/terms": page,
			"/pricing": page},
	})
	if got := f.Survey(t.Context(), "http://acme.test", "").String(); got != "hoPlr." {
		t.Errorf("%s, want the pricing page and not the terms", got)
	}
	if slices.Contains(w.log(), "docs.acme.test /terms") {
		t.Error("terms were requested although robots.txt of their host disallows it")
	}
}

// TestHostileAnswers checks that endless, false and misleading answers are bounded.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(make([]byte, 64<<20))
	z.Close()
	trapped := false
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { trapped = true }))
	defer trap.Close()
	redirect := func(to string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
		})
	}
	n := 0
	for _, c := range []struct {
		name string
		h    http.Handler
		want error
		size int
	}{
		{"gzip bomb", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes())
		}), nil, maxPage},
		{"endless", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				w.Write(make([]byte, 64<<10))
			}
		}), nil, maxPage},
		{"silent", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
			context.DeadlineExceeded, 0},
		{"headers without end", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		}), errAny, 0},
		{"to loopback", redirect(trap.URL), ErrElsewhere, 0},
		{"to metadata", redirect("http://169.254.169.254/latest/meta-data/"), ErrElsewhere, 0},
		{"to a local name", redirect("http://localhost/"), ErrElsewhere, 0},
		{"to another site", redirect("http://other.test/"), ErrElsewhere, 0},
		{"to another scheme", redirect("gopher://acme.test/"), ErrElsewhere, 0},
		{"to itself", redirect("/"), ErrElsewhere, 0},
		{"to nothing", redirect("%zz"), ErrElsewhere, 0},
		{"on and on", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n++
			w.Header().Set("Location", fmt.Sprintf("/%d", n))
			w.WriteHeader(http.StatusFound)
		}), ErrElsewhere, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, f := newTown(t, map[string]http.Handler{"acme.test": c.h})
			f.o.Timeout = time.Minute
			if c.want == context.DeadlineExceeded {
				f.o.Timeout = 300 * time.Millisecond
			}
			doc, err := f.get(t.Context(), "http://acme.test/", request{accept: "text/plain", limit: maxPage})
			if c.want == errAny && err != nil {
				return
			}
			if !errors.Is(err, c.want) || len(doc.body) != c.size || c.size > 0 && !doc.truncated {
				t.Errorf("%d bytes, error %v; want %d and %v", len(doc.body), err, c.size, c.want)
			}
		})
	}
	if n != maxRedirects+1 {
		t.Errorf("%d requests for redirects without end, want %d", n, maxRedirects+1)
	}
	if trapped {
		t.Error("a private address was reached")
	}
}

var errAny = errors.New("any error")

// TestGuard checks that a URL that the guard refuses is never requested, nor reached through a name or redirect.
func TestGuard(t *testing.T) {
	t.Parallel()
	trapped := false
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { trapped = true }))
	defer trap.Close()
	f := New(Options{})
	defer f.Close()
	for _, address := range []string{trap.URL, "http://127.0.0.1/", "http://[::ffff:127.0.0.1]/", "http://10.0.0.1/",
		"http://localhost/", "file:///etc/passwd", "https://user@example.com/", "%zz"} {
		if _, err := f.get(t.Context(), address, request{limit: 1}); !errors.Is(err, probe.ErrRefused) {
			t.Errorf("get %s: %v, want a refusal", address, err)
		}
	}
	if trapped {
		t.Error("a private address was reached")
	}
}

// TestEnter checks that each request enters its host and leaves it.
func TestEnter(t *testing.T) {
	t.Parallel()
	_, f := newTown(t, map[string]http.Handler{"acme.test": pages{"/terms": "302 - http://www.acme.test/terms"},
		"www.acme.test": pages{"/terms": page}})
	var mu sync.Mutex
	in, most := map[string]int{}, 0
	requests := map[string]int{}
	f.o.Enter = func(_ context.Context, host string) (func(), error) {
		mu.Lock()
		defer mu.Unlock()
		requests[host]++
		in[host]++
		most = max(most, in[host])
		return func() { mu.Lock(); defer mu.Unlock(); in[host]-- }, nil
	}
	f.Survey(t.Context(), "http://acme.test", "")
	if diff := cmp.Diff(map[string]int{"acme.test": 13, "www.acme.test": 2}, requests); diff != "" || most != 1 ||
		in["acme.test"] != 0 || in["www.acme.test"] != 0 {
		t.Errorf("hosts entered (-want +got):\n%s\nat most %d at once, %v left", diff, most, in)
	}
	f.o.Enter = func(context.Context, string) (func(), error) { return nil, errors.New("no turn") }
	if got := f.Survey(t.Context(), "http://other.test", "").String(); got != "......" {
		t.Errorf("%s although Enter fails, want all unknown", got)
	}
}
