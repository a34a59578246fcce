package serve

import "testing"

// What is cut is kept once it was asked for again, and not before: each window anew leaves the cache to the rows.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	h := handlerOf(t, publish(t, newWorld(t, 120).files), t.Output()).(*handler)
	bodies := func() (n int) {
		h.cache.mu.Lock()
		defer h.cache.mu.Unlock()
		for _, e := range h.cache.byKey {
			if b, ok := (*e.Value.(*entry).value.Load()).(*body); ok && b.kept.snapshot != "" {
				n++
			}
		}
		return n
	}
	for asked, want := range []int{0, 1, 1} {
		got := get(h, "/v1/services?per_page=30&page=2")
		if n := bodies(); n != want || got.Code != 200 {
			t.Errorf("asked %d times before: %d kept, want %d; status %d", asked, n, want, got.Code)
		}
	}
}
