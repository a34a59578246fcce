package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// limited serves a publication of the txtar with a limit. The function wait moves its clock.
func limited(t testing.TB, limit int, trusted ...netip.Prefix) (h http.Handler, wait func(time.Duration)) {
	t.Helper()
	var passed atomic.Int64
	h = NewHandler(Options{
		Source: openSource(t, publish(t, siteFiles(t)).Root()), Now: func() time.Time {
			return now.Add(time.Duration(passed.Load()))
		},
		RateLimit: limit, Trusted: trusted,
	})
	return h, func(d time.Duration) { passed.Add(int64(d)) }
}

// TestRateLimit checks that each response contains the number of requests that the client has left. A 429 says when to
// send the next request.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	h, wait := limited(t, 4)
	for i, target := range []string{"/v1/services", "/api/v1/services?page=x", "/discovery/resources/nothing",
		"/v1/../etc"} {
		wait(time.Second)
		got := get(h, target).Header()
		want := fmt.Sprintf(`"api";r=%d;t=%d`, 3-i, 60-i)
		if diff := cmp.Diff([]string{`"api";q=4;w=60`, want},
			[]string{got.Get("RateLimit-Policy"), got.Get("RateLimit")}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", target, diff)
		}
	}
	wait(1500 * time.Millisecond)
	got := get(h, "/v1/services", "If-None-Match", "*")
	var body site.ErrorBody
	if err := json.Unmarshal(got.Body.Bytes(), &body); err != nil || got.Code != 429 || body.Error.Code != 429 ||
		body.Error.Type != site.ErrorRateLimited {
		t.Errorf("the fifth: %d %s", got.Code, got.Body)
	}
	for name, want := range map[string]string{
		"Retry-After": "56", "RateLimit": `"api";r=0;t=56`, "Cache-Control": "no-store",
		"X-Content-Type-Options":      "nosniff",
		"Access-Control-Allow-Origin": "*", "Etag": "",
	} {
		if v := got.Header().Get(name); v != want {
			t.Errorf("the fifth: %s: %s, want %s", name, v, want)
		}
	}
	if !strings.Contains(got.Header().Get("Access-Control-Expose-Headers"), "RateLimit-Policy") {
		t.Errorf("scripts of other sites can't read the limit: %v", got.Header())
	}

	// Pages, assets, health checks, checksums and OPTIONS requests are not counted.
	for _, target := range []string{"/", "/services/acme", "/assets/logo.svg", "/healthz", "/readyz", "/SHA256SUMS"} {
		if got := get(h, target); got.Code != 200 || got.Header().Get("RateLimit") != "" {
			t.Errorf("%s: %d, %v", target, got.Code, got.Header())
		}
	}
	r := httptest.NewRequest(http.MethodOptions, "/v1/services", nil)
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 204 {
		t.Errorf("OPTIONS: %d", w.Code)
	}

	// Another client has its own limit, and this client's limit ends after a minute.
	r = httptest.NewRequest(http.MethodPost, "/v1/services", strings.NewReader("{}"))
	r.RemoteAddr = "[2001:db8::7]:1234"
	w = httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 405 || w.Header().Get("RateLimit") != `"api";r=3;t=60` {
		t.Errorf("another client: %d, %v", w.Code, w.Header())
	}
	wait(56 * time.Second)
	if got := get(h, "/v1/services"); got.Code != 200 || got.Header().Get("RateLimit") != `"api";r=3;t=60` {
		t.Errorf("a minute later: %d, %v", got.Code, got.Header())
	}
}

// TestRateLimitBehindProxy checks that clients behind a trusted proxy are identified by its headers. Without trust, the
// proxy is the client.
func TestRateLimitBehindProxy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		trusted []netip.Prefix
		want    int // code of the third request
	}{
		{nil, 429},
		{[]netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, 200},
	} {
		h, _ := limited(t, 2, test.trusted...)
		var code int
		for i := range 3 {
			code = get(h, "/v1/services", "X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i)).Code
		}
		if code != test.want {
			t.Errorf("trusted %v: the third is %d, want %d", test.trusted, code, test.want)
		}
	}
}

func TestNoLimit(t *testing.T) {
	t.Parallel()
	h, _ := limited(t, 0)
	for range 300 {
		if got := get(h, "/v1/services"); got.Code != 200 || got.Header().Get("RateLimit-Policy") != "" {
			t.Fatalf("%d, %v", got.Code, got.Header())
		}
	}
}

func BenchmarkLimitedAnswer(b *testing.B) {
	h, _ := limited(b, 1<<40)
	r := httptest.NewRequest(http.MethodGet, "/v1/services/acme", nil)
	out := discard{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(out.header)
		h.ServeHTTP(&out, r)
	}
}
