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
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/routes"
)

// checkpointPath is the path of the pointer to the current snapshot. Zips are served at the paths that they have in the
// publication.
const checkpointPath = "/checkpoint.json"

// Limits of slow downloads. A download is aborted if its average is below slowest bytes per second, or if nothing is
// sent for stalled.
const (
	stalled       = 30 * time.Second
	slowest       = 32 << 10
	downloadTries = 3 // consecutive attempts to continue a broken body
)

var errRange = errors.New("range outside the file")

var (
	headerPointer   = []string{"public, max-age=5"}
	headerZip       = []string{"application/zip"}
	headerExposeZip = []string{
		"Accept-Ranges, Content-Length, Content-Range, ETag, Retry-After, X-Request-Id, X-Snapshot"}
)

// download serves a checkpoint or a zip. If there is none, the response is that of any unknown path.
func (h *handler) download(w *responseWriter, r *http.Request, serve func(*responseWriter, *http.Request) error) {
	err := serve(w, r)
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

// sendCheckpoint sends the checkpoint of the current snapshot. A tree without a publication has none. The response has
// no Last-Modified, because a rollback goes back in time.
func (h *handler) sendCheckpoint(w *responseWriter, r *http.Request) error {
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
		addLicense(header, typeJSON)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return h.write(w, r, http.StatusOK, typeJSON, gzipped, b)
}

// sendObject sends a snapshot, a pack or a day of a table. Only erasing a service changes the last two.
func (h *handler) sendObject(w *responseWriter, r *http.Request) error {
	return h.limited(w, r, func(r *http.Request) error {
		d, err := h.source.Download(r.Context(), r.URL.Path[1:])
		if err != nil {
			return err
		}
		w.Header()["Cache-Control"] = headerForever
		return h.sendRange(w, r, d)
	})
}

// isTable reports whether a path is that of a table in a snapshot.
func isTable(path string) bool { return routes.IsTable(strings.TrimPrefix(path, "/")) }

// sendTable sends a table of the current snapshot, or of the one that the request names.
func (h *handler) sendTable(w *responseWriter, r *http.Request) error {
	q, err := routes.ParseRequest(r.URL.EscapedPath(), r.URL.RawQuery)
	if err != nil {
		return err
	}
	return h.limited(w, r, func(r *http.Request) error {
		snap, err := h.open(q.Snapshot)
		if err != nil {
			return err
		}
		defer snap.Release()
		d, err := snap.Download(q.Key())
		if err != nil {
			return err
		}
		v := h.info(snap)
		header := w.Header()
		header["X-Snapshot"] = v.name
		header["Cache-Control"] = headerPinned
		if q.Snapshot == "" {
			header["Cache-Control"] = h.cacheControl(d.Name, v)
			if h.source.Err() != nil {
				header["X-Snapshot-Warning"] = headerStale
			}
		}
		return h.sendRange(w, r, d)
	})
}

// limited calls send when the client may download, and lets the download take as long as it needs. An error that wraps
// fs.ErrNotExist becomes site.ErrNotFound.
func (h *handler) limited(w *responseWriter, r *http.Request, send func(*http.Request) error) error {
	within, leave, err := h.gate.enter(r.Context(), newClientID(clientAddr(r, h.trusted)))
	if err != nil {
		w.route = routeDownload
		return err
	}
	defer leave()
	// The server's read timeout would cancel a long download.
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("set read deadline: %w", err)
	}
	// A write that waits for its client ends when the download must give way.
	defer context.AfterFunc(within, func() { _ = control.SetWriteDeadline(time.Now()) })()
	if err := send(r.WithContext(within)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return site.ErrNotFound
}

// sendRange sends a file or a range of it. Requests for several ranges, or for one of an empty file, get the whole
// file. It returns an error only before anything was written. After a later error the connection closes short of its
// Content-Length.
func (h *handler) sendRange(w *responseWriter, r *http.Request, d *output.Download) error {
	control := http.NewResponseController(w)
	w.route = routeDownload
	header := w.Header()
	header["Access-Control-Expose-Headers"] = headerExposeZip
	header["Content-Type"] = headerZip
	if strings.HasPrefix(d.Name, archive.DataDir+"/") {
		header["Content-Type"] = headerTypes[routes.ContentType(d.Name)]
	}
	if tag := d.ETag; tag != "" && !strings.ContainsFunc(tag, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || c == '"'
	}) {
		header["Etag"] = []string{`"` + tag + `"`}
	}
	if d.Size == 0 || strings.Contains(r.Header.Get("Range"), ",") {
		r.Header.Del("Range")
	}
	from := &downloadReader{ctx: r.Context(), of: d}
	defer from.close()
	to := &transfer{ResponseWriter: w, control: control, from: from, pace: h.pace, began: time.Now()}
	http.ServeContent(to, r, "", d.Modified, from)
	if to.refused {
		return errRange
	}
	if from.err != nil && r.Context().Err() == nil {
		h.logger.Error("download aborted", "url", r.URL.RequestURI(), "err", from.err)
	}
	return nil
}

// transfer is the ResponseWriter for http.ServeContent. It limits what is read from the store to what will be sent, and
// aborts slow connections.
type transfer struct {
	http.ResponseWriter
	control *http.ResponseController
	from    *downloadReader
	pace    *rate.Limiter
	began   time.Time
	sent    int64
	refused bool // the range is outside the file; nothing was written
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
	start := time.Now()
	if err := t.pace.WaitN(t.from.ctx, len(p)); err != nil {
		return 0, err
	}
	now := time.Now()
	t.began = t.began.Add(now.Sub(start)) // waiting for pace does not count as slowness
	t.sent += int64(len(p))
	end := t.began.Add(stalled + time.Duration(t.sent/slowest)*time.Second)
	if soon := now.Add(stalled); soon.Before(end) {
		end = soon
	}
	if err := t.control.SetWriteDeadline(end); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	if err := t.from.ctx.Err(); err != nil { // after the deadline was set, so that limited sets the last one
		return 0, err
	}
	return t.ResponseWriter.Write(p)
}

