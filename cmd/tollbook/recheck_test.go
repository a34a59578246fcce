//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"tollbook/site"
	"tollbook/site/postgres/postgrestest"
)

const formBody = "application/x-www-form-urlencoded"

// TestRecheckContract runs an owner, two servers and a crawler as real processes. It checks that a re-check leads to a
// visit that would not be due, once, whatever is sent how often to which server.
func TestRecheckContract(t *testing.T) {
	t.Parallel()
	var visits atomic.Int64
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/a/x" {
			visits.Add(1)
		}
		charge(w, r)
	}))
	t.Cleanup(shop.Close)
	dsn := postgrestest.NewDatabase(t)
	env := []string{"DATABASE_URL=" + dsn}
	data := t.TempDir()
	const service = `{"service_name":%q,"description":"d","url":%q,"category":"Data","endpoints":["GET /x"]}`
	list := fmt.Sprintf("["+service+","+service+"]", "Acme", shop.URL+"/a", "Other", "https://other.example")
	ran(t, env, "services", "import", writeFile(t, "list.json", []byte(list)))
	ran(t, env, "services", "pause", "other")
	crawl := func() int64 {
		ran(t, env, "crawl", "--once", "--crawl-allow-private", shop.Listener.Addr().String(), "--crawl-host-gap",
			"1ms")
		return visits.Load()
	}
	first := crawl()
	if n := crawl(); first == 0 || n != first {
		t.Fatalf("%d requests, then %d", first, n)
	}
	for _, arg := range []string{"acme", "--all"} {
		out := ran(t, env, "crawl", arg, "--crawl-allow-private", shop.Listener.Addr().String(), "--crawl-host-gap", "1ms")
		if n := visits.Load(); !strings.HasPrefix(out, "1 services visited in ") || n == first {
			t.Errorf("crawl %s: %s; requests %d, before %d", arg, out, n, first)
		}
		first = visits.Load()
	}
	if out := ran(t, env, "crawl", "--once"); !strings.Contains(out, "none was due; the next visit is at 20") {
		t.Errorf("when nothing is due: %s", out)
	}
	for _, tt := range []struct{ slug, want string }{
		{"other", "other is paused, and not visited; tollbook services resume other changes that"},
		{"none", `no service "none" is listed`},
	} {
		fails(t, env, tt.want, "crawl", tt.slug)
	}
	ran(t, env, "build", "--data", data)
	base, server := serving(t, env, data, "--serve-metrics", "127.0.0.1:0")
	metrics := server.await(t, "Metrics on ")
	second, _ := serving(t, env, data)
	const to = "/v1/services/acme/recheck"
	wrong(t, "after a visit", post(t, base+to, jsonBody, "{}"), 429, "rate_limited")
	db := postgrestest.Connect(t, dsn)
	if _, err := db.Exec(t.Context(),
		`UPDATE service_states SET last_checked_at = last_checked_at - interval '2 minutes'`); err != nil {
		t.Fatal(err)
	}
	checkRecheckRefusals(t, base)

	a := post(t, base+"/api"+to, "", "")
	var body site.Uncited[site.RecheckResult]
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || a.status != http.StatusAccepted ||
		body.Data.Slug != "acme" || body.Data.LastCheckedAt == nil || body.Data.NextCheckAt.IsZero() ||
		body.Data.ChecksURL != "/v1/services/acme/checks" || a.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v: %s, %v", a.status, a.header, a.body, err)
	}
	again := post(t, second+to, "", "")
	wrong(t, "again, at another server", again, 429, "rate_limited")
	if again.header.Get("Retry-After") != "600" && !strings.HasPrefix(again.header.Get("Retry-After"), "59") {
		t.Errorf("Retry-After %s", again.header.Get("Retry-After"))
	}
	n := crawl()
	if n == first {
		t.Error("a re-check led to no visit")
	}
	if crawl() != n {
		t.Error("a re-check led to two visits")
	}
	metric := until(t, metrics, "metrics", func(a answer) bool { return a.status == 200 })
	want := "\n" + `tollbook_http_requests_total{code="202",route="recheck"} 1` + "\n"
	if !strings.Contains(metric.body, want) {
		t.Errorf("no %s in\n%s", want, metric.body)
	}
	server.interrupt(t, os.Interrupt)
	if said := server.said(); strings.Count(said, `msg="re-check requested" service=acme`) != 1 ||
		strings.Contains(said, "127.0.0.1:"+strings.TrimPrefix(shop.URL, "http://127.0.0.1:")) {
		t.Errorf("the log:\n%s", said)
	}
}

