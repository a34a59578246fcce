package serve

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
)

// TestLimiter compares the limiter with a plain list of a client's requests.
func TestLimiter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		l := newLimiter(limit, now)
		at := now
		type naive struct {
			start time.Time
			count int
		}
		clients := map[client]*naive{}
		for range rapid.IntRange(1, 100).Draw(t, "requests") {
			at = at.Add(time.Duration(rapid.IntRange(0, 40_000).Draw(t, "ms")) * time.Millisecond)
			c := client(rapid.IntRange(0, 3).Draw(t, "client"))
			n := clients[c]
			if n == nil || at.Sub(n.start) >= time.Minute {
				n = &naive{start: at}
				clients[c] = n
			}
			want := n.count < limit
			if want {
				n.count++
			}
			left, ends, ok := l.take(c, at)
			if ok != want || left != limit-n.count || ends != time.Minute-at.Sub(n.start) {
				t.Fatalf("client %d: %v, %d left for %v, want %v, %d for %v", c, ok, left, ends, want, limit-n.count,
					time.Minute-at.Sub(n.start))
			}
		}
	})
}

// TestLimiterIsBounded checks that a million addresses within a minute stay within the limiter's capacity, and that the
// newest are still counted. After the minute all capacity is free again.
func TestLimiterIsBounded(t *testing.T) {
	t.Parallel()
	l := newLimiter(2, now)
	const many = 1_000_000
	for i := range many {
		if _, _, ok := l.take(client(i), now); !ok {
			t.Fatalf("the first request of client %d is refused", i)
		}
	}
	if n := l.clients(); n > maxClients || n < maxClients*9/10 {
		t.Errorf("%d clients are counted, want at most %d", n, maxClients)
	}
	for i := range l.shards {
		if s := &l.shards[i]; len(s.began) > 2*maxClients/limitShards || len(s.began)-s.head < len(s.windows) {
			t.Errorf("shard %d has %d windows, in order %d from %d", i, len(s.windows), len(s.began), s.head)
		}
	}
	for i := many - 1000; i < many; i++ {
		_, _, first := l.take(client(i), now)
		if left, _, second := l.take(client(i), now); !first || second || left != 0 {
			t.Errorf("client %d of a full table: %v, %v", i, first, second)
		}
	}
	for i := range 100_000 { // some in every shard
		l.take(client(i), now.Add(limitWindow))
	}
	if n := l.clients(); n != 100_000 {
		t.Errorf("%d clients are counted a minute later, want those who came since", n)
	}
	t.Logf("figures: the rate limit was asked by %d addresses within a minute and kept no more than %d of them", many,
		maxClients)
}

// TestLimiterMemory checks that the limiter's memory for a client is small, and limited for a flood of clients.
func TestLimiterMemory(t *testing.T) { // not parallel: the memory of other tests would count
	var before, after runtime.MemStats
	for _, test := range []struct{ clients, most int }{{100_000, 16 << 20}, {1_000_000, 32 << 20}} {
		runtime.GC()
		runtime.ReadMemStats(&before)
		l := newLimiter(200, now)
		peak := uint64(0)
		for i := range test.clients {
			l.take(client(i), now.Add(time.Duration(i)*time.Microsecond))
			if i%10_000 == 0 || i == test.clients-1 {
				runtime.ReadMemStats(&after)
				peak = max(peak, after.HeapAlloc)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		used, most := int(after.HeapAlloc)-int(before.HeapAlloc), int(peak)-int(before.HeapAlloc)
		t.Logf(
			"%d clients, %d of them counted: %.1f MB, %d bytes each; %.1f MB at most, with what is not collected yet",
			test.clients, l.clients(), float64(used)/1e6, used/l.clients(), float64(most)/1e6)
		if used > test.most {
			t.Errorf("%d clients take %d bytes, want %d at most", test.clients, used, test.most)
		}
		runtime.KeepAlive(l)
	}
}

func TestLimiterIsExactUnderLoad(t *testing.T) {
	t.Parallel()
	l := newLimiter(100, now)
	var passed [3]atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 300 {
				if _, _, ok := l.take(client(i%3), now); ok {
					passed[i%3].Add(1)
				}
			}
		})
	}
	wg.Wait()
	for i := range passed {
		if n := passed[i].Load(); n != 100 {
			t.Errorf("client %d passed %d times, want 100", i, n)
		}
	}
}

func TestClientOf(t *testing.T) {
	t.Parallel()
	same := [][]string{
		{"192.0.2.1", "::ffff:192.0.2.1"},
		{"192.0.2.2"},
		{"2001:db8:1:2::1", "2001:db8:1:2:ffff::"},
		{"2001:db8:1:3::1"},
		{"::1"},
	}
	seen := map[client]int{}
	for i, addrs := range same {
		for _, a := range addrs {
			c := newClient(netip.MustParseAddr(a))
			if before, ok := seen[c]; ok && before != i {
				t.Errorf("%s is counted with %s", a, same[before][0])
			}
			seen[c] = i
		}
	}
	if len(seen) != len(same) {
		t.Errorf("%d clients, want %d", len(seen), len(same))
	}
}

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

func BenchmarkLimiter(b *testing.B) {
	for _, clients := range []int{1, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(clients, " clients"), func(b *testing.B) {
			l := newLimiter(200, now)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				c := binary.BigEndian.Uint64([]byte{0, 0, 0, 0, byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)})
				l.take(client(c%uint64(clients)), now.Add(time.Duration(i)*time.Microsecond))
				i++
			}
		})
	}
	h, _ := limited(b, 1<<40)
	b.Run("answer", func(b *testing.B) {
		r := httptest.NewRequest(http.MethodGet, "/v1/services/acme", nil)
		out := discard{header: http.Header{}}
		b.ReportAllocs()
		for b.Loop() {
			clear(out.header)
			h.ServeHTTP(&out, r)
		}
	})
}