// downloadReader is the io.ReadSeeker for http.ServeContent. It opens the download when it is first read.
type downloadReader struct {
	ctx  context.Context
	of   *output.Download
	at   int64
	left int64 // bytes that will be read
	body io.ReadCloser
	err  error
}

// Seek implements io.Seeker.
func (c *downloadReader) Seek(offset int64, whence int) (int64, error) {
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

// Read implements io.Reader. It reopens a broken body at the same position.
func (c *downloadReader) Read(p []byte) (n int, err error) {
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

func (c *downloadReader) close() {
	if c.body != nil {
		c.body.Close()
		c.body = nil
	}
}

// Limits of simultaneous downloads, so that they leave room for other requests.
const (
	downloadsAtOnce   = 32
	downloadsByClient = 8
	downloadPatience  = 10 * time.Second
)

var (
	errRateLimited = errors.New("too many requests")  // of one client
	errDownloads   = errors.New("too many downloads") // of all clients
)

// maxDownloads is how many downloads of one client may be in progress or wait.
const maxDownloads = 64

// downloadGate limits the number of simultaneous downloads, in all and by client. Others wait for a while; a free place
// goes to the network that has the fewest. If there is none, the network that has the most gives way to one that has at
// least two less: its newest download ends, which a range request can continue. So a few clients keep out nobody.
type downloadGate struct {
	mu      sync.Mutex
	running []*download // by start
	waiting []*download // by arrival
}

// download is one that is in progress or waits.
type download struct {
	client    clientID
	start     chan struct{} // closed when it may begin
	giveWay   context.CancelFunc
	isLeaving bool
}

// enter waits for a place, which leave releases. The download must end when its context does: then it gives way to
// another client. enter returns errRateLimited if the client has too many downloads in progress, and errDownloads if all
// clients together have.
func (g *downloadGate) enter(ctx context.Context, c clientID) (within context.Context, leave func(), err error) {
	within, giveWay := context.WithCancel(ctx)
	d := &download{client: c, start: make(chan struct{}), giveWay: giveWay}
	g.mu.Lock()
	if ofClient(g.running, c)+ofClient(g.waiting, c) == maxDownloads {
		g.mu.Unlock()
		giveWay()
		return nil, nil, errRateLimited
	}
	g.waiting = append(g.waiting, d)
	g.admit()
	g.mu.Unlock()
	patience := time.NewTimer(downloadPatience)
	defer patience.Stop()
	select {
	case <-d.start:
	case <-ctx.Done():
		err = g.giveUp(d)
	case <-patience.C:
		err = g.giveUp(d)
	}
	if err != nil {
		giveWay()
		return nil, nil, err
	}
	return within, func() { giveWay(); g.leave(d) }, nil
}

// ofClient returns how many downloads of a list are of a client.
func ofClient(list []*download, c clientID) (n int) {
	for _, d := range list {
		if d.client == c {
			n++
		}
	}
	return n
}

// admit starts waiting downloads while there is room, and makes one give way if that is fair. The caller holds mu.
func (g *downloadGate) admit() {
	for {
		clients, networks := map[clientID]int{}, map[clientID]int{} // those that are leaving count for no network
		isLeaving := false
		for _, d := range g.running {
			if clients[d.client]++; d.isLeaving {
				isLeaving = true
			} else {
				networks[d.client.network()]++
			}
		}
		var next *download
		for _, d := range g.waiting {
			if clients[d.client] < downloadsByClient &&
				(next == nil || networks[d.client.network()] < networks[next.client.network()]) {
				next = d
			}
		}
		if next == nil || isLeaving && len(g.running) == downloadsAtOnce {
			return // the end of what is leaving admits the next one
		}
		if len(g.running) == downloadsAtOnce {
			last := g.running[0] // the newest one of the network that has most
			for _, d := range g.running {
				if networks[d.client.network()] >= networks[last.client.network()] {
					last = d
				}
			}
			if networks[last.client.network()] >= networks[next.client.network()]+2 {
				last.isLeaving = true
				last.giveWay()
			}
			return
		}
		g.waiting = remove(g.waiting, next)
		g.running = append(g.running, next)
		close(next.start)
	}
}

// giveUp ends the wait of a download. It returns nil if the download began meanwhile.
func (g *downloadGate) giveUp(d *download) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-d.start:
		return nil
	default:
	}
	err := errDownloads
	if ofClient(g.running, d.client) == downloadsByClient {
		err = errRateLimited
	}
	g.waiting = remove(g.waiting, d)
	return err
}

// leave ends a download that began.
func (g *downloadGate) leave(d *download) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = remove(g.running, d)
	g.admit()
}

func remove(list []*download, d *download) []*download {
	return slices.DeleteFunc(list, func(o *download) bool { return o == d })
}

// downloads returns how many downloads of all clients are in progress or wait.
func (g *downloadGate) downloads() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.running) + len(g.waiting)
}

// downloadPause is how much of the rate may be sent at once after a pause.
const downloadPause = 50 * time.Millisecond

// maxDownloadWrite is the most that one write of a download may have.
const maxDownloadWrite = 256 << 10

// newDownloadPace returns a limiter of the bytes per second of all downloads together, so that they leave bandwidth and
// CPU for other requests. A rate of 0 does not limit.
func newDownloadPace(bytes int64) *rate.Limiter {
	if bytes <= 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(bytes), max(int(bytes*int64(downloadPause)/int64(time.Second)), maxDownloadWrite))
}
