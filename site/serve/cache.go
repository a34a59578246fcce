package serve

import (
	"container/list"
	"context"
	"hash/maphash"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"tollbook/output/archive"
)

// cache stores finished responses, and the rows and indexes that they are cut from, up to a number of bytes. An entry
// never changes: its key contains the checksum of a file, or the id of a snapshot or pack, which never change either.
// So entries of unchanged files stay valid when a new snapshot replaces the old one.
type cache struct {
	mu      sync.Mutex
	limit   int
	bytes   int
	order   *list.List // of *entry, most recently used first
	entries map[cacheKey]*list.Element

	seed      maphash.Seed
	requested [1 << 14]uint64 // hashes of the keys of recent requests
}

// cacheKey identifies a file by its checksum, or something cut out of files by its snapshot or pack and its name in it.
type cacheKey struct {
	sum      archive.Sum
	snapshot string
	name     string
}

type entry struct {
	key   cacheKey
	value any
	bytes int
}

func newCache(limit int) *cache {
	return &cache{limit: limit, order: list.New(), entries: map[cacheKey]*list.Element{}, seed: maphash.MakeSeed()}
}

const (
	cacheBytes = 96 << 20 // limit of one handler's cache
	entryBytes = 300      // overhead of an entry
	entryPart  = 2        // the largest entry is 1/entryPart of the limit: a search shard of 20,000 services fits
)

// getCached returns the value of a key and computes it if necessary. Two simultaneous misses compute it twice. Errors
// are not stored.
func getCached[T any](c *cache, key cacheKey, size func(T) int, make func() (T, error)) (T, error) {
	if v, ok := c.get(key); ok {
		return v.(T), nil
	}
	v, err := make()
	if err == nil {
		c.put(key, v, size(v)+entryBytes)
	}
	return v, err
}

// getCachedBody is getCached for finished responses. A response is stored from its second request on: most of the many
// possible responses are requested once, and would evict the rows that all responses are cut from.
func getCachedBody(c *cache, key cacheKey, make func() (*body, error)) (*body, error) {
	if v, ok := c.get(key); ok {
		return v.(*body), nil
	}
	b, err := make()
	if err == nil && c.requestedBefore(key) {
		c.put(key, b, b.size()+entryBytes)
	}
	return b, err
}

// requestedBefore records a request for a key and reports whether it was recorded before. A new key overwrites another
// one in the same slot. Two keys with the same hash are confused; then one response is stored at its first request.
func (c *cache) requestedBefore(key cacheKey) bool {
	hash := maphash.Comparable(c.seed, key)
	c.mu.Lock()
	defer c.mu.Unlock()
	slot := &c.requested[hash%uint64(len(c.requested))]
	before := *slot == hash
	*slot = hash
	return before
}

func (c *cache) get(key cacheKey) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry).value, true
}

// put stores a value and replaces an older one. It ignores values that are larger than 1/entryPart of the cache.
func (c *cache) put(key cacheKey, value any, bytes int) {
	if bytes > c.limit/entryPart {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.entries[key]; ok {
		c.drop(old)
	}
	c.entries[key] = c.order.PushFront(&entry{key, value, bytes})
	c.bytes += bytes
	for c.bytes > c.limit {
		c.drop(c.order.Back())
	}
}

// drop removes an entry. The caller must hold mu.
func (c *cache) drop(at *list.Element) {
	e := c.order.Remove(at).(*entry)
	delete(c.entries, e.key)
	c.bytes -= e.bytes
}

// usage returns the bytes that are stored, and their limit.
func (c *cache) usage() (used, limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes, c.limit
}

// maxMaking is how many responses a handler makes at the same time: reads from files, cuts out of them and compresses.
// Each takes several times the memory of a file, which holdMemory counts only once the response is made. More at
// once would make none of them earlier, because making is work for the processor.
const maxMaking = 16

// makingPatience is how long a request waits until it may make its response.
const makingPatience = 10 * time.Second

// slot is the right of a request to make its response. The request keeps it until holdMemory has counted the
// response, so that responses that wait for memory are limited, too. A nil slot limits nothing.
type slot struct {
	of   *semaphore.Weighted
	ctx  context.Context
	held bool
}

// take waits for a slot unless the request has one. It returns errSending after makingPatience.
func (s *slot) take() error {
	if s == nil || s.held {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, makingPatience)
	defer cancel()
	if s.of.Acquire(ctx, 1) != nil {
		return errSending
	}
	s.held = true
	return nil
}

// release gives the slot back.
func (s *slot) release() {
	if s.held {
		s.of.Release(1)
		s.held = false
	}
}

// makeBody is getCachedBody for a request with a slot.
func (h *handler) makeBody(s *slot, key cacheKey, make func() (*body, error)) (*body, error) {
	return getCachedBody(h.cache, key, func() (*body, error) {
		if err := s.take(); err != nil {
			return nil, err
		}
		return make()
	})
}
