package serve

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/invisible"
	"tollbook/site/routes"
	"tollbook/site/serve/inbox"
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

// sentBytes returns the length of one form of a body in memory.
func (b *body) sentBytes(gzipped bool) int {
	if gzipped {
		return len(b.gzip)
	}
	return b.length
}

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
	if r.Method != http.MethodHead {
		joinWrites(r, b.sentBytes(gzipped))
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

// acceptsGzip parses Accept-Encoding (RFC 9110, section 12.5.3). It reports whether gzip, by name or by *, has a weight
// above zero that is not lower than that of identity.
func acceptsGzip(values []string) bool {
	gzip, identity, _ := weights(values)
	return gzip > 0 && gzip >= identity
}

// prefersZstd reports whether zstd, by name, has a weight above that of gzip, and not below that of identity. With
// equal weights a client gets gzip, the form in which files are stored.
func prefersZstd(values []string) bool {
	gzip, identity, zstd := weights(values)
	return zstd > max(gzip, 0) && zstd >= identity
}

// weights returns the weights of encodings in Accept-Encoding. It is -1 for an encoding that is not named; * stands for
// gzip alone.
func weights(values []string) (gzip, identity, zstd float64) {
	gzip, identity, zstd = -1, -1, -1
	other := 0.0
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			name, params, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "gzip", "x-gzip":
				gzip = max(gzip, weight(params))
			case "zstd":
				zstd = max(zstd, weight(params))
			case "identity":
				identity = weight(params)
			case "*":
				other = weight(params)
			}
		}
	}
	if gzip < 0 {
		gzip = other
	}
	return gzip, identity, zstd
}

// weight returns the q parameter of an item: 1 if absent, 0 if invalid.
func weight(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, ok := strings.Cut(strings.TrimSpace(param), "=")
		if !ok || !strings.EqualFold(name, "q") {
			continue
		}
		q, err := strconv.ParseFloat(value, 64)
		if err != nil || !(q >= 0 && q <= 1) {
			return 0
		}
		return q
	}
	return 1
}

// notModified reports whether the client already has the form with this ETag. If-Modified-Since counts only without
// If-None-Match (RFC 9110, section 13.1.3). It must be exactly the Last-Modified of the snapshot: after a rollback a
// client may have a newer response, which is another. A zero time matches nothing.
func notModified(header http.Header, tag string, built time.Time) bool {
	if tags := header.Values("If-None-Match"); len(tags) > 0 {
		return matches(tags, tag)
	}
	text := header.Get("If-Modified-Since")
	if text == "" || built.IsZero() {
		return false
	}
	since, err := http.ParseTime(text)
	return err == nil && built.Truncate(time.Second).Equal(since)
}

// matches compares a list of ETags with the weak comparison of If-None-Match; "*" matches any.
func matches(values []string, tag string) bool {
	for _, list := range values {
		for {
			list = strings.TrimLeft(list, " \t,")
			if list == "" {
				break
			}
			if list[0] == '*' {
				return true
			}
			list = strings.TrimPrefix(list, "W/")
			if list == "" || list[0] != '"' {
				break // not a list of ETags
			}
			end := strings.IndexByte(list[1:], '"')
			if end < 0 {
				break
			}
			if list[:end+2] == tag {
				return true
			}
			list = list[end+2:]
		}
	}
	return false
}

// methodError reports a method that a path does not support.
type methodError struct {
	allowed string
	note    string // appended to the message
}

func (e *methodError) Error() string { return "method not allowed; use " + e.allowed + e.note }

var errMethod = &methodError{allowed: allowed}

// errorOf is the only function that converts an error to a status and a response.
func errorOf(err error) site.Error {
	var param *routes.ParamError
	var unknown *routes.UnknownError
	var unready *notReadyError
	var method *methodError
	if e, ok := inbox.ErrorOf(err); ok {
		return e
	}
	switch {
	case errors.As(err, &param):
		return site.Error{
			Code: http.StatusBadRequest, Type: site.ErrorInvalidParameter, Message: err.Error(),
			Fields: []site.ErrorField{{Field: param.Param, Message: param.Message}},
		}
	case errors.As(err, &unknown):
		return site.Error{Code: http.StatusBadRequest, Type: site.ErrorInvalidParameter, Message: err.Error(),
			Fields: unknown.Fields()}
	case errors.Is(err, site.ErrNotFound):
		return site.Error{Code: http.StatusNotFound, Type: site.ErrorNotFound,
			Message: "nothing was found at this path"}
	case errors.As(err, &method):
		return site.Error{Code: http.StatusMethodNotAllowed, Type: site.ErrorMethodNotAllowed, Message: method.Error()}
	case errors.Is(err, output.ErrNotRetained):
		return site.Error{Code: http.StatusNotFound, Type: site.ErrorNotFound,
			Message: "this snapshot is not available; omit the parameter snapshot to read the newest one"}
	case errors.Is(err, errRateLimited):
		return site.Error{Code: http.StatusTooManyRequests, Type: site.ErrorRateLimited,
			Message: "too many requests from this client; wait for the number of seconds in Retry-After"}
	case errors.Is(err, errDownloads):
		return site.Error{Code: http.StatusServiceUnavailable, Type: site.ErrorUnavailable,
			Message: "too many downloads are in progress; try again later"}
	case errors.Is(err, errConnections):
		return site.Error{Code: http.StatusTooManyRequests, Type: site.ErrorRateLimited,
			Message: "too many connections from this client; close some, or wait a second"}
	case errors.Is(err, errSending):
		return site.Error{Code: http.StatusServiceUnavailable, Type: site.ErrorUnavailable,
			Message: "too many responses are being sent; try again later"}
	case errors.Is(err, errRange):
		return site.Error{Code: http.StatusRequestedRangeNotSatisfiable, Type: site.ErrorBadRequest,
			Message: "the range is outside the file"}
	case errors.Is(err, output.ErrEmpty):
		return site.Error{Code: http.StatusServiceUnavailable, Type: site.ErrorUnavailable,
			Message: "nothing is published yet"}
	case errors.Is(err, archive.ErrUnreachable):
		return site.Error{Code: http.StatusServiceUnavailable, Type: site.ErrorUnavailable,
			Message: "the store can't be reached; try again later"}
	case errors.Is(err, errOlder):
		return site.Error{Code: http.StatusServiceUnavailable, Type: site.ErrorUnavailable, Message: "this snapshot was " +
			"written by an older program, without what this answer needs; the next build will have it"}
	case errors.Is(err, archive.ErrNewer):
		return site.Error{Code: http.StatusServiceUnavailable, Type: site.ErrorUnavailable,
			Message: "this snapshot was written by a newer program, and this server does not read its form"}
	case errors.As(err, &unready):
		return site.Error{Code: http.StatusServiceUnavailable, Type: site.ErrorUnavailable,
			Message: "no snapshot can be opened"}
	default:
		return site.Error{Code: http.StatusInternalServerError, Type: site.ErrorInternal, Message: "internal error"}
	}
}

