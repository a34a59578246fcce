package objects

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"tollbook/output/archive"
)

// Of what is read out of objects by ranges.
const (
	blockSize  = 64 << 10 // bytes; blocks are aligned
	runBlocks  = 64       // that lie side by side are asked for at once
	fetchTries = 3        // of a range whose bytes break off; requests that get no answer are made again below
	FetchTime  = 30 * time.Second
)

// blocks keeps pieces of objects of one store in memory, up to a number, for all who read. Who wants a block that is
// on its way waits for it: no block is asked for twice at a time. Errors are not kept.
type Blocks struct {
	store Store
	limit int // blocks

	mu    sync.Mutex
	byKey map[blockKey]*block
	order *list.List // of *block that are there, the last used first
}

type blockKey struct {
	name, etag string
	n          int64
}

// block is one piece; data and err are set before ready is closed, and never after.
type block struct {
	key   blockKey
	ready chan struct{}
	data  []byte
	err   error
	at    *list.Element // nil until it is there
}

func NewBlocks(store Store, limit int64) *Blocks {
	return &Blocks{store: store, limit: max(2*runBlocks, int(limit/blockSize)), byKey: map[blockKey]*block{},
		order: list.New()}
}

// readAt fills p from an object. Every request carries the object's ETag: an object that was replaced is an error that
// wraps ErrCondition, never bytes of both.
func (b *Blocks) readAt(obj Object, p []byte, off int64) (int, error) {
	if off < 0 || off >= obj.Size {
		return 0, io.EOF
	}
	want := min(int64(len(p)), obj.Size-off)
	read := 0
	for int64(read) < want {
		n := (off + int64(read)) / blockSize
		last := (off + want - 1) / blockSize
		for _, k := range b.take(obj, n, min(last, n+runBlocks-1)) {
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

// take answers blocks first to last, those that are there and those that are on their way; what is neither it asks for.
func (b *Blocks) take(obj Object, first, last int64) []*block {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]*block, 0, last-first+1)
	var run []*block // side by side, to ask for
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

// fetch asks for blocks that lie side by side.
func (b *Blocks) fetch(obj Object, run []*block) {
	from := run[0].key.n * blockSize
	data, err := fetchRange(b.store, obj, from, min(int64(len(run))*blockSize, obj.Size-from))
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, k := range run {
		if k.err = err; err == nil {
			part := data[i*blockSize : min((i+1)*blockSize, len(data))]
			k.data = append(make([]byte, 0, len(part)), part...) // else one block would keep its run in memory
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

// put keeps what was read otherwise: data begins at a block's beginning.
func (b *Blocks) put(obj Object, from int64, data []byte) {
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

// fetchRange reads a range whole.
func fetchRange(s Store, obj Object, from, length int64) (data []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), FetchTime)
	defer cancel()
	data = make([]byte, length)
	for range fetchTries {
		var body io.ReadCloser
		if _, body, err = s.Get(ctx, obj.Name, GetOptions{Offset: from, Length: length,
			IfMatch: obj.ETag}); err != nil {
			break
		}
		_, err = io.ReadFull(body, data)
		body.Close()
		if err == nil {
			return data, nil
		}
		err = fmt.Errorf("read %s: %w: %w", obj.Name, archive.ErrUnreachable, err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", archive.ErrUnreachable, err)
	}
	return nil, err
}
