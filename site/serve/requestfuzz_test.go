package serve

import (
	"bufio"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/routes"
)

// FuzzRequest sends any request line to a complete snapshot. It fails on a panic, on a 500, or on an error that the
// contract does not define.
func FuzzRequest(f *testing.F) {
	for _, c := range []string{
		"GET /v1/services?per_page=2&page=3&category=AI", "HEAD /",
		"GET /v1/services/service-0001/checks?limit=3&offset=7", "OPTIONS *",
		"GET /v1/..%2f..%2fcheckpoint.json", "GET /v1/services/%00", "GET http://tollbook.test/v1/tags",
		"POST /v1/services", "GET /?",
		"GET /v1/services?category=%F0%9F%92%A9&sort=", "GET /api/v1/checks.json", "GET //", "GET /SHA256SUMS",
		"CONNECT a:1",
		"GET /v1/services/service-0001/checks/block=99.json",
	} {
		f.Add(c, "gzip;q=0.5, *;q=0", `W/"x", "y`)
	}
	for _, c := range []string{"GET /v1/services?q=%E4%BA%AC+ac&status=online&sort=cheapest&page=2",
		"GET /v1/services?verified=true&max_price_usd=0.01&sort=volume&include=assessment", "GET /v1/rows/99.json",
		"GET /v1/lookup/pay-to/eip155:8453/0xAb.json"} {
		f.Add(c, "", "")
	}
	w := newWorld(f, 120)
	services := nasty(120, nameParts)
	for i := range services {
		services[i].Slug = w.services[i].slug
	}
	for _, more := range []map[string][]byte{
		scanFiles(f, services), lookupFiles(f, []string{"https://api.acme.test/"},
			[]string{"eip155:8453/0xab"}),
	} {
		delete(more, routes.IndexFile)
		maps.Copy(w.files, more)
	}
	log := &syncBuffer{}
	h := handlerOf(f, publish(f, w.files), log)
	f.Fuzz(func(t *testing.T, request, accept, tags string) {
		text := request + " HTTP/1.1\r\nHost: tollbook.test\r\n\r\n"
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			return // net/http answers these requests itself
		}
		r.Header.Set("Accept-Encoding", accept)
		r.Header.Set("If-None-Match", tags)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		switch rec.Code {
		case 200, 204, 304:
		case 400, 404, 405:
			var body site.ErrorBody
			page := rec.Header().Get("Content-Type") == typeHTML
			if r.Method != http.MethodHead && !page && (json.Unmarshal(rec.Body.Bytes(), &body) != nil ||
				body.Error.Code != rec.Code) {
				t.Errorf("%q: %d %s", request, rec.Code, rec.Body)
			}
		default:
			// A service of the world has only its own page, and some services have no log.
			if !strings.Contains(log.String(), errMissing.Error()) ||
				strings.Contains(log.String(), archive.ErrDamaged.Error()) {
				t.Errorf("%q: %d %s\n%s", request, rec.Code, rec.Body, log)
			}
		}
		if rec.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%q: header %v", request, rec.Header())
		}
	})
}
