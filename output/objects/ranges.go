package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"tollbook/output/archive"
)

// chunkSize is what is asked for at once while a zip is opened: its directory lies in one piece at its end.
const chunkSize = 64 * blockSize

// remoteZip opens a zip in a store. Two requests open a small one: its size, and its end with the directory in it.
func OpenZip(b *Blocks, name string) (*archive.ZipFile, error) {
	ctx, cancel := context.WithTimeout(context.Background(), FetchTime)
	defer cancel()
	obj, err := b.store.Stat(ctx, name)
	if err != nil {
		return nil, Unreachable(err)
	}
	r := &remote{blocks: b, obj: obj, opening: map[int64]*chunk{}}
	z, err := archive.OpenZip(r, obj.Size)
	r.opened() // waits for what is on its way
	if err != nil {
		return nil, fmt.Errorf("%s in %s: %w", name, b.store, err)
	}
	return archive.NewZipFile(z, io.NopCloser(nil)), nil
}

// unreachable takes a deadline that we set for what it is.
func Unreachable(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, archive.ErrUnreachable) {
		return fmt.Errorf("%w: %w", archive.ErrUnreachable, err)
	}
	return err
}

// chunksAhead is how many chunks are asked for before they are wanted: a directory is read from its beginning to its
// end.
const chunksAhead = 3

// remote reads an object by ranges: while its zip is opened, by one goroutine, in large chunks of its own, then through
// the blocks that all share.
type remote struct {
	blocks *Blocks
	obj    Object

	mu      sync.Mutex
	opening map[int64]*chunk // nil once it is open
}

// chunk is a piece of an object on its way; data and err are there when ready is closed.
type chunk struct {
	ready chan struct{}
	data  []byte
	err   error
}

// ReadAt implements io.ReaderAt.
func (r *remote) ReadAt(p []byte, off int64) (n int, err error) {
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
	r.ask(first, min(last, (off+int64(len(p))-1)/chunkSize+chunksAhead))
	for n < len(p) && off < r.obj.Size {
		c := r.opening[off/chunkSize]
		if <-c.ready; c.err != nil {
			return n, c.err
		}
		copied := copy(p[n:], c.data[off%chunkSize:])
		n, off = n+copied, off+int64(copied)
	}
	if !r.isWarm() {
		for i := range r.opening { // what was read is not read again, but for the end
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

// ask asks for chunks side by side. It needs mu.
func (r *remote) ask(first, last int64) {
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

// isWarm says whether all of the object is kept in memory.
func (r *remote) isWarm() bool { return r.obj.Size <= int64(r.blocks.limit)*blockSize/4 }

// opened goes over to blocks. Chunks of a small zip are kept: then all of it is in memory, and a store that is away is
// missed by nobody. Of a large one they are mostly its directory, which nobody reads again.
func (r *remote) opened() {
	r.mu.Lock()
	defer r.mu.Unlock()
	chunks := r.opening
	r.opening = nil
	for i, c := range chunks {
		if <-c.ready; c.err == nil && r.isWarm() {
			r.blocks.put(r.obj, i*chunkSize, c.data)
		}
	}
	if !r.isWarm() {
		return
	}
	go func() { // the rest, as long as it can be had: an error here is met again by who needs the bytes
		buf := make([]byte, chunkSize)
		for at := int64(0); at < r.obj.Size; at += chunkSize {
			if _, err := r.blocks.readAt(r.obj, buf, at); err != nil && err != io.EOF {
				return
			}
		}
	}()
}
