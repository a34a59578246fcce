//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/cmd/tollbook/report"
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/output"
	"tollbook/render/submitform"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/serve"
	"tollbook/site/testgate"
)

// post sends a body as a submitter would.
func post(t *testing.T, address, media, body string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", media)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(data)}
}

const jsonBody = "application/json"

// submission is the body of one, with some of its fields replaced; "" takes a field out.
func submission(name string, replaced ...string) string {
	fields := map[string]string{
		"url": `"https://api.` + name + `.example"`, "email": `"owner-s3cret@` + name + `.example"`,
		"service_name": `"` + name + `"`, "description": `"About it."`,
		"website_url": `"https://` + name + `.example"`, "category": `"Data"`, "endpoints": `["/quote","POST /search"]`,
	}
	for i := 0; i+1 < len(replaced); i += 2 {
		fields[replaced[i]] = replaced[i+1]
		if replaced[i+1] == "" {
			delete(fields, replaced[i])
		}
	}
	var parts []string
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, fmt.Sprintf("%q:%s", field, fields[field]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// wrong fails unless an answer is the contract's error of a status and type, with faults at exactly these fields.
func wrong(t *testing.T, what string, a answer, status int, kind string, fields ...string) {
	t.Helper()
	var body site.ErrorBody
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		t.Errorf("%s: %d %.300s", what, a.status, a.body)
		return
	}
	var at []string
	for _, f := range body.Error.Fields {
		at = append(at, f.Field)
	}
	if a.status != status || body.Error.Code != status || body.Error.Type != kind || !slices.Equal(at, fields) ||
		a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: %d, Cache-Control %s, %.500s\nwant %d %s at %q", what, a.status, a.header.Get("Cache-Control"),
			a.body, status, kind, fields)
	}
}

