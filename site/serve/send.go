package serve

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"tollbook/site"
)

const (
	typeJSON = site.TypeJSON
	typeHTML = site.TypeHTML
)

// contentPolicy holds pages to what this server itself sends.
const contentPolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Header values that never change, ready for http.Header; nobody writes into them.
var (
	headerNosniff = []string{"nosniff"}
	headerAny     = []string{"*"}
	headerVary    = []string{"Accept-Encoding"}
	headerExpose  = []string{"ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, X-Snapshot, X-Snapshot-Warning"}
	headerPinned  = []string{"public, max-age=86400, immutable"}
	headerForever = []string{"public, max-age=31536000, immutable"}
	headerNoStore = []string{"no-store"}
	headerPolicy  = []string{contentPolicy}
	headerGzip    = []string{"gzip"}
	headerStale   = []string{"stale"} // a newer snapshot can't be opened, or not even looked for
)

// headerTypes are the types of all files as header values.
var headerTypes = func() map[string][]string {
	types := map[string][]string{}
	for _, t := range append(slices.Collect(maps.Values(site.ContentTypes())), site.ContentType("")) {
		types[t] = []string{t}
	}
	return types
}()

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

// write sends one form of a body. An error comes before anything was written; what fails later ends the connection short
// of its Content-Length, which no reader takes for whole.
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
	return []string{"public, max-age=" + strconv.FormatInt(age, 10) + ", stale-while-revalidate=30, stale-if-error=86400"}
}
