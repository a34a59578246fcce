package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// chunkSize is what is asked for at once while a zip is opened: its directory lies in one piece at its end.
const chunkSize = 64 * blockSize

// remoteZip opens a zip in a store. Two requests open a small one: its size, and its end with the directory in it.
func remoteZip(b *blocks, name string) (*ZipFile, error) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	obj, err := b.store.Stat(ctx, name)
	if err != nil {
		return nil, unreachable(err)
	}
	r := &remote{blocks: b, obj: obj, opening: map[int64][]byte{}}
	z, err := OpenZip(r, obj.Size)
	if err != nil {
		return nil, fmt.Errorf("%s in %s: %w", name, b.store, err)
	}
	r.opened()
	return &ZipFile{z, io.NopCloser(nil)}, nil
}

// unreachable takes a deadline that we set for what it is.
func unreachable(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnreachable) {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return err
}

// remote reads an object by ranges: while its zip is opened in large chunks of its own, then through the blocks that all
// share.
type remote struct {
	blocks *blocks
	obj    Object

	mu      sync.Mutex
	opening map[int64][]byte // nil once it is open
}

// ReadAt implements io.ReaderAt.
func (r *remote) ReadAt(p []byte, off int64) (n int, err error) {
	r.mu.Lock()
	if r.opening == nil {
		r.mu.Unlock()
		return r.blocks.readAt(r.obj, p, off)
	}
	defer r.mu.Unlock()
	for n < len(p) {
		if off < 0 || off >= r.obj.Size {
			return n, io.EOF
		}
		chunk, err := r.chunk(off / chunkSize)
		if err != nil {
			return n, err
		}
		copied := copy(p[n:], chunk[off%chunkSize:])
		n, off = n+copied, off+int64(copied)
	}
	return n, nil
}

func (r *remote) chunk(i int64) ([]byte, error) {
	if data, ok := r.opening[i]; ok {
		return data, nil
	}
	data, err := fetchRange(r.blocks.store, r.obj, i*chunkSize, min(chunkSize, r.obj.Size-i*chunkSize))
	if err == nil {
		r.opening[i] = data
	}
	return data, err
}

// opened goes over to blocks. Chunks of a small zip are kept: then all of it is in memory, and a store that is away is
// missed by nobody. Of a large one they are mostly its directory, which nobody reads again.
func (r *remote) opened() {
	r.mu.Lock()
	defer r.mu.Unlock()
	chunks := r.opening
	r.opening = nil
	warm := int64(r.blocks.limit) * blockSize / 4
	if r.obj.Size > warm {
		return
	}
	for i, data := range chunks {
		r.blocks.put(r.obj, i*chunkSize, data)
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
