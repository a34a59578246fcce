package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"tollbook/output/archive"
	"tollbook/site"
)

const (
	maxInMemory = 1 << 20 // bytes of a file; larger ones are sent piece by piece
	gzipAbove   = 1 << 10 // bytes of what is compressed here; smaller answers gain nothing
	tagBytes    = 16      // of the sha256, in an ETag
)

// body is the content of an answer in the forms in which it may be sent, with what its header says of each form.
type body struct {
	plain  []byte          // nil where gzip is kept
	gzip   []byte          // nil where it does not pay
	length int             // of plain, kept or not
	member *archive.Member // a large file, sent piece by piece; plain and gzip are nil

	plainTag, gzipTag   []string // the strong validators of both forms, as header values
	plainSize, gzipSize []string // lengths of what is in memory, too

	counting sync.Once // of total
	total    int       // rows of the list that this is a page of
	totalErr error
}

// named sets what a header says of a body: the tags that its sum makes, and its lengths.
func (b *body) named(sum archive.Sum) *body {
	digest := hex.EncodeToString(sum[:tagBytes])
	b.plainTag, b.gzipTag = []string{`"` + digest + `"`}, []string{`"` + digest + `-gz"`}
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

func (b *body) canGzip() bool { return b.gzip != nil || b.member != nil && b.member.IsDeflated() }

// file is a file of the tree, checked against its sum. A file that the tree keeps deflated is sent so.
func (h *handler) file(m archive.Member) (*body, error) {
	if m.Size > maxInMemory {
		return h.largeFile(m)
	}
	return cachedAnswer(h.cache, cacheKey{sum: m.Sum}, func() (*body, error) {
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

// largeFile checks a large file once; later requests send it without reading it twice.
func (h *handler) largeFile(m archive.Member) (*body, error) {
	nothing := func(bool) int { return 0 }
	_, err := cached(h.cache, cacheKey{sum: m.Sum, name: "whole"}, nothing, func() (bool, error) {
		return true, m.CopyTo(io.Discard)
	})
	return (&body{member: &m}).named(m.Sum), err
}

// newPage is a list assembled of rows that were cut out of files; total is the number of rows of the whole list.
func newPage(f site.Framing, rows [][]byte, meta any, total int) (*body, error) {
	m, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	b, err := newCut(f.List(rows, m))
	if err != nil {
		return nil, err
	}
	b.counting.Do(func() { b.total = total })
	return b, nil
}

// newCut is a body of bytes that no file has as a whole: its tag is made of their own sum.
func newCut(data []byte) (*body, error) { return newBody(sha256.Sum256(data), data) }

var gzipWriters = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return z
}}

// newBody is a body of bytes that nobody has compressed yet.
func newBody(sum archive.Sum, data []byte) (*body, error) {
	b := &body{plain: data, length: len(data)}
	if len(data) <= gzipAbove {
		return b.named(sum), nil
	}
	z := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(z)
	var buf bytes.Buffer
	z.Reset(&buf)
	if _, err := z.Write(data); err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	if buf.Len() < len(data) {
		b.plain, b.gzip = nil, bytes.Clone(buf.Bytes())
	}
	return b.named(sum), nil
}

var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// unzipped is the plain form of a body in memory.
func (b *body) unzipped() ([]byte, error) {
	if b.gzip == nil {
		return b.plain, nil
	}
	z := gzipReaders.Get().(*gzip.Reader)
	defer gzipReaders.Put(z)
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

// form is one form of a body in memory, and its length.
func (b *body) form(gzipped bool) (data []byte, size []string, err error) {
	if gzipped {
		return b.gzip, b.gzipSize, nil
	}
	data, err = b.unzipped()
	return data, b.plainSize, err
}

// open opens one form of a large file and returns the number of its bytes.
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
	head, tail := archive.GzipHead(), archive.GzipTail(crc, b.member.Size)
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), r, bytes.NewReader(tail)), r}, int64(len(head)+len(tail)) + size, nil
}

