package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/cmd/tollbook/lint"
)

// startDocuments starts a seller that serves documents by path, in which BASE and HOST are its own, and asks for
// payment at paths that begin with /p.
func startDocuments(t *testing.T, documents map[string]string) string {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		doc, ok := documents[r.URL.Path]
		switch {
		case ok:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, strings.NewReplacer("BASE", server.URL, "HOST", strings.TrimPrefix(server.URL, "http://")).
				Replace(doc))
		case strings.HasPrefix(r.URL.Path, "/p"):
			terms := fmt.Sprintf(cleanTerms, server.URL+r.URL.Path)
			w.Header().Set("PAYMENT-REQUIRED", base64.StdEncoding.EncodeToString([]byte(terms)))
			w.WriteHeader(http.StatusPaymentRequired)
			fmt.Fprint(w, "{}")
		case strings.HasPrefix(r.URL.Path, "/free/"):
			fmt.Fprint(w, `{"ok": 1}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestLintDocuments checks which endpoints lint finds in the documents of a site as real sellers write them, and what
// it says of entries and documents that are left out.
func TestLintDocuments(t *testing.T) {
	t.Parallel()
	pad := `"` + strings.Repeat("x", 400<<10) + `"`
	const row = `[{"scheme":"exact","network":"eip155:8453","amount":"20000"}]`
	for _, tt := range []struct {
		name      string
		documents map[string]string
		asked     []string // verdict and path of each URL
		said      []string // about documents, after their names
	}{
		{"documents of 400 KiB", map[string]string{
			"/.well-known/x402.json": `{"x402Version":2,"items":[{"resource":{"url":"BASE/p/0"},"method":"GET","accepts":` +
				row + `},{"resource":{"url":"BASE/p/1"},"method":"GET","accepts":` + row + `}],"pad":` + pad + `}`,
			"/openapi.json": `{"openapi":"3.1.0","info":{"title":"Feed","version":"1"},"servers":[{"url":"BASE"}],"paths":` +
				`{"/p/q":{"get":{"x-payment-info":{"protocols":[{"x402":{}}],"price":{"mode":"fixed","currency":"USD",` +
				`"amount":"0.02"}},"responses":{"402":{"description":"pay"}}}}},"x-pad":` + pad + `}`,
		}, []string{"paid /p/q", "paid /p/0", "paid /p/1"}, nil},
		{"free entries", map[string]string{
			"/.well-known/x402.json": `{"x402Version":2,"items":[{"resource":"/p/0","accepts":` + row + `},{"resource":` +
				`"BASE/free/1","method":"GET","accepts":[],"description":"free inspector"},{"resource":"/free/2","method":` +
				`"GET","price_usd":0.0}]}`,
		}, []string{"paid /p/0"}, []string{
			"manifest: 1 endpoint to pay; 2 entries skipped: free, or without a word of payment"}},
		{"servers and references", map[string]string{
			"/openapi.json": `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"servers":[{"url":` +
				`"{scheme}://HOST/p","variables":{"scheme":{"default":"http"}}}],"paths":{"/v":{"get":{"responses":{"402":` +
				`{}}}},"/r/{id}":{"get":{"parameters":[{"$ref":"#/components/parameters/Id"}],"responses":{"402":{}}}}},` +
				`"components":{"parameters":{"Id":{"name":"id","in":"path","required":true,"example":"42"}}}}`,
		}, []string{"paid /p/r/42", "paid /p/v"}, nil},
		{"a byte order mark", map[string]string{
			"/openapi.json": "\ufeff" + `{"openapi":"3.0.3","paths":{"/p/a":{"get":{"responses":{"402":{}}}}}}`,
		}, []string{"paid /p/a"}, nil},
		{"an old path of agent cards", map[string]string{
			"/.well-known/agent.json": `{"name":"A","url":"BASE/p/a2a","skills":[],"capabilities":{"extensions":[{"uri":` +
				`"https://github.com/google-a2a/a2a-x402/v0.1"}]}}`,
		}, []string{"paid /p/a2a"}, nil},
		{"too large, XML, other hosts", map[string]string{
			"/openapi.json":          `{"paths":{},"x":"` + strings.Repeat("x", 9<<20) + `"}`,
			"/.well-known/x402":      `<?xml version="1.0"?><resources/>`,
			"/.well-known/x402.json": `["http://127.0.0.1:1/p/a","https://other.test/p/b","/p/c"]`,
		}, []string{"paid /p/c"}, []string{
			"openapi: larger than 8 MiB; nothing of it is read",
			"manifest: not the expected kind of document: it is XML, not JSON",
			"manifest: 1 endpoint to pay; 2 entries skipped: on another host, or outside the base URL of the service"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := startDocuments(t, tt.documents)
			_, out := lintWith(t, base, "", "--json", base)
			var batch lint.Batch
			if err := json.Unmarshal([]byte(out), &batch); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var asked []string
			for _, r := range batch.Reports {
				asked = append(asked, r.Verdict+" "+strings.TrimPrefix(r.URL, "BASE"))
			}
			if diff := gocmp.Diff(tt.asked, asked); diff != "" {
				t.Errorf("URLs (-want +got):\n%s", diff)
			}
			_, text := lintWith(t, base, "", base)
			at := 0
			for _, want := range tt.said {
				name, words, _ := strings.Cut(want, ": ")
				next := strings.Index(text[at:], words)
				if next < 0 || !strings.Contains(text[:at+next], name) {
					t.Errorf("the text has no %q for the owner:\n%s", want, text)
					continue
				}
				at += next
			}
			if tt.said == nil && strings.Contains(text, "skipped") {
				t.Errorf("something is skipped:\n%s", text)
			}
		})
	}
}
