package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
)

// What of a publication is handed out beside the files of its snapshots: the pointer, and zips as they lie there.
const checkpointPath = "/checkpoint.json"

// Of downloads. A line that takes less than slowest bytes a second on the whole, or nothing for a while, is given up.
const (
	stalled       = 30 * time.Second
	slowest       = 32 << 10
	downloadTries = 3 // of a body that breaks off, in a row
)

var (
	errDownloads = errors.New("too many downloads")
	errRange     = errors.New("no such range")

	headerPointer   = []string{"public, max-age=5"}
	headerForGood   = []string{"public, max-age=31536000, immutable"}
	headerZip       = []string{"application/zip"}
	headerExposeZip = []string{"Accept-Ranges, Content-Length, Content-Range, ETag, Retry-After, X-Request-Id"}
)

// download answers one of the two below; what is not there is answered as any path of which that is so.
func (h *handler) download(w *reply, r *http.Request, answer func(*reply, *http.Request) error) {
	err := answer(w, r)
	switch {
	case errors.Is(err, site.ErrNotFound):
		h.get(w, r)
	case errors.Is(err, errRateLimited):
		h.metrics.countLimited()
		w.Header().Set("Retry-After", "5")
		h.fail(w, r, err)
	case err != nil:
		h.fail(w, r, err)
	}
}

// tellCheckpoint answers with the checkpoint of the snapshot that is served; there is none of a tree that nothing
// names. It has no Last-Modified: a rollback goes back in time.
func (h *handler) tellCheckpoint(w *reply, r *http.Request) error {
	snap, err := h.source.Current()
	if err != nil {
		return err
	}
	defer snap.Release()
	if snap.Checkpoint.Generation == 0 {
		return site.ErrNotFound
	}
	data := snap.Checkpoint.Encode()
	b, err := newBody(sha256.Sum256(data), data)
	if err != nil {
		return err
	}
	w.route = routeDownload
	header := w.Header()
	header["X-Snapshot"] = []string{snap.ID}
	if h.source.Err() != nil {
		header["X-Snapshot-Warning"] = headerStale
	}
	header["Vary"] = headerVary
	header["Cache-Control"] = headerPointer
	gzipped := b.canGzip() && acceptsGzip(r.Header.Values("Accept-Encoding"))
	tag := b.tag(gzipped)
	header["Etag"] = tag
	if matches(r.Header.Values("If-None-Match"), tag[0]) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return h.write(w, r, http.StatusOK, typeJSON, gzipped, b)
}

// sendZip answers with a zip or a range of it. Requests for several ranges get the whole. An error comes before
// anything was written; what fails later ends the connection short of its Content-Length.
func (h *handler) sendZip(w *reply, r *http.Request) error {
	leave, err := h.gate.enter(r.Context(), clientOf(clientAddr(r, h.trusted)))
	if err != nil {
		w.route = routeDownload
		return err
	}
	defer leave()
	// The server's time for a request is one for requests: at its end this one would be cancelled.
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("set read deadline: %w", err)
	}
	d, err := h.source.Download(r.Context(), r.URL.Path[1:])
	if errors.Is(err, fs.ErrNotExist) {
		return site.ErrNotFound
	}
	if err != nil {
		return err
	}
	w.route = routeDownload
	header := w.Header()
	header["Access-Control-Expose-Headers"] = headerExposeZip
	header["Content-Type"] = headerZip
	header["Cache-Control"] = headerForGood
	if tag := d.ETag; tag != "" && !strings.ContainsFunc(tag, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || c == '"'
	}) {
		header["Etag"] = []string{`"` + tag + `"`}
	}
	if strings.Contains(r.Header.Get("Range"), ",") {
		r.Header.Del("Range")
	}
	from := &content{ctx: r.Context(), of: d}
	defer from.close()
	to := &transfer{ResponseWriter: w, control: control, from: from, pace: h.pace, began: time.Now()}
	http.ServeContent(to, r, "", d.Modified, from)
	if to.refused {
		return errRange
	}
	if from.err != nil && r.Context().Err() == nil {
		h.logger.Error("download broken off", "url", r.URL.RequestURI(), "err", from.err)
	}
	return nil
}

// transfer sends what http.ServeContent reads. It tells the reader how much that will be, so that no more is asked of a
// store than is sent, and gives the line up when it is too slow.
type transfer struct {
	http.ResponseWriter
	control *http.ResponseController
	from    *content
	pace    *pace
	began   time.Time
	sent    int64
	refused bool // no such range: nothing was written
}

// WriteHeader implements http.ResponseWriter.
func (t *transfer) WriteHeader(code int) {
	if code == http.StatusRequestedRangeNotSatisfiable {
		t.refused = true
		return
	}
	if length, err := strconv.ParseInt(t.Header().Get("Content-Length"), 10, 64); err == nil {
		t.from.left = length
	}
	if code == http.StatusPreconditionFailed {
		t.Header()["Cache-Control"] = headerNoStore
	}
	t.ResponseWriter.WriteHeader(code)
}

func (t *transfer) Write(p []byte) (int, error) {
	if t.refused {
		return len(p), nil
	}
	came := time.Now()
	if err := t.pace.wait(t.from.ctx, len(p)); err != nil {
		return 0, err
	}
	now := time.Now()
	t.began = t.began.Add(now.Sub(came)) // that was not the line's doing
	t.sent += int64(len(p))
	end := t.began.Add(stalled + time.Duration(t.sent/slowest)*time.Second)
	if soon := now.Add(stalled); soon.Before(end) {
		end = soon
	}
	if err := t.control.SetWriteDeadline(end); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return t.ResponseWriter.Write(p)
}

// content is a download as http.ServeContent wants it. Nothing is opened before it is read.
type content struct {
	ctx  context.Context
	of   *output.Download
	at   int64
	left int64 // bytes that will be wanted
	body io.ReadCloser
	err  error
}

// Seek implements io.Seeker.
func (c *content) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.at
	case io.SeekEnd:
		offset += c.of.Size
	}
	c.close()
	c.at = offset
	return c.at, nil
}

// Read implements io.Reader. A body that breaks off is opened again where it did.
func (c *content) Read(p []byte) (n int, err error) {
	if c.left <= 0 || c.at >= c.of.Size {
		return 0, io.EOF
	}
	var last error
	for range downloadTries {
		if c.body == nil {
			c.body, err = c.of.Open(c.ctx, c.at, min(c.left, c.of.Size-c.at))
		}
		if err == nil {
			n, err = c.body.Read(p)
		}
		if n > 0 {
			c.at, c.left = c.at+int64(n), c.left-int64(n)
			return n, nil
		}
		if err == nil {
			continue
		}
		c.close()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		} else if !errors.Is(err, archive.ErrUnreachable) {
			break
		}
		last, err = err, nil
	}
	c.err = cmp.Or(err, last)
	return 0, c.err
}

func (c *content) close() {
	if c.body != nil {
		c.body.Close()
		c.body = nil
	}
}
