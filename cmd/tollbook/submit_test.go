//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tollbook/cmd/tollbook/report"
	"tollbook/site"
	"tollbook/site/postgres/postgrestest"
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

// submission returns a request body with some of its fields replaced; "" removes a field.
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

// wrong fails unless a response is the contract's error of a status and type, with faults at exactly these fields.
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

// taken returns the result of a submission that must be accepted.
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

// testContact is a contact that could be reached.
const testContact = "mailto:bot@directory.internal"

// serving starts a real directory that accepts submissions.
func serving(t *testing.T, env []string, data string, more ...string) (base string, p *program) {
	t.Helper()
	args := append([]string{"serve", "--serve-submissions", "--from", filepath.Join(data, "public"), "--serve-listen",
		"127.0.0.1:0", "--crawl-contact", testContact}, more...)
	p = command(t, env, args...).start(t)
	return strings.TrimSuffix(strings.Fields(p.await(t, "Serving "))[2], "/"), p
}

// ran returns the output of a command that must succeed.
func ran(t *testing.T, env []string, args ...string) string {
	t.Helper()
	code, stdout, stderr := tollbook(t, env, args...)
	if code != 0 {
		t.Fatalf("tollbook %s: exit %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// TestSubmissionContract runs a submitter and an operator against real processes. It checks what is sent, refused,
// reviewed, listed and kept private.
func TestSubmissionContract(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t), "USER=ada"}
	data := t.TempDir()
	ran(t, env, "services", "import", writeFile(t, "list.json", listOfServices(1, "A service.")))
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
	if code, _, stderr := tollbook(t, env, "submissions", "approve", result.SubmissionID); code != 1 ||
		!strings.Contains(stderr, "is decided already: it was rejected on ") || !strings.Contains(stderr, " by bob") {
		t.Errorf("approved after that: exit %d, %s", code, stderr)
	}
	if code, _, stderr := tollbook(t, env, "submissions", "show", "00000000-0000-4000-8000-000000000000"); code != 1 ||
		!strings.Contains(stderr, "no submission has the id") {
		t.Errorf("one that is not there: exit %d, %s", code, stderr)
	}
	var state site.One[site.SubmissionState]
	for id, want := range map[string][3]string{result.SubmissionID: {"rejected", "It asks for nothing.", ""},
		other.SubmissionID: {"approved", "", "acme-arzte"}} {
		a := get(t, base+"/api/v1/submissions/"+id)
		state = site.One[site.SubmissionState]{}
		if err := json.Unmarshal([]byte(a.body), &state); err != nil {
			t.Fatal(err)
		}
		got := [3]string{state.Data.Status, deref(state.Data.Reason), deref(state.Data.Slug)}
		if got != want || a.header.Get("Cache-Control") != "no-store" || state.Data.DecidedAt == nil ||
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

// TestNoSubmissions checks that a server without --serve-submissions says that it accepts none.
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

// TestSubmissionForm checks that a form without script gets a page. The page shows the faults at their fields with the
// input, or the result.
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
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		a = post(t, base+"/v1/submit", media, form.Encode(), header...)
		if a.status != 400 || !strings.Contains(a.body, "the form is on a page of another site") {
			t.Errorf("%s: %d\n%s", header, a.status, a.body)
		}
		a = post(t, base+"/v1/services/acme/recheck", "", "", header...)
		wrong(t, "a re-check with "+header[0], a, 400, "bad_request")
	}
	a = post(t, base+"/v1/submit", media, form.Encode(), "Sec-Fetch-Site", "same-origin", "Origin", "https://acme.example")
	if a.status != 201 || !strings.Contains(a.body, "/v1/submissions/") || !strings.Contains(a.body, "/quote: ") {
		t.Errorf("without: %d\n%s", a.status, a.body)
	}
	a = post(t, base+"/v1/submit", media, form.Encode())
	if a.status != 400 || !strings.Contains(a.body, "was submitted already") {
		t.Errorf("twice: %d\n%s", a.status, a.body)
	}
}