// fail sends an error response. The cause of a 500 is logged under an id that the response contains.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := errorOf(err)
	header := w.Header()
	for _, name := range []string{"Etag", "Last-Modified", "Link"} {
		header.Del(name) // set for a file that could not be sent
	}
	if header.Get("Cache-Control") != headerNoStore[0] { // set for responses that concern one client
		header.Set("Cache-Control", "public, max-age=10")
	}
	h.setRetryAfter(header, err)
	switch e.Code {
	case http.StatusTooManyRequests, http.StatusRequestedRangeNotSatisfiable:
		header["Cache-Control"] = headerNoStore // concerns one client
	case http.StatusInternalServerError:
		id := newRequestID()
		header.Set("Cache-Control", "no-store")
		header.Set("X-Request-Id", id)
		h.logger.Error("request failed", "request_id", id, "method", r.Method, "url", r.URL.RequestURI(), "err", err)
	case http.StatusServiceUnavailable:
		header.Set("Cache-Control", "no-store")
		header.Set("Retry-After", "5")
		if errors.Is(err, errOlder) || errors.Is(err, archive.ErrNewer) {
			h.logger.Warn("request not answered; build again with this version, or serve with the one that built",
				"method", r.Method, "url", r.URL.RequestURI(), "err", err)
		}
		if errors.Is(err, site.ErrNoDatabase) {
			h.logger.Warn("the database does not answer; request not handled",
				"method", r.Method, "url", r.URL.RequestURI(), "err", err)
		}
	}
	if e.Code == http.StatusInternalServerError && h.sendFailurePage(w, r) {
		return
	}
	data, err := json.Marshal(site.ErrorBodyAt(r.URL.Path, e))
	if err != nil {
		panic(err) // cannot fail: strings and a number
	}
	header.Set("Content-Type", typeJSON)
	writeBody(w, r, e.Code, append(invisible.EscapeJSON(data), '\n'))
}

// sendFailurePage sends the current snapshot's page for internal errors. It returns false and sends nothing for API
// requests, if there is no such page, or if that page is what failed.
func (h *handler) sendFailurePage(w http.ResponseWriter, r *http.Request) bool {
	if isAPI(r.URL.Path) || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	snap, err := h.source.Current()
	if err != nil {
		return false
	}
	defer snap.Release()
	page, ok := h.errorPage(snap, failurePage)
	if !ok {
		return false
	}
	gzipped := page.canGzip() && acceptsGzip(r.Header.Values("Accept-Encoding"))
	return h.write(w, r, http.StatusInternalServerError, typeHTML, gzipped, page) == nil
}

// setRetryAfter sets Retry-After if the error is a submission over a limit.
func (h *handler) setRetryAfter(header http.Header, err error) {
	var over *site.SubmissionLimitError
	if errors.As(err, &over) {
		h.metrics.countLimited()
		header.Set("Retry-After", strconv.FormatInt(ceilSeconds(over.RetryAfter), 10))
	}
}

func newRequestID() string {
	var b [8]byte
	rand.Read(b[:]) // never returns an error
	return hex.EncodeToString(b[:])
}

// zstdWindow limits the memory of a client that unpacks a response, in bytes.
const zstdWindow = 1 << 20

// zstdEncoder compresses whole responses; EncodeAll may be called concurrently.
var zstdEncoder = func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2),
		zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
}()

// zstdBody returns a body in memory compressed with zstd as its plain form. It is stored from the second request on, as
// other responses are.
func (h *handler) zstdBody(s *slot, b *body) (*body, error) {
	return h.makeBody(s, cacheKey{name: "zstd " + b.plainTag[0]}, func() (*body, error) {
		data, err := b.gunzip()
		if err != nil {
			return nil, errors.Join(errors.New("compress with zstd"), err)
		}
		z := &body{plain: bytes.Clone(zstdEncoder.EncodeAll(data, nil))}
		z.length = len(z.plain)
		z.setSizes()
		digest := b.plainTag[0]
		z.plainTag = []string{digest[:len(digest)-1] + `-zst"`}
		return z, nil
	})
}