// rows is the number of rows of the list that b is a page of, as its meta says. It is read once.
func (b *body) rows(f site.Framing) (int, error) {
	b.counting.Do(func() { b.total, b.totalErr = b.countRows(f) })
	return b.total, b.totalErr
}

func (b *body) countRows(f site.Framing) (int, error) {
	read := b.unzipped
	if b.member != nil {
		read = b.member.Read
	}
	data, err := read()
	if err != nil {
		return 0, err
	}
	meta, err := f.FindMeta(data)
	if err != nil {
		return 0, err
	}
	var count site.TotalMeta
	if err := json.Unmarshal(meta, &count); err != nil {
		return 0, fmt.Errorf("parse meta: %w", err)
	}
	return int(count.Total), nil
}

// send answers a request with b. An error comes before anything was written.
func (h *handler) send(w http.ResponseWriter, r *http.Request, v *view, pinned bool, key string, b *body) error {
	gzipped := b.canGzip() && acceptsGzip(r.Header.Values("Accept-Encoding"))
	header := w.Header()
	tag := b.tag(gzipped)
	header["Etag"] = tag
	header["Last-Modified"] = v.lastModified
	header["Cache-Control"] = headerPinned
	if !pinned {
		header["Cache-Control"] = h.cacheControl(key, v)
	}
	if notModified(r.Header, tag[0], v.built) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return h.write(w, r, http.StatusOK, site.ContentType(key), gzipped, b)
}

// sendError answers with a page that says what went wrong.
func (h *handler) sendError(w http.ResponseWriter, r *http.Request, code int, b *body) {
	w.Header().Set("Cache-Control", "public, max-age=10")
	gzipped := b.canGzip() && acceptsGzip(r.Header.Values("Accept-Encoding"))
	if err := h.write(w, r, code, typeHTML, gzipped, b); err != nil {
		h.fail(w, r, err)
	}
}

// write sends one form of a body. An error comes before anything was written; what fails later ends the connection
// short of its Content-Length, which no reader takes for whole.
func (h *handler) write(w http.ResponseWriter, r *http.Request, code int, mime string, gzipped bool, b *body) error {
	if b.member != nil {
		return h.stream(w, r, code, mime, gzipped, b)
	}
	data, size, err := b.form(gzipped)
	if err != nil {
		return err
	}
	header := w.Header()
	setType(header, mime, gzipped)
	header["Content-Length"] = size
	writeSized(w, r, code, data)
	return nil
}

// stream sends a large file piece by piece.
func (h *handler) stream(w http.ResponseWriter, r *http.Request, code int, mime string, gzipped bool, b *body) error {
	in, size, err := b.open(gzipped)
	if err != nil {
		return err
	}
	defer in.Close()
	setType(w.Header(), mime, gzipped)
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	w.WriteHeader(code)
	if r.Method == http.MethodHead {
		return nil
	}
	// An error of the reader is its own business; one of the file was looked for just before.
	_, _ = io.Copy(w, in)
	return nil
}

func setType(header http.Header, mime string, gzipped bool) {
	header["Content-Type"] = headerTypes[mime]
	if mime == typeHTML {
		header["Content-Security-Policy"] = headerPolicy
	}
	if gzipped {
		header["Content-Encoding"] = headerGzip
	}
}

// writeBody sends what is in memory; HEAD gets the same header alone. Whoever went away is not told about it.
func writeBody(w http.ResponseWriter, r *http.Request, code int, data []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	writeSized(w, r, code, data)
}

// writeSized is writeBody where the header has the length.
func writeSized(w http.ResponseWriter, r *http.Request, code int, data []byte) {
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_, _ = w.Write(data)
	}
}

// cacheControl lets caches keep an answer until the next build is due, and files with a hash in their name forever.
func (h *handler) cacheControl(key string, v *view) []string {
	if site.IsHashed(key) {
		return headerForever
	}
	age := max(1, int64(v.next.Sub(h.now())/time.Second))
	const stale = ", stale-while-revalidate=30, stale-if-error=86400"
	return []string{"public, max-age=" + strconv.FormatInt(age, 10) + stale}
}
