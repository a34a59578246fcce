package serve

import (
	"container/list"
	"sync"
	"sync/atomic"

	"tollbook/output"
)

// cache keeps what was read last, up to a number of bytes. What is in it never changes, since a key names bytes by
// their sum, or by a snapshot or pack, which never change either; so unchanged files stay when a snapshot replaces another.
type cache struct {
	mu    sync.Mutex
	limit int
	bytes int
	order *list.List // of *entry, the last used first
	byKey map[cacheKey]*list.Element
	rows  sharedRows // of what is sharing in it, counted too
}

// cacheKey names a file by its sum, something cut by its snapshot or pack and its name there, or what an address names by
// its snapshot and itself.
type cacheKey struct {
	sum      output.Sum
	snapshot string
	name     string
	address
}

// address is the part of a request that says what it asks for.
type address struct{ path, rawPath, query string }

type entry struct {
	key   cacheKey
	value atomic.Pointer[any] // nil once it was dropped
	bytes int
	used  atomic.Bool // by who did not move it to the front
}

// use is the value for who has kept its entry, which needs no lock. It is false once the cache has dropped it.
func (e *entry) use() (any, bool) {
	v := e.value.Load()
	if v == nil {
		return nil, false
	}
	if !e.used.Load() {
		e.used.Store(true)
	}
	return *v, true
}

func newCache(limit int) *cache {
	return &cache{limit: limit, order: list.New(), byKey: map[cacheKey]*list.Element{}, rows: sharedRows{bySum: map[output.Sum]*sharedRow{}}}
}

// entryBytes is what an entry costs beside its value.
const entryBytes = 300

// cached answers the value of a key, made if need be. Two who miss at once both make it; errors are not kept.
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

func (c *cache) get(key cacheKey) (any, bool) {
	e, ok := c.entry(key)
	if !ok {
		return nil, false
	}
	v := e.value.Load()
	if v == nil {
		return nil, false
	}
	return *v, true
}

// entry is that of a key.
func (c *cache) entry(key cacheKey) (*entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry), true
}

// usage is the bytes that are kept, and how many may be.
func (c *cache) usage() (used, limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes + c.rows.size(), c.limit
}

// put keeps a value in place of an earlier one, unless it alone would take a sixteenth of the cache.
func (c *cache) put(key cacheKey, value any, bytes int) {
	if bytes > c.limit/16 {
		c.release(value)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.byKey[key]; ok {
		c.drop(old)
	}
	e := &entry{key: key, bytes: bytes}
	e.value.Store(&value)
	c.byKey[key] = c.order.PushFront(e)
	c.bytes += bytes
	for c.bytes+c.rows.size() > c.limit && len(c.byKey) > 0 {
		last := c.order.Back()
		if last.Value.(*entry).used.Swap(false) {
			c.order.MoveToFront(last)
			continue
		}
		c.drop(last)
	}
}

// drop forgets an entry. It needs mu.
func (c *cache) drop(at *list.Element) {
	e := c.order.Remove(at).(*entry)
	delete(c.byKey, e.key)
	c.bytes -= e.bytes
	c.release(*e.value.Swap(nil))
}

// release lets go of what a value that is not kept shares with others.
func (c *cache) release(value any) {
	if v, ok := value.(sharing); ok {
		c.rows.release(v.shared())
	}
}
