package serve

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/klauspost/compress/gzip"

	"tollbook/output"
)

const (
	maxInMemory = 1 << 20 // bytes of a file; larger ones are sent piece by piece
	gzipAbove   = 1 << 10 // bytes of what is deflated here; smaller ones gain nothing
	tagBytes    = 16      // of the sha256, in an ETag
)

// body is the content of an answer in the forms in which it may be sent.
type body struct {
	plain  []byte         // nil where gzip is kept
	gzip   []byte         // nil where it does not pay
	length int            // of plain, kept or not
	member *output.Member // a large file, sent piece by piece; plain and gzip are nil

	plainTag, gzipTag   []string // the strong validators of both forms, as header values
	plainSize, gzipSize []string // the lengths of what is in memory, too
	kept                cacheKey // where the cache has it; zero where it can't be asked for

	part *part // of its list, nil for others

	counting sync.Once // of total
	total    int       // rows of the list of which this is a part
	totalErr error
}

// named gives a body what its header says of it: the tags that its sum makes, and its lengths.
func (b *body) named(sum output.Sum) *body {
	b.plainTag = []string{string(appendTag(nil, sum, false))}
	b.gzipTag = []string{string(appendTag(nil, sum, true))}
	b.plainSize, b.gzipSize = []string{strconv.Itoa(b.length)}, []string{strconv.Itoa(len(b.gzip))}
	return b
}

func (b *body) size() int { return len(b.plain) + len(b.gzip) }

// tag is the strong validator of one form.
func (b *body) tag(gzipped bool) []string {
	if gzipped {
		return b.gzipTag
	}
	return b.plainTag
}

// literal is a file of the tree, checked against its sum. One that lies there deflated is sent so.
func (h *handler) literal(m output.Member) (*body, error) {
	if m.Size > maxInMemory {
		return h.large(m)
	}
	return h.body(cacheKey{sum: m.Sum}, func() (*body, error) {
		c, err := m.Load()
		if err != nil {
			return nil, err
		}
		if c.Deflate == nil {
			return newBody(m.Sum, c.Plain)
		}
		return (&body{gzip: c.Gzip(), length: len(c.Plain)}).named(m.Sum), nil
	})
}

// body is one that the cache keeps, made if need be.
func (h *handler) body(key cacheKey, make func() (*body, error)) (*body, error) {
	return cached(h.cache, key, (*body).size, func() (*body, error) {
		b, err := make()
		if err == nil {
			b.kept = key
		}
		return b, err
	})
}

// cut is a body made of parts of files. It is kept from the second time on that it is asked for: of the many that readers can
// ask for most are not, and would drive out the rows that all are made of.
func (h *handler) cut(key cacheKey, make func() (*body, error)) (*body, error) {
	if h.asked.again(key) {
		return h.body(key, make)
	}
	return make()
}

// large checks a large file once; later requests send it without reading it twice.
func (h *handler) large(m output.Member) (*body, error) {
	nothing := func(bool) int { return 0 }
	_, err := cached(h.cache, cacheKey{sum: m.Sum, name: "whole"}, nothing, func() (bool, error) {
		return true, m.CopyTo(io.Discard)
	})
	return (&body{member: &m}).named(m.Sum), err
}

var gzippers = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return z
}}

// newBody is a body of bytes that lie nowhere deflated.
func newBody(sum output.Sum, data []byte) (*body, error) {
	b := &body{plain: data, length: len(data)}
	if len(data) <= gzipAbove {
		return b.named(sum), nil
	}
	z := gzippers.Get().(*gzip.Writer)
	defer gzippers.Put(z)
	var buf bytes.Buffer
	z.Reset(&buf)
	if _, err := z.Write(data); err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	if buf.Len() < len(data) {
		b.plain, b.gzip = nil, buf.Bytes()
	}
	return b.named(sum), nil
}

var gunzippers = sync.Pool{New: func() any { return new(gzip.Reader) }}

// unzipped is the plain form of a body in memory.
func (b *body) unzipped() ([]byte, error) {
	if b.gzip == nil {
		return b.plain, nil
	}
	z := gunzippers.Get().(*gzip.Reader)
	defer gunzippers.Put(z)
	data := make([]byte, b.length)
	err := z.Reset(bytes.NewReader(b.gzip))
	if err == nil {
		_, err = io.ReadFull(z, data)
	}
	if err != nil {
		return nil, fmt.Errorf("gunzip: %w", err)
	}
	return data, nil
}

// form is one of those of a body in memory, and its length.
func (b *body) form(gzipped bool) (data []byte, size []string, err error) {
	if gzipped {
		return b.gzip, b.gzipSize, nil
	}
	data, err = b.unzipped()
	return data, b.plainSize, err
}

// open gives the bytes of one form of a large file and their number.
func (b *body) open(gzipped bool) (io.ReadCloser, int64, error) {
	if !gzipped {
		r, w := io.Pipe()
		go func() { w.CloseWithError(b.member.CopyTo(w)) }()
		return r, b.member.Size, nil
	}
	r, size, crc, err := b.member.Deflated()
	if err != nil {
		return nil, 0, err
	}
	head, tail := output.GzipHead(), output.GzipTail(crc, b.member.Size)
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), r, bytes.NewReader(tail)), r}, int64(len(head)+len(tail)) + size, nil
}
