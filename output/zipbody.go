package output

import (
	"bytes"
	"crypto/sha256"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/flate"
)

// body is contents as they lie in a zip, for every member that has them. It does not change once ready is closed.
type body struct {
	sum      Sum
	crc      uint32
	size     int // bytes of the contents
	packed   []byte
	deflated bool // packed is raw deflate, else the contents themselves
	copied   bool // from the previous zip
	err      error
	ready    chan struct{}
	kept     bool // among bodies.order
}

// bodies finds contents that were packed lately: a fourth of a directory's bytes stand under a second name, mostly the next,
// a list without parameters and the same list with those that it is answered by.
type bodies struct {
	mu    sync.Mutex
	bySum map[Sum]*body
	order []*body // that are written, the oldest first
	bytes int     // packed, of these
}

// of answers the body of data: one that is there or on its way, else the one that pack makes.
func (s *bodies) of(data []byte, pack func(*body)) *body {
	sum := Sum(sha256.Sum256(data))
	if len(data) < storeBelow {
		b := &body{sum: sum}
		pack(b)
		return b
	}
	s.mu.Lock()
	b, known := s.bySum[sum]
	if !known {
		b = &body{sum: sum, ready: make(chan struct{})}
		s.bySum[sum] = b
	}
	s.mu.Unlock()
	if known {
		<-b.ready // whoever makes it is at work
		return b
	}
	pack(b)
	close(b.ready)
	return b
}

// written notes that a member with this body is in the zip, and forgets what was written long ago.
func (s *bodies) written(b *body) {
	if b.ready == nil || b.kept {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.kept = true
	s.order = append(s.order, b)
	for s.bytes += len(b.packed); s.bytes > remembered; {
		old := s.order[0]
		s.order[0] = nil
		s.order = s.order[1:]
		s.bytes -= len(old.packed)
		delete(s.bySum, old.sum)
	}
}

// pack makes the body: the previous zip's where the contents are the same, else a new one. It keeps nothing of data.
func (b *body) pack(name string, data []byte, opts *ZipOptions) {
	b.crc, b.size = crc32.ChecksumIEEE(data), len(data)
	if len(data) < storeBelow {
		b.packed = bytes.Clone(data)
		return
	}
	if b.copyFrom(opts, name, data) {
		return
	}
	d := deflaters.Get().(*deflater)
	defer deflaters.Put(d)
	var deflated []byte
	if deflated, b.err = d.deflate(data); b.err != nil {
		return
	}
	if b.deflated = len(deflated) < len(data); !b.deflated {
		deflated = data
	}
	b.packed = bytes.Clone(deflated)
}

// copyFrom takes the body out of an earlier zip. Unless that is known to be as it was written the body is decoded and
// compared, which costs a fifth of compressing, so that damage on disk never spreads from one snapshot to the next.
func (b *body) copyFrom(opts *ZipOptions, name string, data []byte) bool {
	if opts.Previous == nil {
		return false
	}
	old, ok := opts.Previous.Lookup(name)
	if !ok || old.Sum != b.sum || !old.deflated {
		return false
	}
	var packed []byte
	var err error
	if opts.Sealed {
		packed, err = old.raw()
	} else {
		packed, err = old.deflateOf(data)
	}
	if err != nil {
		return false
	}
	b.packed, b.deflated, b.copied = packed, true, true
	return true
}

// deflater is a compressor with the buffer that it fills; both are used again.
type deflater struct {
	w *flate.Writer
	b bytes.Buffer
}

var deflaters = sync.Pool{New: func() any {
	d := &deflater{}
	var err error
	if d.w, err = flate.NewWriter(&d.b, DeflateLevel); err != nil {
		panic(err) // the level is a constant
	}
	return d
}}

func (d *deflater) reset() {
	d.b.Reset()
	d.w.Reset(&d.b)
}

// deflate compresses data into the buffer.
func (d *deflater) deflate(data []byte) ([]byte, error) {
	d.reset()
	if _, err := d.w.Write(data); err != nil {
		return nil, err
	}
	if err := d.w.Close(); err != nil {
		return nil, err
	}
	return d.b.Bytes(), nil
}
