package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tollbook/site/routes"
)

// TestSlots checks that at most maxMaking responses are made at the same time, that a response in the cache needs no
// slot, and that every request gives its slot back.
func TestSlots(t *testing.T) {
	t.Parallel()
	world := newWorld(t, 120)
	h := handlerOf(t, publish(t, world.files), t.Output()).(*handler)
	get := func(ctx context.Context, target string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil))
		return w.Code
	}
	const cached = "/v1/services?per_page=7"
	for i := range 3 * maxMaking {
		for _, target := range []string{cached, fmt.Sprintf("/v1/services?per_page=9&page=%d", i%13+1), "/nowhere",
			"/v1/services/service-0001", "/v1/checks?limit=3"} {
			if code := get(t.Context(), target); code != http.StatusOK && target != "/nowhere" {
				t.Fatalf("GET %s: %d", target, code)
			}
		}
	}
	if !h.making.TryAcquire(maxMaking) {
		t.Fatal("a slot is in use after all requests")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if code := get(ctx, "/v1/services?per_page=8"); code != http.StatusServiceUnavailable {
		t.Errorf("without a slot: %d, want 503", code)
	}
	if code := get(t.Context(), cached); code != http.StatusOK {
		t.Errorf("in the cache, without a slot: %d, want 200", code)
	}
	answered := make(chan int)
	go func() { answered <- get(t.Context(), "/v1/services?per_page=8") }()
	h.making.Release(1)
	if code := <-answered; code != http.StatusOK {
		t.Errorf("with the slot that became free: %d, want 200", code)
	}
}

// TestTotalOfLargeFile checks that the total of a list in a large file, which is streamed, is read once: otherwise each
// reader of the list would have all of it in memory.
func TestTotalOfLargeFile(t *testing.T) {
	t.Parallel()
	world := newWorld(t, 120)
	q := parse(t, "/v1/changes", "")
	row := `{"slug":"` + strings.Repeat("x", 2*maxInMemory) + `"}`
	world.files[q.Key()] = []byte(`{"data":[` + "\n" + row + "\n" + `],"meta":{"total":60,"page":1,"per_page":25}}` + "\n")
	folder := publish(t, world.files)
	h := handlerOf(t, folder, t.Output()).(*handler)
	for range 2 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/changes", nil))
		if w.Code != http.StatusOK || w.Header().Get("Link") == "" {
			t.Fatalf("%d %s", w.Code, w.Header())
		}
	}
	snap, err := h.source.Current()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	m, _ := snap.Lookup(routes.Query{Route: routes.ByName("changes"), Bare: true}.Key())
	if total, ok := h.cache.get(cacheKey{sum: m.Sum, name: "total"}); !ok || total != 60 {
		t.Errorf("the total in the cache is %v, %t; want 60", total, ok)
	}
}
