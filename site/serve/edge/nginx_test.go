package edge

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/serve/edge/edgetest"
)

// startNginx runs a configuration on loopback until the test ends.
func startNginx(t *testing.T, o Nginx, more string) (addr string) {
	t.Helper()
	return edgetest.StartNginx(t, more, func(listen string) ([]byte, error) {
		o.Listen = listen
		return o.Config()
	})
}

var (
	nginxTag = regexp.MustCompile(`^(?:W/)?"[0-9a-f]+-[0-9a-f]+"$`)
	maxAge   = regexp.MustCompile(`max-age=\d+, stale`)
)

// isUnreadable reports whether nginx refuses a path that serve reads: one with NUL, or with ../ above the root.
func isUnreadable(c call) bool {
	path, _, _ := strings.Cut(c.target, "?")
	return strings.Contains(path, "%00") || strings.HasPrefix(path, "/..") && strings.HasPrefix(path[1:]+"/", "../") ||
		path == "/*"
}

func testNginx(t *testing.T, w *world, script []call, want []response) {
	addr := startNginx(t, Nginx{Folder: w.root, ServerName: "_", Upstream: w.addr, RateLimit: 1_000_000, MaxAge: 60},
		"")
	files := 0
	for i, got := range play(t, addr, script) {
		c, want := script[i], want[i]
		if isUnreadable(c) {
			if got.Code != 400 && want.Code != got.Code {
				t.Errorf("%s: %d, serve says %d", c, got.Code, want.Code)
			}
			continue
		}
		if nginxTag.MatchString(got.Header["ETag"]) { // a file that nginx sent
			files++
			if strings.Contains(c.header, "If-") {
				continue // nginx has validators of its own, which testNginxAlone checks
			}
			got, want = got.without("ETag", "Last-Modified", "Content-Encoding"),
				want.without("ETag", "Last-Modified", "Content-Encoding")
			for _, a := range []response{got, want} {
				a.Header["Cache-Control"] = maxAge.ReplaceAllString(a.Header["Cache-Control"], "max-age=N, stale")
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.300s (-go +nginx):\n%.1500s", c, diff)
		}
	}
	t.Logf("%d of %d answers are files that nginx sent", files, len(script))
	if files < 500 {
		t.Errorf("nginx sends %d of %d answers by itself", files, len(script))
	}
}

// testNginxLimits checks that clients are counted separately, that an IPv6 network of 64 bits is one client, and that
// only requests to the API count.
func testNginxLimits(t *testing.T, w *world) {
	addr := startNginx(t, Nginx{Folder: w.root, ServerName: "_", Upstream: w.addr, RateLimit: 3, MaxAge: 60},
		"set_real_ip_from 127.0.0.1;\nreal_ip_header X-Client;\n")
	from := func(client, target string) int {
		t.Helper()
		a, err := ask(addr, call{"GET", target, "X-Client: " + client + "\r\n"})
		if err != nil {
			t.Fatal(err)
		}
		if a.Code == 429 && (a.Header["Content-Type"] != "application/json; charset=utf-8" ||
			!strings.Contains(a.Body, `"type":"rate_limited"`)) {
			t.Errorf("429 with %v %s", a.Header, a.Body)
		}
		return a.Code
	}
	exhaust := func(client string) {
		t.Helper()
		for range 4 { // one, and a burst of three
			if code := from(client, "/v1/stats"); code != 200 {
				t.Errorf("%s: %d before its limit", client, code)
			}
		}
	}
	exhaust("203.0.113.7")
	exhaust("2001:db8:1:2::5")
	for client, want := range map[string]int{
		"203.0.113.7": 429, "2001:db8:1:2::5": 429, "2001:db8:1:2:ffff::9": 429, "2001:db8:1:3::5": 200,
		"203.0.113.8": 200,
	} {
		if code := from(client, "/v1/stats"); code != want {
			t.Errorf("%s: %d, want %d", client, code, want)
		}
	}
	if code := from("203.0.113.7", "/%761/stats"); code != 429 {
		t.Errorf("an address written otherwise: %d", code)
	}
	for range 9 {
		if code := from("203.0.113.7", "/status"); code != 200 {
			t.Errorf("a page: %d", code)
		}
	}
}

// testNginxAlone checks that nginx accepts its own validators. Without serve it must still send files, and answer other
// requests with 503.
func testNginxAlone(t *testing.T, w *world) {
	addr := startNginx(t, Nginx{Folder: w.root, ServerName: "_", Upstream: "127.0.0.1:1", RateLimit: 1000, MaxAge: 60},
		"")
	get := func(target, header string) response {
		t.Helper()
		a, err := ask(addr, call{"GET", target, header})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	first := get("/v1/stats", "")
	if first.Code != 200 {
		t.Fatalf("%d: %s", first.Code, first.Body)
	}
	for header, code := range map[string]int{
		"If-None-Match: " + first.Header["ETag"]: 304, `If-None-Match: "x"`: 200,
		"If-Modified-Since: " + first.Header["Last-Modified"]: 304,
		"If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT":    200,
		"If-Modified-Since: Wed, 20 Nov 2030 12:44:59 GMT":    200,
	} {
		if a := get("/v1/stats", header+"\r\n"); a.Code != code {
			t.Errorf("%s: %d, want %d", header, a.Code, code)
		}
	}
	if a := get("/v1/services?q=fire", ""); a.Code != 503 ||
		a.Header["Content-Type"] != "application/json; charset=utf-8" ||
		!strings.Contains(a.Body, `"code":503,"type":"unavailable"`) {
		t.Errorf("without serve: %d %v %s", a.Code, a.Header, a.Body)
	}
	if a := get("/services?page=%32", ""); a.Code != 503 || a.Header["Content-Type"] != "text/html; charset=utf-8" ||
		a.Header["Cache-Control"] != "no-store" || a.Header["Content-Security-Policy"] == "" ||
		!strings.Contains(a.Body, "Something went wrong") {
		t.Errorf("a page without serve: %d %v %.200s", a.Code, a.Header, a.Body)
	}
}