// taken is the result of a submission that must be taken.
func taken(t *testing.T, a answer) site.SubmissionResult {
	t.Helper()
	var body site.One[site.SubmissionResult]
	d := json.NewDecoder(strings.NewReader(a.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil || a.status != http.StatusCreated || body.Data.Status != "pending" ||
		a.header.Get("Location") != "/v1/submissions/"+body.Data.SubmissionID {
		t.Fatalf("%d %v: %s, %v", a.status, a.header, a.body, err)
	}
	return body.Data
}

// serving is a real directory that takes submissions.
func serving(t *testing.T, env []string, data string, more ...string) (base string, p *program) {
	t.Helper()
	args := append([]string{"serve", "--serve-submissions", "--from", filepath.Join(data, "public"), "--serve-listen",
		"127.0.0.1:0"}, more...)
	p = command(t, env, args...).start(t)
	return strings.TrimSuffix(strings.Fields(p.await(t, "Serving "))[2], "/"), p
}

// ran runs a command that must succeed.
func ran(t *testing.T, env []string, args ...string) string {
	t.Helper()
	code, stdout, stderr := run(t, env, args...)
	if code != 0 {
		t.Fatalf("tollbook %s: exit %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// TestSubmissionContract plays a submitter and an operator against real processes: what is sent, refused, reviewed and
// listed, and what nobody is told.
func TestSubmissionContract(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t), "USER=ada"}
	data := t.TempDir()
	ran(t, env, "services", "import", writeFile(t, "list.json", directory(1, "A service.")))
	ran(t, env, "build", "--data", data)
	base, server := serving(t, env, data)
	submit := base + "/v1/submit"

	first := post(t, submit, jsonBody, submission("acme"), "Idempotency-Key", "k1")
	result := taken(t, first)
	if p := result.ProbeResult; p == nil || p.EndpointsFound != 0 || len(p.Errors) != 2 ||
		!strings.HasPrefix(p.Errors[0], "/quote: ") || !strings.HasPrefix(p.Errors[1], "POST /search: ") {
		t.Errorf("the probe of a name that nobody has: %s", first.body)
	}
	if again := post(t, submit, jsonBody+"; charset=UTF-8", submission("acme"), "Idempotency-Key",
		"k1"); again.body != first.body || again.status != first.status {
		t.Errorf("sent again with its key: %d %s\nfirst %s", again.status, again.body, first.body)
	}
	wrong(t, "another with that key", post(t, submit, jsonBody, submission("acme", "category", `"AI"`),
		"Idempotency-Key", "k1"), 400, "invalid_parameter", "Idempotency-Key")
	wrong(t, "a key that is none", post(t, submit, jsonBody, submission("x"), "Idempotency-Key",
		strings.Repeat("k", 256)), 400, "invalid_parameter", "Idempotency-Key")
	wrong(t, "sent again without", post(t, submit, jsonBody, submission("acme")), 400, "duplicate", "url")
	wrong(t, "in other words", post(t, submit, jsonBody,
		submission("acme", "url", `"HTTP://API.Acme.example.:80/x/.."`)), 400, "duplicate", "url")
	wrong(t, "listed", post(t, submit, jsonBody, submission("b", "url", `"https://s0000.example/"`)), 400, "duplicate",
		"url")

	large := `"` + strings.Repeat("m", 1<<20) + `"`
	for field := range map[string]bool{"url": true, "email": true, "service_name": true, "description": true,
		"website_url": true, "category": true, "endpoints": true, "notes": true} {
		for _, value := range []string{"null", "true", "1", "1.5e300", "{}", "[]", `[["x"]]`, `[null]`} {
			wrong(t, field+" "+value, post(t, submit, jsonBody, submission("b", field, value)), 400,
				"validation_failed", field)
		}
		value := large
		if field == "endpoints" {
			value = "[" + large + "]"
		}
		wrong(t, "a megabyte of "+field, post(t, submit, jsonBody, submission("b", field, value)), 413,
			"payload_too_large")
		if field != "notes" {
			wrong(t, "no "+field, post(t, submit, jsonBody, submission("b", field, "")), 400, "validation_failed",
				field)
		}
	}
	for _, address := range []string{
		"http://127.0.0.1", "http://127.1", "http://2130706433", "http://[::1]", "http://[::ffff:10.0.0.1]",
		"http://169.254.169.254/latest", "http://localhost", "http://router.local",
		"http://intranet", "ftp://b.example", "https://a:b@b.example", "https://b.example:22", "http://b.example:6379",
		"https://b.vercel.app", "https://b.trycloudflare.com", "//b.example", "b.example",
	} {
		for _, field := range []string{"url", "website_url"} {
			wrong(t, field+" "+address, post(t, submit, jsonBody, submission("b", field, `"`+address+`"`)), 400,
				"validation_failed", field)
		}
	}
	wrong(t, "everything at once", post(t, submit, jsonBody, `{"url":1,"notes":[],"slug":"b","endpoints":["x"]}`), 400,
		"validation_failed",
		"url", "email", "service_name", "description", "website_url", "category", "endpoints", "notes", "slug")
	wrong(t, "two objects", post(t, submit, jsonBody, submission("b")+submission("c")), 400, "validation_failed",
		"body")
	wrong(t, "no body", post(t, submit, jsonBody, ""), 400, "validation_failed", "body")
	for _, media := range []string{"text/plain", "", "application/xml", "multipart/form-data; boundary=x",
		"application/json; charset=latin1", "application/"} {
		wrong(t, "as "+media, post(t, submit, media, submission("b")), 415, "unsupported_media_type")
	}
	wrong(t, "deflated", post(t, submit, jsonBody, submission("b"), "Content-Encoding", "gzip"), 415,
		"unsupported_media_type")
	if a := get(t, submit); a.status != 405 || a.header.Get("Allow") != "POST, OPTIONS" {
		t.Errorf("GET /v1/submit: %d, Allow %s", a.status, a.header.Get("Allow"))
	}
	if a := get(t, base+"/v1/submissions/"+strings.ToUpper(result.SubmissionID)); a.status != 404 {
		t.Errorf("an id that is none: %d", a.status)
	}
	r, err := http.NewRequest(http.MethodOptions, base+"/api/v1/submit", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 204 || res.Header.Get("Access-Control-Allow-Methods") != "POST, OPTIONS" ||
		res.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("OPTIONS: %d %v", res.StatusCode, res.Header)
	}

	other := taken(t, post(t, base+"/api/v1/submit", jsonBody, submission("other", "service_name", `"Áçmé Ärzte"`)))
	if out := ran(t, env, "submissions", "list"); !strings.Contains(out, result.SubmissionID) ||
		!strings.Contains(out, other.SubmissionID) {
		t.Errorf("those that wait:\n%s", out)
	}
	if out := ran(t, env, "submissions", "show", other.SubmissionID); !strings.Contains(out, "/services/acme-arzte") ||
		!strings.Contains(out, "owner-s3cret@other.example") {
		t.Errorf("as it would be listed:\n%s", out)
	}
	if out := ran(t, env, "submissions", "reject", result.SubmissionID, "--reason", "It asks for nothing.", "--as",
		"bob", "--json"); out != `{"id":"`+result.SubmissionID+`","state":"rejected","reason":"It asks for nothing."}`+
		"\n" {
		t.Errorf("rejected: %s", out)
	}
	if out := ran(t, env, "submissions", "approve", other.SubmissionID); !strings.HasPrefix(out,
		"Listed as acme-arzte.") {
		t.Errorf("approved: %s", out)
	}
	if code, _, stderr := run(t, env, "submissions", "approve", result.SubmissionID); code != 1 ||
		!strings.Contains(stderr, "is decided already: it was rejected on ") || !strings.Contains(stderr, " by bob") {
		t.Errorf("approved after that: exit %d, %s", code, stderr)
	}
	if code, _, stderr := run(t, env, "submissions", "show", "00000000-0000-4000-8000-000000000000"); code != 1 ||
		!strings.Contains(stderr, "no submission has the id") {
		t.Errorf("one that is not there: exit %d, %s", code, stderr)
	}
	var told site.One[site.SubmissionState]
	for id, want := range map[string][3]string{result.SubmissionID: {"rejected", "It asks for nothing.", ""},
		other.SubmissionID: {"approved", "", "acme-arzte"}} {
		a := get(t, base+"/api/v1/submissions/"+id)
		told = site.One[site.SubmissionState]{}
		if err := json.Unmarshal([]byte(a.body), &told); err != nil {
			t.Fatal(err)
		}
		got := [3]string{told.Data.Status, deref(told.Data.Reason), deref(told.Data.Slug)}
		if got != want || a.header.Get("Cache-Control") != "no-store" || told.Data.DecidedAt == nil ||
			strings.Contains(a.body, "s3cret") {
			t.Errorf("its submitter is told %s, want %q", a.body, want)
		}
	}
	var shown report.Submission
	if err := json.Unmarshal([]byte(ran(t, env, "submissions", "show", other.SubmissionID, "--json")),
		&shown); err != nil {
		t.Fatal(err)
	}
	if len(shown.Trail) != 1 || shown.Trail[0].Actor != "ada" || shown.Trail[0].Action != "approve" ||
		shown.Trail[0].Detail != "acme-arzte" {
		t.Errorf("audit trail %+v", shown.Trail)
	}
	wrong(t, "what is listed now", post(t, submit, jsonBody, submission("other")), 400, "duplicate", "url")
	ran(t, env, "build", "--data", data)
	if a := until(t, base+"/v1/services/acme-arzte", "listing", func(a answer) bool {
		return a.status == 200
	}); !strings.Contains(a.body, `"source":"submitted"`) || strings.Contains(a.body, "s3cret") {
		t.Errorf("as it is listed: %s", a.body)
	}
	server.interrupt(t, os.Interrupt)
	if strings.Contains(server.said(), "s3cret") {
		t.Errorf("an e-mail address is in the log:\n%s", server.said())
	}
}

// A server without --serve-submissions says that it takes none.
func TestNoSubmissions(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	data := t.TempDir()
	ran(t, env, "build", "--data", data)
	p := command(t, nil, "serve", "--from", filepath.Join(data, "public"), "--serve-listen", "127.0.0.1:0").start(t)
	base := strings.TrimSuffix(strings.Fields(p.await(t, "Serving "))[2], "/")
	a := post(t, base+"/v1/submit", jsonBody, submission("acme"))
	if a.status != 405 || !strings.Contains(a.body, "does not accept submissions") ||
		a.header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if a := get(t, base+"/v1/submissions/00000000-0000-4000-8000-000000000000"); a.status != 404 {
		t.Errorf("a submission: %d", a.status)
	}
}

// A form without script is answered with the page: faults at their fields and what was typed, or what came of it.
func TestSubmissionForm(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	data := t.TempDir()
	ran(t, env, "build", "--data", data)
	base, _ := serving(t, env, data)
	page := get(t, base+"/submit")
	if page.status != 200 || !strings.Contains(page.body, `action="/v1/submit"`) ||
		!strings.Contains(page.header.Get("Content-Security-Policy"), "form-action 'self'") {
		t.Fatalf("the page: %d %v", page.status, page.header)
	}
	_, rest, _ := strings.Cut(page.body, `<script src="`)
	script, _, _ := strings.Cut(rest, `"`)
	if a := get(t, base+script); a.status != 200 ||
		!strings.HasPrefix(a.header.Get("Content-Type"), "text/javascript") {
		t.Errorf("its script %q: %d %v", script, a.status, a.header)
	}
	form := url.Values{
		"url": {"http://10.0.0.1"}, "email": {"owner@acme.example"}, "service_name": {`"><script>alert(1)</script>`},
		"description": {"About it."}, "website_url": {"https://acme.example"},
		"category": {"Data"}, "endpoints": {"/quote\r\nPOST /search\r\n"}, "notes": {""},
	}
	const media = "application/x-www-form-urlencoded"
	a := post(t, base+"/v1/submit", media, form.Encode())
	if a.status != 400 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") ||
		!strings.Contains(a.body, "is a private address") || strings.Contains(a.body, "<script>") ||
		!strings.Contains(a.body, "owner@acme.example") || a.header.Get("Cache-Control") != "no-store" ||
		a.header.Get("Content-Security-Policy") == "" {
		t.Errorf("with a fault: %d %v\n%s", a.status, a.header, a.body)
	}
	form.Set("url", "https://api.acme.example")
	a = post(t, base+"/v1/submit", media, form.Encode())
	if a.status != 201 || !strings.Contains(a.body, "/v1/submissions/") || !strings.Contains(a.body, "/quote: ") {
		t.Errorf("without: %d\n%s", a.status, a.body)
	}
	a = post(t, base+"/v1/submit", media, form.Encode())
	if a.status != 400 || !strings.Contains(a.body, "was submitted already") {
		t.Errorf("twice: %d\n%s", a.status, a.body)
	}
}

// Killed after a submission is kept and before its probe is, a server has lost nothing: the next one makes the probe.
func TestSubmissionSurvivesAKill(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	dsn := postgrestest.NewDatabase(t)
	env := []string{"DATABASE_URL=" + dsn}
	data := t.TempDir()
	ran(t, env, "build", "--data", data)
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	// What a probe found waits for a lock, behind which the server is killed.
	exec(
		`CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(7); ` +
			`RETURN NEW; END $$`)
	exec(`CREATE TRIGGER wait BEFORE UPDATE OF probe_result ON submissions FOR EACH ROW EXECUTE FUNCTION wait()`)
	exec(`SELECT pg_advisory_lock(7)`)
	base, server := serving(t, env, data)
	go func() { // its answer never comes
		res, err := http.Post(base+"/v1/submit", jsonBody, strings.NewReader(submission("acme")))
		if err == nil {
			res.Body.Close()
		}
	}()
	waiting := func() (n int) {
		if err := conn.QueryRow(ctx,
			`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT `+
				`oid FROM pg_database WHERE datname = current_database())`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for deadline := time.Now().Add(patience); waiting() == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the probe is never kept:\n%s", server.said())
		}
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-server.exited
	exec(
		`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tollbook' AND datname ` +
			`= current_database()`)
	var id string
	var probed bool
	if err := conn.QueryRow(ctx,
		`SELECT id::text, probe_result IS NOT NULL FROM submissions WHERE state = 'pending' AND probe_due_at > `+
			`received_at`).Scan(&id, &probed); err != nil || probed {
		t.Fatalf("what the killed server left: %s, probed %t, %v", id, probed, err)
	}
	exec(`DROP TRIGGER wait ON submissions`)
	exec(`UPDATE submissions SET probe_due_at = now()`) // its lease is over
	base, _ = serving(t, env, data)
	until(t, base+"/v1/submissions/"+id, "result of the probe", func(a answer) bool {
		return a.status == 200 && strings.Contains(a.body, `"probe_result":{`) &&
			strings.Contains(a.body, `"status":"pending"`)
	})
}

// TestManySubmissions: of thousands from one address and from many, as many are taken as may be, each is kept, and
// neither memory nor probes at once grow with their number.
func TestManySubmissions(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	db, err := postgres.Open(t.Context(), postgrestest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	var now, most atomic.Int64
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for n := now.Add(1); ; {
			if before := most.Load(); n <= before || most.CompareAndSwap(before, n) {
				break
			}
		}
		defer now.Add(-1)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer shop.Close()
	prober := crawl.NewSubmissions(db, crawl.SubmissionOptions{HostGap: time.Microsecond},
		probe.Options{Routes: []probe.Route{{Domain: "example",
			Dial: func(ctx context.Context, network, _ string) (net.Conn, bool, error) {
				var d net.Dialer
				c, err := d.DialContext(ctx, network, shop.Listener.Addr().String())
				return c, true, err
			}}}})
	defer prober.Close()
	source, err := output.OpenSource(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	h := serve.NewHandler(serve.Options{
		Source: source, Logger: slog.New(slog.DiscardHandler),
		Trusted: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		Submit: &serve.SubmitOptions{
			Store: db, Prober: prober, Address: (&probe.Guard{}).Canonical, Domain: probe.Domain,
			FillForm: submitform.Fill,
		},
	})
	const each = 400
	var mu sync.Mutex
	got := map[string]map[int]int{"one": {}, "many": {}, "domain": {}}
	var wg sync.WaitGroup
	gate := make(chan struct{}, 64) // clients at once
	for i := range each {
		for kind, c := range map[string]struct{ from, name string }{
			"one":    {"198.51.100.1", fmt.Sprintf("one%d", i)},
			"many":   {fmt.Sprintf("203.0.113.%d", i%200), fmt.Sprintf("many%d", i)},
			"domain": {fmt.Sprintf("2001:db8:0:%x::1", i), "domain"},
		} {
			wg.Go(func() {
				gate <- struct{}{}
				defer func() { <-gate }()
				body := submission(c.name, "url", fmt.Sprintf(`"http://h%d.%s.example"`, i, c.name), "endpoints",
					`["/a"]`)
				r := httptest.NewRequest(http.MethodPost, "/v1/submit", strings.NewReader(body))
				r.Header.Set("Content-Type", jsonBody)
				r.Header.Set("X-Forwarded-For", c.from)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "" {
					t.Error("a 429 without Retry-After")
				}
				mu.Lock()
				got[kind][w.Code]++
				mu.Unlock()
			})
		}
	}
	wg.Wait()
	want := map[string]map[int]int{
		"one": {201: site.SubmissionsPerHour, 429: each - site.SubmissionsPerHour}, "many": {201: each},
		"domain": {201: site.PendingPerDomain, 429: each - site.PendingPerDomain},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("answers by status (-want +got):\n%s", diff)
	}
	kept, err := db.Submissions(t.Context(), site.SubmissionPending)
	if want := site.SubmissionsPerHour + each + site.PendingPerDomain; err != nil || len(kept) != want {
		t.Errorf("%d are kept, want %d, %v", len(kept), want, err)
	}
	if n := most.Load(); n > 16 {
		t.Errorf("%d are probed at once", n)
	}
	if _, err := prober.ProbeQueued(t.Context()); err != nil {
		t.Fatal(err)
	}
	kept, err = db.Submissions(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range kept {
		if s.ProbeResult == nil {
			t.Errorf("%s is never probed", s.URL)
		}
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	t.Logf("%d submissions, %d probed at most at once, %d goroutines, %.1f MB in use", 3*each, most.Load(),
		runtime.NumGoroutine(), float64(m.HeapInuse)/1e6)
}

// services verify prints the token, finds it only where its owner shows it on a line of its own, and says so in the
// directory.
func TestServicesVerify(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	var shown atomic.Value
	shown.Store("")
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch text := shown.Load().(string); {
		case r.URL.Path != "/.well-known/tollbook" || text == "":
			http.NotFound(w, r)
		case text == "redirect":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		default:
			io.WriteString(w, text)
		}
	}))
	defer shop.Close()
	list, err := json.Marshal([]map[string]any{{"service_name": "Acme", "description": "d", "url": shop.URL + "/api",
		"category": "AI", "endpoints": []string{"/a"}}})
	if err != nil {
		t.Fatal(err)
	}
	ran(t, env, "services", "import", writeFile(t, "list.json", list))
	args := []string{"services", "verify", "acme", "--crawl-allow-private", strings.TrimPrefix(shop.URL, "http://"),
		"--json"}
	look := func(text string, want int) (found report.Ownership) {
		t.Helper()
		shown.Store(text)
		code, stdout, stderr := run(t, env, args...)
		if err := json.Unmarshal(bytes.TrimSpace([]byte(stdout)), &found); err != nil || code != want ||
			found.Verified != (want == 0) {
			t.Errorf("%.40q is shown: exit %d, want %d\n%s%s", text, code, want, stdout, stderr)
		}
		return found
	}
	token := look("", 1).Token
	look("x"+token, 1)
	look("redirect", 1)
	look(strings.Repeat("x", 1<<20)+"\n"+token, 1)
	look("other\r\n "+token+"\r\n", 0)
	if code, _, stderr := run(t, env, "services", "verify", "acme"); code != 1 || !strings.Contains(stderr, "refused") {
		t.Errorf("a private host without leave: exit %d, %s", code, stderr)
	}
	if out := ran(t, env, "services", "verify", "--all", "--crawl-allow-private",
		args[4]); out != "acme is verified for 30 days\n" {
		t.Errorf("all: %s", out)
	}
	data := t.TempDir()
	ran(t, env, "build", "--data", data)
	source, err := output.OpenSource(filepath.Join(data, "public"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	snap, err := source.Current()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	detail, err := snap.ReadFile("v1/services/acme.json")
	if err != nil || !strings.Contains(string(detail), `"verified":true,"verified_until":"20`) {
		t.Errorf("as it is published: %.400s, %v", detail, err)
	}
}
