package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/invisible"
	"tollbook/site/routes"
)

const (
	maxInMemory = 1 << 20 // maximum size of a file in memory, in bytes; larger files are streamed
	gzipAbove   = 1 << 10 // minimum size for compression, in bytes; smaller responses gain nothing
	tagBytes    = 16      // bytes of the SHA-256 in an ETag
)

// body is the content of a response, plain or compressed, with the header values of both forms.
type body struct {
	plain  []byte          // nil if gzip is set
	gzip   []byte          // nil if compression does not make it smaller
	length int             // length of the plain form, even if plain is nil
	member *archive.Member // a large file, which is streamed; plain and gzip are nil

	plainTag, gzipTag   []string // ETags of both forms
	plainSize, gzipSize []string // Content-Length of both forms, for a body in memory

	memory sharedBody

	counting sync.Once // protects total and totalErr
	total    int       // number of rows of the list that this is a page of
	totalErr error
}

// setTags sets the header values of a body, ETags from its checksum and its lengths, and what it takes of memory.
func (b *body) setTags(sum archive.Sum) *body {
	digest := hex.EncodeToString(sum[:tagBytes])
	b.plainTag, b.gzipTag = []string{`"` + digest + `"`}, []string{`"` + digest + `-gz"`}
	b.setSizes()
	return b
}

// setSizes sets the lengths of a body, and what it takes of memory.
func (b *body) setSizes() {
	b.memory.size = int64(b.size())
	b.plainSize, b.gzipSize = []string{strconv.Itoa(b.length)}, []string{strconv.Itoa(len(b.gzip))}
}

func (b *body) size() int { return len(b.plain) + len(b.gzip) }

// tag returns the ETag of one form.
func (b *body) tag(gzipped bool) []string {
	if gzipped {
		return b.gzipTag
	}
	return b.plainTag
}

func (b *body) canGzip() bool { return b.gzip != nil || b.member != nil && b.member.IsDeflated() }

// file returns a file of the tree, checked against its checksum. A file that is compressed in the tree is sent
// compressed.
func (h *handler) file(s *slot, m archive.Member) (*body, error) {
	if m.Size > maxInMemory {
		return h.largeFile(m)
	}
	return h.makeBody(s, cacheKey{sum: m.Sum}, func() (*body, error) {
		c, err := m.Load()
		if err != nil {
			return nil, err
		}
		if c.Deflate == nil {
			return newBody(m.Sum, c.Plain)
		}
		return (&body{gzip: c.Gzip(), length: len(c.Plain)}).setTags(m.Sum), nil
	})
}

// largeFile checks a large file once. Later requests send it without checking it again.
func (h *handler) largeFile(m archive.Member) (*body, error) {
	nothing := func(bool) int { return 0 }
	_, err := getCached(h.cache, cacheKey{sum: m.Sum, name: "whole"}, nothing, func() (bool, error) {
		return true, m.CopyTo(io.Discard)
	})
	return (&body{member: &m}).setTags(m.Sum), err
}

// cutResponse is a response that was cut out of files, without provenance.
type cutResponse struct {
	data  []byte
	total *int // number of rows of the whole list, nil if it is not known
}

// newPage returns a list assembled from rows that were cut out of files; total is the number of rows of the whole list.
func newPage(f encode.Framing, rows [][]byte, meta any, total int) (cutResponse, error) {
	m, err := json.Marshal(meta)
	if err != nil {
		return cutResponse{}, err
	}
	return cutResponse{f.List(rows, invisible.EscapeJSON(m)), &total}, nil
}

// body returns the body of a response to a request for route r, with the provenance of the snapshot with this index.
func (c cutResponse) body(r *routes.Route, index *routes.Index) (*body, error) {
	if p := index.Provenance; p != nil && r.HasProvenance() {
		provenance, err := encode.Row(p)
		if err != nil {
			return nil, err
		}
		c.data = encode.AppendProvenance(c.data, provenance)
	}
	b, err := newCutBody(c.data)
	if err == nil && c.total != nil {
		b.counting.Do(func() { b.total = *c.total })
	}
	return b, err
}

// newCutBody returns a body of bytes that are not a whole file. Its ETag is derived from their own checksum.
func newCutBody(data []byte) (*body, error) { return newBody(sha256.Sum256(data), data) }

var gzipWriters = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return z
}}

