package objects

import (
	"container/list"
	"context"
	"fmt"
	"io"
	"sync"
	"time"
	"tollbook/output/archive"
)

// Limits of reading objects by ranges.
const (
	blockSize = 64 << 10 // bytes; offsets of blocks are multiples of it
	runBlocks = 64       // adjacent blocks that one request reads
	FetchTime = 30 * time.Second
)

// BlockCache keeps blocks of one store's objects in memory for all readers, up to a number of blocks. A reader waits
// for a block that another one has requested, so no block is requested twice at a time. Errors are not cached.
type BlockCache struct {
	store Store
	limit int // blocks

	mu    sync.Mutex
	byKey map[blockKey]*block
	order *list.List // of *block that were read, the last used first
}

type blockKey struct {
	name, etag string
	n          int64
}

// block is one piece of an object; data and err are set before ready is closed and do not change after it.
type block struct {
	key   blockKey
	ready chan struct{}
	data  []byte
	err   error
	at    *list.Element // nil until the block was read
}

func NewBlockCache(store Store, limit int64) *BlockCache {
	return &BlockCache{store: store, limit: max(2*runBlocks, int(limit/blockSize)), byKey: map[blockKey]*block{},
		order: list.New()}
}

// readAt fills p from an object. Every request carries the object's ETag: for an object that was replaced, it returns
// an error that wraps ErrCondition, never bytes of both versions.
func (b *BlockCache) readAt(obj Object, p []byte, off int64) (int, error) {
	if off < 0 || off >= obj.Size {
		return 0, io.EOF
	}
	want := min(int64(len(p)), obj.Size-off)
	read := 0
	for int64(read) < want {
		n := (off + int64(read)) / blockSize
		last := (off + want - 1) / blockSize
		for _, k := range b.request(obj, n, min(last, n+runBlocks-1)) {
			<-k.ready
			if k.err != nil {
				return read, k.err
			}
			read += copy(p[read:want], k.data[off+int64(read)-k.key.n*blockSize:])
		}
	}
	if read < len(p) {
		return read, io.EOF
	}
	return read, nil
}

// request returns the blocks first to last. It starts to read those that are neither cached nor requested.
func (b *BlockCache) request(obj Object, first, last int64) []*block {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]*block, 0, last-first+1)
	var run []*block // adjacent blocks to read
	flush := func() {
		if len(run) > 0 {
			go b.fetch(obj, run)
		}
		run = nil
	}
	for n := first; n <= last; n++ {
		key := blockKey{obj.Name, obj.ETag, n}
		k, ok := b.byKey[key]
		if ok {
			flush()
			if k.at != nil {
				b.order.MoveToFront(k.at)
			}
		} else {
			k = &block{key: key, ready: make(chan struct{})}
			b.byKey[key] = k
			run = append(run, k)
		}
		out = append(out, k)
	}
	flush()
	return out
}

// fetch reads adjacent blocks by one request.
func (b *BlockCache) fetch(obj Object, run []*block) {
	from := run[0].key.n * blockSize
	data, err := fetchRange(b.store, obj, from, min(int64(len(run))*blockSize, obj.Size-from))
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, k := range run {
		if k.err = err; err == nil {
			part := data[i*blockSize : min((i+1)*blockSize, len(data))]
			k.data = append(make([]byte, 0, len(part)), part...) // a slice of data would keep all of it in memory
			k.at = b.order.PushFront(k)
		} else {
			delete(b.byKey, k.key)
		}
		close(k.ready)
	}
	for b.order.Len() > b.limit {
		k := b.order.Remove(b.order.Back()).(*block)
		delete(b.byKey, k.key)
	}
}

// put adds bytes that were read without the cache; data begins at the beginning of a block.
func (b *BlockCache) put(obj Object, from int64, data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for at := 0; at < len(data) && b.order.Len() < b.limit; at += blockSize {
		key := blockKey{obj.Name, obj.ETag, (from + int64(at)) / blockSize}
		part := data[at:min(at+blockSize, len(data))]
		if _, ok := b.byKey[key]; ok || len(part) < blockSize && from+int64(at+len(part)) != obj.Size {
			continue
		}
		k := &block{key: key, ready: make(chan struct{}), data: append([]byte(nil), part...)}
		close(k.ready)
		k.at = b.order.PushFront(k)
		b.byKey[key] = k
	}
}

// fetchRange reads a whole range.
func fetchRange(s Store, obj Object, from, length int64) (data []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), FetchTime)
	defer cancel()
	data = make([]byte, length)
	err = retryRead(ctx, func() error {
		_, body, err := s.Get(ctx, obj.Name, GetOptions{Offset: from, Length: length, IfMatch: obj.ETag})
		if err != nil {
			return err
		}
		defer body.Close()
		if _, err = io.ReadFull(body, data); err != nil {
			return fmt.Errorf("read %s: %w: %w", obj.Name, archive.ErrUnreachable, err)
		}
		return nil
	})
	if err != nil {
		return nil, Unreachable(err)
	}
	return data, nil
}
