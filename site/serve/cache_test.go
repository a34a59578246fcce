package serve

import (
	"errors"
	"fmt"
	"testing"
)

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache(100_000)
	size := func(int) int { return 1000 }
	fill := func(from, to int) (created int) {
		for i := from; i < to; i++ {
			v, err := getCached(c, cacheKey{name: fmt.Sprint(i)}, size, func() (int, error) {
				created++
				return i, nil
			})
			if v != i || err != nil {
				t.Fatalf("%d: %d, %v", i, v, err)
			}
		}
		return created
	}
	if created := fill(0, 50); created != 50 {
		t.Errorf("created %d of 50 new", created)
	}
	if created := fill(0, 50); created != 0 {
		t.Errorf("created %d that were cached", created)
	}
	for i := range 500 {
		fill(1000+i, 1001+i)
		fill(0, 1) // used all the time
		if c.bytes > c.limit || len(c.entries) != c.order.Len() || len(c.entries)*(1000+entryBytes) != c.bytes {
			t.Fatalf("%d bytes of %d, %d keys, %d in order", c.bytes, c.limit, len(c.entries), c.order.Len())
		}
	}
	if created := fill(0, 2); created != 1 {
		t.Errorf("created %d, want the one that was not used", created)
	}
}

func TestCacheLeavesOut(t *testing.T) {
	t.Parallel()
	c := newCache(entryPart * 1000)
	fault := errors.New("fault")
	for range 2 {
		if _, err := getCached(c, cacheKey{name: "a"}, func(int) int { return 1 },
			func() (int, error) { return 0, fault }); !errors.Is(err, fault) {
			t.Errorf("got %v", err)
		}
		if v, err := getCached(c, cacheKey{name: "b"}, func(int) int { return 1001 },
			func() (int, error) { return 7, nil }); v != 7 || err != nil {
			t.Errorf("got %d, %v", v, err)
		}
	}
	if c.bytes != 0 || len(c.entries) != 0 {
		t.Errorf("%d bytes, %d keys: errors and what is too large are not kept", c.bytes, len(c.entries))
	}
}

// TestPageIsCachedOnSecondRequest checks that a page is cached from its second request on. A page that is requested
// once leaves the cache to the rows.
func TestPageIsCachedOnSecondRequest(t *testing.T) {
	t.Parallel()
	h := handlerOf(t, publish(t, newWorld(t, 120).files), t.Output()).(*handler)
	bodies := func() (n int) {
		h.cache.mu.Lock()
		defer h.cache.mu.Unlock()
		for _, e := range h.cache.entries {
			if _, ok := e.Value.(*entry).value.(*body); ok {
				n++
			}
		}
		return n
	}
	for i, target := range []string{"/v1/services?per_page=30&page=2", "/v1/services/service-0001"} {
		for repeats, want := range []int{i, i + 1, i + 1} {
			got := get(h, target)
			if n := bodies(); n != want || got.Code != 200 {
				t.Errorf("%s, requested %d times before: %d cached, want %d; status %d", target, repeats, n, want,
					got.Code)
			}
		}
	}
}