// newBody returns a body of plain bytes, and compresses them if that makes them smaller.
func newBody(sum archive.Sum, data []byte) (*body, error) {
	b := &body{plain: data, length: len(data)}
	if len(data) <= gzipAbove {
		return b.setTags(sum), nil
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
	return b.setTags(sum), nil
}

var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// gunzip returns the plain form of a body in memory.
func (b *body) gunzip() ([]byte, error) {
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

// unpackMemory is about the memory of a gzip reader or of a copy from the store, in bytes.
const unpackMemory = 48 << 10

// sendMemory returns the memory that sending one form takes beside the body itself, in bytes.
func (b *body) sendMemory(gzipped bool) int64 {
	if b.member != nil || !gzipped && b.gzip != nil {
		return unpackMemory
	}
	return 0
}

// unpack writes the plain form of a gzip stream. It needs little memory, however slow w is.
func unpack(w io.Writer, in io.Reader) error {
	z := gzipReaders.Get().(*gzip.Reader)
	defer gzipReaders.Put(z)
	if err := z.Reset(in); err != nil {
		return fmt.Errorf("gunzip: %w", err)
	}
	_, err := io.Copy(w, z)
	return err
}

// writeTo writes one form of a body in memory.
func (b *body) writeTo(w io.Writer, gzipped bool) error {
	if !gzipped && b.gzip != nil {
		return unpack(w, bytes.NewReader(b.gzip))
	}
	data := b.plain
	if gzipped {
		data = b.gzip
	}
	_, err := w.Write(data)
	return err
}

// open opens a large file as a gzip stream and returns its length in bytes. Its tree must store it deflated.
func (b *body) open() (io.ReadCloser, int64, error) {
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

// rows returns the number of rows of the list that b is a page of, from the meta of the page. It is computed once.
func (b *body) rows(f encode.Framing) (int, error) {
	b.counting.Do(func() { b.total, b.totalErr = b.countRows(f) })
	return b.total, b.totalErr
}

func (b *body) countRows(f encode.Framing) (int, error) {
	read := b.gunzip
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

// send sends b with its caching headers, or a 304. It returns an error only before anything was written.
func (h *handler) send(w *responseWriter, r *http.Request, v *snapshotInfo, pinned bool, key string,
	b *body) error {
	accepted := r.Header.Values("Accept-Encoding")
	gzipped := b.canGzip() && acceptsGzip(accepted)
	header := w.Header()
	if b.gzip != nil && path.Ext(key) == ".json" && prefersZstd(accepted) {
		zstd, err := h.zstdBody(&w.slot, b)
		if err != nil {
			return err
		}
		b, gzipped = zstd, false
		header["Content-Encoding"] = headerZstd
	}
	tag := b.tag(gzipped)
	header["Etag"] = tag
	header["Last-Modified"] = v.lastModified
	header["Cache-Control"] = headerPinned
	if !pinned {
		header["Cache-Control"] = h.cacheControl(key, v)
	}
	if notModified(r.Header, tag[0], v.modified()) {
		header.Del("Content-Encoding")
		addLicense(header, routes.ContentType(key))
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	err := h.write(w, r, http.StatusOK, routes.ContentType(key), gzipped, b)
	if err != nil {
		header.Del("Content-Encoding") // the response to the error is not compressed with zstd
	}
	return err
}

// sendError sends an error page.
func (h *handler) sendError(w http.ResponseWriter, r *http.Request, code int, b *body) {
	w.Header().Set("Cache-Control", "public, max-age=10")
	gzipped := b.canGzip() && acceptsGzip(r.Header.Values("Accept-Encoding"))
	if err := h.write(w, r, code, typeHTML, gzipped, b); err != nil {
		h.fail(w, r, err)
	}
}

// write sends one form of a body. It returns an error only before anything was written. After a later error the
// connection closes short of its Content-Length, so that no client takes the response for complete.
func (h *handler) write(w http.ResponseWriter, r *http.Request, code int, mime string, gzipped bool, b *body) error {
	if r.Method != http.MethodHead {
		held, err := holdMemory(r, &b.memory, b.sendMemory(gzipped))
		if err != nil {
			return err
		}
		defer held.release()
	}
	if b.member != nil {
		return h.stream(w, r, code, mime, gzipped, b)
	}
	header := w.Header()
	setType(header, mime, gzipped)
	header["Content-Length"] = b.plainSize
	if gzipped {
		header["Content-Length"] = b.gzipSize
	}
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_ = b.writeTo(w, gzipped) // the client is gone
	}
	return nil
}

// stream sends a large file without loading it into memory.
func (h *handler) stream(w http.ResponseWriter, r *http.Request, code int, mime string, gzipped bool, b *body) error {
	var in io.ReadCloser
	size := b.member.Size
	if b.member.IsDeflated() {
		var packed int64
		var err error
		if in, packed, err = b.open(); err != nil {
			return err
		}
		defer in.Close()
		if gzipped {
			size = packed
		}
	}
	setType(w.Header(), mime, gzipped)
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	w.WriteHeader(code)
	// Errors of the client need no handling, and the file was checked before.
	switch {
	case r.Method == http.MethodHead:
	case gzipped:
		_, _ = io.Copy(w, in)
	case in != nil:
		_ = unpack(w, in)
	default:
		_ = b.member.CopyTo(w)
	}
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

// writeBody sends bytes, or only the header for HEAD. It ignores errors, since the client is gone.
func writeBody(w http.ResponseWriter, r *http.Request, code int, data []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	writeSized(w, r, code, data)
}

// writeSized is writeBody for a header that already has a Content-Length.
func writeSized(w http.ResponseWriter, r *http.Request, code int, data []byte) {
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_, _ = w.Write(data)
	}
}

// cacheControl returns a value that lets caches store a response until the next build is due, and files with a hash in
// their name forever.
func (h *handler) cacheControl(key string, v *snapshotInfo) []string {
	if routes.IsHashed(key) {
		return headerForever
	}
	age := max(1, int64(v.next.Sub(h.now())/time.Second))
	const stale = ", stale-while-revalidate=30, stale-if-error=86400"
	return []string{"public, max-age=" + strconv.FormatInt(age, 10) + stale}
}