// checkRecheckRefusals sends what no server may accept as a request for a re-check.
func checkRecheckRefusals(t *testing.T, base string) {
	t.Helper()
	const to = "/v1/services/acme/recheck"
	for path, want := range map[string]struct {
		status int
		kind   string
	}{
		"/v1/services/nope/recheck":    {404, "not_found"},
		"/v1/services/a%00b/recheck":   {404, "not_found"},
		"/v1/services/%C3%BC/recheck":  {404, "not_found"},
		"/v1/services/ACME/recheck":    {404, "not_found"},
		"/api/v1/services/x/recheck":   {404, "not_found"},
		"/v1/services/other/recheck":   {409, "unvisited"},
		"/v1/services/acme/recheck?x=": {400, "validation_failed"}, // with the body below
	} {
		body := ""
		if want.status == 400 {
			body = `{"x":1}`
		}
		var fields []string
		if want.status == 400 {
			fields = []string{"x"}
		}
		wrong(t, path, post(t, base+path, jsonBody, body), want.status, want.kind, fields...)
	}
	wrong(t, "a list", post(t, base+to, jsonBody, "[]"), 400, "validation_failed", "body")
	wrong(t, "a text", post(t, base+to, "text/plain", "now"), 415, "unsupported_media_type")
	wrong(t, "10 MB", post(t, base+to, jsonBody, strings.Repeat(" ", 10<<20)), 413, "payload_too_large")
	for method, want := range map[string]int{"GET": 405, "HEAD": 405, "PUT": 405, "DELETE": 405, "OPTIONS": 204} {
		r, err := http.NewRequest(method, base+to, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want || res.Header.Get("Allow") != "POST, OPTIONS" {
			t.Errorf("%s: %d, Allow %s; want %d", method, res.StatusCode, res.Header.Get("Allow"), want)
		}
	}
	for _, path := range []string{"/v1/services//recheck", "/v1/services/a/b/recheck"} {
		if a := post(t, base+path, jsonBody, ""); a.status != 405 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// TestFormsWithoutScript checks that the forms of pages are answered with pages: the service's own for a re-check, and
// the one for suggestions with the faults at their fields.
func TestFormsWithoutScript(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	data := t.TempDir()
	ran(t, env, "services", "import", writeFile(t, "list.json", []byte(`[{"service_name":"Acme <b>",
		"description":"d","url":"https://acme.example","category":"Data","endpoints":["GET /x"]}]`)))
	ran(t, env, "build", "--data", data)
	base, _ := serving(t, env, data)
	page := get(t, base+"/services/acme-b.html")
	for _, want := range []string{`action="/v1/services/acme-b/recheck#owner-check"`, `action="/v1/suggestions"`,
		"Acme &lt;b&gt; (acme-b): </textarea>"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the service's page lacks %s", want)
		}
	}
	for i, tt := range []struct {
		to, body string
		status   int
		want     string
	}{
		{"/v1/services/acme-b/recheck", "", 202, `<h4 id="taken">Requested</h4>`},
		{"/v1/services/acme-b/recheck", "", 429, "within the last 10 minutes; ask again in 10 minutes"},
		{"/v1/services/acme-b/recheck", "x=1", 400, "x is not a known field"},
		{"/v1/suggestions", "text=&email=nobody&category=correction", 400,
			`id="suggestion-text-fault">Enter your suggestion.<`},
		{"/v1/suggestions", "text=a%3Cb%3E&email=nobody&category=feature", 400, "\na&lt;b&gt;</textarea>"},
		{"/v1/suggestions", "text=a&email=nobody&category=feature", 400, `<option value="feature" selected>`},
		{"/v1/suggestions", "text=a&email=&category=", 201, "A person reads your suggestion"},
	} {
		a := post(t, base+tt.to, formBody, tt.body)
		if a.status != tt.status || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") ||
			!strings.Contains(a.body, tt.want) || a.header.Get("Cache-Control") != "no-store" ||
			a.header.Get("Content-Security-Policy") == "" || tt.status == 429 != (a.header.Get("Retry-After") != "") {
			t.Errorf("%d: %s %s: %d %v\n%s", i, tt.to, tt.body, a.status, a.header, a.body)
		}
	}
	if a := post(t, base+"/v1/services/nope/recheck", formBody, ""); a.status != 404 ||
		!strings.Contains(a.body, `"not_found"`) {
		t.Errorf("a service without a page: %d %s", a.status, a.body)
	}
	// Without submissions nothing is stored, and the answer says so.
	plain := command(t, nil, "serve", "--from", data+"/public", "--serve-listen", "127.0.0.1:0").start(t)
	base = strings.TrimSuffix(strings.Fields(plain.await(t, "Serving "))[2], "/")
	for _, to := range []string{"/v1/services/acme-b/recheck", "/v1/suggestions"} {
		if a := post(t, base+to, formBody, ""); a.status != 405 ||
			!strings.Contains(a.body, "this server does not accept submissions") {
			t.Errorf("%s without submissions: %d %s", to, a.status, a.body)
		}
	}
	if a := get(t, base+"/v1/services/acme-b/recheck"); a.status != 404 {
		t.Errorf("GET without submissions: %s", fmt.Sprint(a.status))
	}
}
