package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"tollbook/output/archive"
)

// chunkSize is the number of bytes of one request while a zip is opened. Its directory is one piece at its end.
const chunkSize = 64 * blockSize

// OpenZip opens a zip in a store. A small zip takes two requests: its size, and its end with the directory.
func OpenZip(b *BlockCache, name string) (*archive.ZipFile, error) {
	ctx, cancel := context.WithTimeout(context.Background(), FetchTime)
	defer cancel()
	obj, err := b.store.Stat(ctx, name)
	if err != nil {
		return nil, Unreachable(err)
	}
	r := &rangeReader{blocks: b, obj: obj, opening: map[int64]*chunk{}}
	z, err := archive.OpenZip(r, obj.Size)
	r.finishOpening() // waits for pending requests
	if err != nil {
		return nil, fmt.Errorf("%s in %s: %w", name, b.store, err)
	}
	return archive.NewZipFile(z, io.NopCloser(nil)), nil
}

// Unreachable marks a deadline that this package has set as an unreachable store.
func Unreachable(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, archive.ErrUnreachable) {
		return fmt.Errorf("%w: %w", archive.ErrUnreachable, err)
	}
	return err
}

// readAhead is the number of chunks that are requested in advance: a directory is read from its beginning to its end.
const readAhead = 3

// rangeReader reads an object by ranges. While its zip is opened, one goroutine reads large chunks; after that, all
// readers share the block cache.
type rangeReader struct {
	blocks *BlockCache
	obj    Object

	mu      sync.Mutex
	opening map[int64]*chunk // nil after the zip was opened
}

// chunk is a requested piece of an object; data and err are set before ready is closed.
type chunk struct {
	ready chan struct{}
	data  []byte
	err   error
}

// ReadAt implements io.ReaderAt.
func (r *rangeReader) ReadAt(p []byte, off int64) (n int, err error) {
	r.mu.Lock()
	if r.opening == nil {
		r.mu.Unlock()
		return r.blocks.readAt(r.obj, p, off)
	}
	defer r.mu.Unlock()
	if off < 0 || off >= r.obj.Size {
		return 0, io.EOF
	}
	first, last := off/chunkSize, (r.obj.Size-1)/chunkSize
	r.request(first, min(last, (off+int64(len(p))-1)/chunkSize+readAhead))
	for n < len(p) && off < r.obj.Size {
		c := r.opening[off/chunkSize]
		if <-c.ready; c.err != nil {
			return n, c.err
		}
		copied := copy(p[n:], c.data[off%chunkSize:])
		n, off = n+copied, off+int64(copied)
	}
	if !r.fitsCache() {
		// Drop the chunks before this one, which are not read again. Keep the end of the zip.
		for i := range r.opening {
			if i < first && i < last {
				<-r.opening[i].ready
				delete(r.opening, i)
			}
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// OpenRange opens a range of the object by one request, which leaves the block cache to other readers.
func (r *rangeReader) OpenRange(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	_, body, err := r.blocks.store.Get(ctx, r.obj.Name,
		GetOptions{Offset: offset, Length: length, IfMatch: r.obj.ETag})
	return body, err
}

// request starts to read adjacent chunks. The caller holds mu.
func (r *rangeReader) request(first, last int64) {
	for i := first; i <= last; i++ {
		if r.opening[i] != nil {
			continue
		}
		c := &chunk{ready: make(chan struct{})}
		r.opening[i] = c
		go func() {
			defer close(c.ready)
			c.data, c.err = fetchRange(r.blocks.store, r.obj, i*chunkSize, min(chunkSize, r.obj.Size-i*chunkSize))
		}()
	}
}

// fitsCache reports whether the whole object is kept in memory.
func (r *rangeReader) fitsCache() bool { return r.obj.Size <= int64(r.blocks.limit)*blockSize/4 }

// finishOpening switches to the block cache. The chunks of a small zip go to the cache: then the whole zip is in
// memory, and readers do not notice that the store is unreachable. The chunks of a large zip are mostly its directory,
// which is not read again.
func (r *rangeReader) finishOpening() {
	r.mu.Lock()
	defer r.mu.Unlock()
	chunks := r.opening
	r.opening = nil
	for i, c := range chunks {
		if <-c.ready; c.err == nil && r.fitsCache() {
			r.blocks.put(r.obj, i*chunkSize, c.data)
		}
	}
	if !r.fitsCache() {
		return
	}
	// Read the rest if possible. A reader that needs the bytes gets the same error again.
	go func() {
		buf := make([]byte, chunkSize)
		for at := int64(0); at < r.obj.Size; at += chunkSize {
			if _, err := r.blocks.readAt(r.obj, buf, at); err != nil && err != io.EOF {
				return
			}
		}
	}()
}
