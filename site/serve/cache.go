package serve

import (
	"container/list"
	"hash/maphash"
	"sync"

	"tollbook/output/archive"
)

// cache keeps finished answers, and the rows and indexes that they are cut from, up to a number of bytes. An entry
// never changes, since its key names bytes by their sum, or by a snapshot or pack, which never change either; so
// unchanged files stay when a snapshot replaces another.
type cache struct {
	mu    sync.Mutex
	limit int
	bytes int
	order *list.List // of *entry, the last used first
	byKey map[cacheKey]*list.Element

	seed  maphash.Seed
	asked [1 << 14]uint64 // hashes of keys of answers that were asked for lately
}

// cacheKey names a file by its sum, and something cut out of files by its snapshot or pack and its name there.
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
	return &cache{limit: limit, order: list.New(), byKey: map[cacheKey]*list.Element{}, seed: maphash.MakeSeed()}
}

const (
	cacheBytes = 96 << 20 // bound of what one handler keeps
	entryBytes = 300      // of an entry beside its value
	entryPart  = 2        // the largest entry has this part of the limit: a search shard of 20,000 services fits
)

// cached returns the value of a key, made if need be. Two requests that miss at once both make it; errors are not kept.
func cached[T any](c *cache, key cacheKey, size func(T) int, make func() (T, error)) (T, error) {
	if v, ok := c.get(key); ok {
		return v.(T), nil
	}
	v, err := make()
	if err == nil {
		c.put(key, v, size(v)+entryBytes)
	}
	return v, err
}

// cachedAnswer is cached for finished answers. They are kept from the second request on: most of the many answers that
// readers can ask for are wanted once, and would drive out the rows that all are cut from.
func cachedAnswer(c *cache, key cacheKey, make func() (*body, error)) (*body, error) {
	if v, ok := c.get(key); ok {
		return v.(*body), nil
	}
	b, err := make()
	if err == nil && c.askedBefore(key) {
		c.put(key, b, b.size()+entryBytes)
	}
	return b, err
}

// askedBefore notes that a key is asked for, and returns whether it was before. Where two keys share a slot the later
// one stays. Should two keys have the same hash, one is taken for asked before; nothing else depends on it.
func (c *cache) askedBefore(key cacheKey) bool {
	hash := maphash.Comparable(c.seed, key)
	c.mu.Lock()
	defer c.mu.Unlock()
	slot := &c.asked[hash%uint64(len(c.asked))]
	before := *slot == hash
	*slot = hash
	return before
}

func (c *cache) get(key cacheKey) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry).value, true
}

// put keeps a value in place of an earlier one, unless it alone would take too large a part of the cache.
func (c *cache) put(key cacheKey, value any, bytes int) {
	if bytes > c.limit/entryPart {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.byKey[key]; ok {
		c.drop(old)
	}
	c.byKey[key] = c.order.PushFront(&entry{key, value, bytes})
	c.bytes += bytes
	for c.bytes > c.limit {
		c.drop(c.order.Back())
	}
}

// drop forgets an entry. It needs mu.
func (c *cache) drop(at *list.Element) {
	e := c.order.Remove(at).(*entry)
	delete(c.byKey, e.key)
	c.bytes -= e.bytes
}

// usage returns the bytes that are kept, and how many may be.
func (c *cache) usage() (used, limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes, c.limit
}
