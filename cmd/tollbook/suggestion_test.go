//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/cmd/tollbook/report"
	"tollbook/site"
	"tollbook/site/postgres/postgrestest"
)

// suggested returns the receipt of a suggestion that must be accepted.
func suggested(t *testing.T, a answer) site.SuggestionResult {
	t.Helper()
	var body site.Uncited[site.SuggestionResult]
	d := json.NewDecoder(strings.NewReader(a.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil || a.status != http.StatusCreated || body.Data.SuggestionID == "" ||
		body.Data.ReceivedAt.IsZero() || a.header.Get("Cache-Control") != "no-store" ||
		a.header.Get("Location") != "" || a.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Fatalf("%d %v: %s, %v", a.status, a.header, a.body, err)
	}
	return body.Data
}

// TestSuggestionContract runs a reader and an operator against real processes. It checks what is accepted, refused,
// listed and closed, and that the reader's e-mail address is printed by "suggestions show" alone.
func TestSuggestionContract(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t), "USER=ada"}
	data := t.TempDir()
	ran(t, env, "build", "--data", data)
	if out := ran(t, env, "suggestions", "list"); out != "No suggestions.\n" {
		t.Errorf("none: %s", out)
	}
	if out := ran(t, env, "suggestions", "list", "--json"); out != "[]\n" {
		t.Errorf("none as JSON: %s", out)
	}
	base, server := serving(t, env, data, "--serve-metrics", "127.0.0.1:0")
	metrics := server.await(t, "Metrics on ")
	to := base + "/v1/suggestions"

	const full = `{"text":"Acme moved.\nIt is <b>there</b>.","category":"correction","email":"reader-s3cret@acme.example"}`
	first := post(t, to, jsonBody, full, "Idempotency-Key", "k1")
	result := suggested(t, first)
	for what, again := range map[string]answer{
		"with its key":    post(t, to, jsonBody+"; charset=UTF-8", full, "Idempotency-Key", "k1"),
		"without":         post(t, to, jsonBody, full),
		"under the alias": post(t, base+"/api/v1/suggestions", jsonBody, full),
	} {
		if again.body != first.body || again.status != first.status {
			t.Errorf("sent again %s: %d %s\nfirst %s", what, again.status, again.body, first.body)
		}
	}
	if a := post(t, to, formBody, url.Values{"text": {"Acme moved.\r\nIt is <b>there</b>.\r\n"},
		"category": {""}}.Encode()); a.status != first.status || !strings.Contains(a.body, result.SuggestionID) {
		t.Errorf("sent again as a form: %d %s\nfirst %s", a.status, a.body, first.body)
	}
	wrong(t, "another with that key", post(t, to, jsonBody, `{"text":"x"}`, "Idempotency-Key", "k1"), 400,
		"invalid_parameter", "Idempotency-Key")
	wrong(t, "a key that is none", post(t, to, jsonBody, `{"text":"x"}`, "Idempotency-Key", strings.Repeat("k", 256)),
		400, "invalid_parameter", "Idempotency-Key")
	checkRefusals(t, base)

	hostile := suggested(t, post(t, to, jsonBody, `{"text":"<script>alert(1)</script> \u202etxt.exe"}`))
	out := ran(t, env, "suggestions", "list")
	if strings.Contains(out, "s3cret") || strings.Contains(out, "\u202e") || strings.Count(out, "\n") != 3 ||
		!strings.Contains(out, result.SuggestionID) || !strings.Contains(out, "correction") ||
		!strings.Contains(out, "Acme moved. It is <b>there</b>.") {
		t.Errorf("open:\n%s", out)
	}
	if out := ran(t, env, "suggestions", "list", "--json"); strings.Contains(out, "s3cret") ||
		strings.Count(out, `"state":"open"`) != 2 {
		t.Errorf("open as JSON:\n%s", out)
	}
	if out := ran(t, env, "suggestions", "show", result.SuggestionID); strings.Count(out,
		"reader-s3cret@acme.example") != 1 || !strings.Contains(out, "It is <b>there</b>.") {
		t.Errorf("shown:\n%s", out)
	}
	if out := ran(t, env, "suggestions", "close", hostile.SuggestionID, "--as", "bob", "--json"); out !=
		`{"id":"`+hostile.SuggestionID+`","state":"closed"}`+"\n" {
		t.Errorf("closed: %s", out)
	}
	code, stdout, stderr := tollbook(t, env, "suggestions", "close", hostile.SuggestionID, result.SuggestionID)
	if code != 1 || !strings.Contains(stdout, "is closed already: it was closed on ") ||
		!strings.Contains(stdout, " by bob") || !strings.Contains(stderr, "1 of 2 suggestions were not decided") {
		t.Errorf("closed again: exit %d\n%s%s", code, stdout, stderr)
	}
	var shown report.Suggestion
	asJSON := ran(t, env, "suggestions", "show", result.SuggestionID, "--json")
	if err := json.Unmarshal([]byte(asJSON), &shown); err != nil {
		t.Fatal(err)
	}
	want := site.Suggestion{Text: "Acme moved.\nIt is <b>there</b>.", Category: "correction",
		Email: "reader-s3cret@acme.example"}
	diff := cmp.Diff(want, shown.Suggestion)
	if diff != "" || shown.State != "closed" || deref(shown.ClosedBy) != "ada" {
		t.Errorf("shown, closed by %s (-want +got):\n%s", deref(shown.ClosedBy), diff)
	}
	if out := ran(t, env, "suggestions", "list"); out != "No suggestions.\n" {
		t.Errorf("all are closed: %s", out)
	}
	if code, _, stderr := tollbook(t, env, "suggestions", "show", "00000000-0000-4000-8000-000000000000"); code != 1 ||
		!strings.Contains(stderr, "no suggestion has the id") {
		t.Errorf("one that is not there: exit %d, %s", code, stderr)
	}

	file := filepath.Join(t.TempDir(), "directory.jsonl")
	ran(t, env, "export", "--with-contacts", file)
	if plain := ran(t, env, "export"); strings.Contains(plain, "s3cret") ||
		strings.Count(plain, `{"kind":"suggestion"`) != 2 {
		t.Errorf("exported without contacts:\n%s", plain)
	}
	other := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	ran(t, other, "import", file)
	if diff := cmp.Diff(readFile(t, file), ran(t, other, "export", "--with-contacts")); diff != "" {
		t.Errorf("exported from what was imported (-want +got):\n%s", diff)
	}
	ran(t, env, "build", "--data", data)
	err := filepath.WalkDir(data, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && strings.Contains(readFile(t, name), "s3cret") {
			t.Errorf("an e-mail address is in %s", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	a := until(t, metrics, "metrics", func(a answer) bool { return a.status == 200 })
	for _, want := range []string{"\ntollbook_suggestions{state=\"closed\"} 2\n",
		"\ntollbook_suggestions{state=\"open\"} 0\n"} {
		if !strings.Contains(a.body, want) || strings.Contains(a.body, "s3cret") {
			t.Errorf("no %s in\n%s", want, a.body)
		}
	}
	server.interrupt(t, os.Interrupt)
	if said := server.said(); strings.Contains(said, "s3cret") || strings.Contains(said, "Acme moved") ||
		!strings.Contains(said, `msg="suggestion received" suggestion=`+result.SuggestionID+" category=correction") {
		t.Errorf("the log:\n%s", said)
	}
}

// checkRefusals sends what no server may accept as a suggestion.
func checkRefusals(t *testing.T, base string) {
	t.Helper()
	to := base + "/v1/suggestions"
	for body, fields := range map[string][]string{
		`{}`:                 {"text"},
		`{"text":""}`:        {"text"},
		`{"text":"a\u0007"}`: {"text"},
		`{"text":"` + strings.Repeat("a", 2001) + `"}`: {"text"},
		`{"text":"a","category":"Data"}`:               {"category"},
		`{"text":"a","email":"a@localhost"}`:           {"email"},
		`{"email":[],"category":{},"text":1e9}`:        {"text", "category", "email"},
		`{"text":"a","website":"b"}`:                   {"website"},
		`{"text":"a"}{"text":"b"}`:                     {"body"},
		``:                                             {"body"},
		`[]`:                                           {"body"},
		"{\"text\":\"\xff\"}":                          {"body"},
	} {
		wrong(t, fmt.Sprintf("%.60s", body), post(t, to, jsonBody, body), 400, "validation_failed", fields...)
	}
	for _, field := range site.SuggestionFields {
		for _, value := range []string{"null", "true", "1", "{}", "[]"} {
			body := fmt.Sprintf(`{"text":"a",%q:%s}`, field, value)
			if field == "text" {
				body = fmt.Sprintf(`{"text":%s}`, value)
			}
			wrong(t, field+" "+value, post(t, to, jsonBody, body), 400, "validation_failed", field)
		}
	}
	for body, want := range map[string]string{"text=a&x=1": "x is not a known field",
		"text=%zz": "body is not a valid form"} {
		if a := post(t, to, formBody, body); a.status != 400 || !strings.Contains(a.body, want) {
			t.Errorf("the form %s: %d %s", body, a.status, a.body)
		}
	}
	wrong(t, "10 MB", post(t, to, jsonBody, `{"text":"`+strings.Repeat("m", 10<<20)+`"}`), 413, "payload_too_large")
	for _, media := range []string{"text/plain", "", "multipart/form-data; boundary=x",
		"application/json; charset=latin1"} {
		wrong(t, "as "+media, post(t, to, media, `{"text":"a"}`), 415, "unsupported_media_type")
	}
	wrong(t, "deflated", post(t, to, jsonBody, `{"text":"a"}`, "Content-Encoding", "gzip"), 415,
		"unsupported_media_type")
	for method, want := range map[string]int{"GET": 405, "HEAD": 405, "PUT": 405, "DELETE": 405, "OPTIONS": 204} {
		r, err := http.NewRequest(method, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want || res.Header.Get("Allow") != "POST, OPTIONS" {
			t.Errorf("%s: %d, Allow %s", method, res.StatusCode, res.Header.Get("Allow"))
		}
	}
}
