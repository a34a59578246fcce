package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/render/lists"
)

// TestEmptySearches checks that only searches without filters that find nothing are counted, over the API and on the
// page, also those that are answered from memory, and that the operator sees the texts that came often.
func TestEmptySearches(t *testing.T) {
	t.Parallel()
	h, _ := fillingHandler(t, publish(t, searchPageFiles(t)), lists.FillResults)
	metrics := NewMetrics()
	metrics.handler = h.(*handler)
	report := func() (int, string) {
		w := httptest.NewRecorder()
		metrics.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, emptyPath, nil))
		return w.Code, w.Body.String()
	}
	if code, _ := report(); code != http.StatusNotFound {
		t.Errorf("without counts: %d, want 404", code)
	}
	h.(*handler).empty = NewEmptySearches(built)
	for range 3 {
		get(h, "/v1/search?q=Zzzz++flights")
	}
	get(h, "/search?q=zzzz+flights")
	for range 3 {
		get(h, "/search?q=qqqq%E2%80%AE")
	}
	get(h, "/v1/search?q=zzzz+secret")
	for range 4 { // none of these counts
		get(h, "/v1/search?q=speech+to+text")
		get(h, "/v1/search?q=speech+to+text&page=9")
		get(h, "/v1/search?q=xxxx&network=BSE")
		get(h, "/v1/search?max_price_usd=0")
		get(h, "/search")
	}
	code, got := report()
	want := `{"since":"2026-11-20T23:45:01.000Z","searches":[{"text":"zzzz flights","count":4},{"text":"qqqq","count":3}],` +
		`"others":1}` + "\n"
	if diff := cmp.Diff(want, got); code != http.StatusOK || diff != "" {
		t.Errorf("%d (-want +got):\n%s", code, diff)
	}
}

// TestEmptySearchesAreBounded checks that any number of texts takes bounded memory.
func TestEmptySearchesAreBounded(t *testing.T) {
	t.Parallel()
	e := NewEmptySearches(built)
	for range minEmpty {
		for i := range 2 * maxEmpty {
			e.add(fmt.Sprint("text ", i))
		}
	}
	if r := e.report(); len(r.Searches) != maxEmpty || r.Others != minEmpty*maxEmpty {
		t.Errorf("%d texts and %d others, want %d and %d", len(r.Searches), r.Others, maxEmpty, minEmpty*maxEmpty)
	}
}
