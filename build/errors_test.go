package build_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/serve"
)

// testErrors checks that each error has the documented shape.
func (d *openapiTest) testErrors(t *testing.T) {
	for _, c := range []struct {
		method, target, path string
		status               int
		kind                 string
	}{
		{"GET", "/v1/services?per_page=101", "/services", 400, site.ErrorInvalidParameter},
		{"GET", "/v1/services?category=%ff", "/services", 400, site.ErrorInvalidParameter},
		{"GET", "/v1/services?" + strings.Repeat("q=a&", 3000), "/services", 400, site.ErrorInvalidParameter},
		{"GET", "/v1/checks?limit=0", "/checks", 400, site.ErrorInvalidParameter},
		{"GET", "/v1/services/not-there", "/services/{slug}", 404, site.ErrorNotFound},
		{"GET", "/v1/services/not-there/checks?limit=3", "/services/{slug}/checks", 404, site.ErrorNotFound},
		{"GET", "/v1/services/%2e%2e%2fx", "/services/{slug}", 404, site.ErrorNotFound},
		{"GET", "/v1/services?snapshot=yesterday", "/services", 400, site.ErrorInvalidParameter},
		{"GET", "/v1/services?snapshot=20200101T000000Z-000000", "/services", 404, site.ErrorNotFound},
		{"POST", "/v1/services", "/services", 405, site.ErrorMethodNotAllowed},
		{"DELETE", "/v1/services/x", "/services/{slug}", 405, site.ErrorMethodNotAllowed},
	} {
		w, err := d.checkResponse(c.path, httptest.NewRequest(c.method, c.target, nil))
		d.checkError(t, c.method+" "+c.target, w, err, c.status, c.kind)
	}
	damaged := filepath.Join(d.root, "tree", d.report.Snapshot)
	if err := os.Remove(filepath.Join(damaged, "v1", "tags.json")); err != nil {
		t.Fatal(err)
	}
	w, err := d.checkResponseOf(openHandler(t, damaged), "/tags", httptest.NewRequest("GET", "/v1/tags", nil))
	d.checkError(t, "a file that is missing", w, err, 500, site.ErrorInternal)
	w, err = d.checkResponseOf(openHandler(t, tempDir(t)), "/tags", httptest.NewRequest("GET", "/v1/tags", nil))
	d.checkError(t, "nothing published", w, err, 503, site.ErrorUnavailable)
	limited := serve.NewHandler(serve.Options{Source: d.source, RateLimit: 1})
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if w, err = d.checkResponseOf(limited, "/tags", httptest.NewRequest("GET", "/v1/tags", nil)); w.Code != want ||
			err != nil {
			t.Errorf("a limit of one request: %d, %v; want %d", w.Code, err, want)
		}
	}
	d.checkError(t, "one request too many", w, err, 429, site.ErrorRateLimited)
	d.checkErrorExamples(t)
}

func openHandler(t *testing.T, root string) http.Handler {
	t.Helper()
	source, err := output.OpenSource(root, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	return serve.NewHandler(serve.Options{Source: source})
}

func (d *openapiTest) checkError(t *testing.T, what string, w *httptest.ResponseRecorder, invalid error, status int,
	kind string) {
	t.Helper()
	if invalid != nil {
		t.Errorf("%s: %v", what, invalid)
	}
	var body site.ErrorBody
	text := w.Body.String()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if w.Code != status || body.Error.Code != status || body.Error.Type != kind || body.Error.Message == "" {
		t.Errorf("%s is answered with %d, %+v; want %d, %s", what, w.Code, body.Error, status, kind)
	}
	if (len(body.Error.Fields) > 0) != (status == http.StatusBadRequest) ||
		!slices.Contains(site.ErrorTypes, body.Error.Type) {
		t.Errorf("%s is answered with %+v", what, body.Error)
	}
	d.errors[status] = append(d.errors[status], strings.TrimSpace(text))
}

// checkErrorExamples checks that each example of an error in the document is a response that the server sent.
func (d *openapiTest) checkErrorExamples(t *testing.T) {
	t.Helper()
	for status, ref := range d.doc.Paths.Value("/services").Get.Responses.Map() {
		media := ref.Value.Content.Get("application/json")
		code, err := strconv.Atoi(status)
		if status == "default" {
			code, err = http.StatusMethodNotAllowed, nil
		}
		if media == nil || code == http.StatusOK {
			continue
		}
		var bodies []any
		for _, text := range d.errors[code] {
			var body any
			unmarshal(t, []byte(text), &body)
			bodies = append(bodies, body)
		}
		if err != nil || !slices.ContainsFunc(bodies, func(b any) bool { return cmp.Equal(b, media.Example) }) {
			t.Errorf("the document shows for %s the error %v, met were %v", status, media.Example, bodies)
		}
	}
}
