// Package serve answers readers. NewHandler makes the GET handler: a request is parsed by the route table of site, its
// key is looked up in the current snapshot, what is no file by itself is cut out of files by the route's rule, and the
// answer is sent.
//
// It owns the HTTP rules: status, caching, validators, encodings, error bodies. For readers it reads nothing but the
// files of a snapshot and its packs. It must never know what a row means, import what renders, or ask a database. What
// owners submit (submit.go) goes through two small interfaces, to whatever stores and probes it.
package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
)

// Source hands out the snapshot that requests are answered from; output.Source is one.
type Source interface {
	// Current answers the current snapshot, which the caller releases, or output.ErrEmpty.
	Current() (*output.Snapshot, error)
	// ByID returns the snapshot with this id, which the caller releases, or output.ErrNotRetained.
	ByID(id string) (*output.Snapshot, error)
	// Download finds a zip of the publication, or answers fs.ErrNotExist.
	Download(ctx context.Context, name string) (*output.Download, error)
	// Err says why the newest snapshot can't be opened, nil where Current answers it.
	Err() error
}

// Options are what a handler needs.
type Options struct {
	Source Source
	Logger *slog.Logger     // hears of answers of status 500, and only of those
	Now    func() time.Time // for the age that caches may give an answer, and the rate of clients; nil is time.Now

	DownloadRate int64 // bytes a second of all zips together that are sent; 0 is any number

	RateLimit int            // requests a minute that a client may send under /v1, /api and /discovery; 0 is any number
	Trusted   []netip.Prefix // proxies whose word is taken for whom they forward
	Metrics   *Metrics       // counts answers; nil for none
	Submit    *SubmitOptions // takes submissions; nil for none
}

// handler answers GET, HEAD and OPTIONS, and POST where submissions are taken.
type handler struct {
	source  Source
	logger  *slog.Logger
	now     func() time.Time
	cache   *cache
	limiter *limiter // nil without a limit
	gate    *gate    // of downloads
	pace    *pace    // of downloads, nil without a limit
	trusted []netip.Prefix
	metrics *Metrics

	submitter *submitter // nil where none are taken

	mu    sync.Mutex
	views []*view // of the snapshots read last, the newest first
}

// NewHandler answers every route of the table from the snapshots of a source.
func NewHandler(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h := &handler{
		source: o.Source, logger: o.Logger, now: o.Now, cache: newCache(cacheBytes),
		limiter: newLimiter(o.RateLimit, o.Now()), gate: newGate(), pace: newPace(o.DownloadRate),
		trusted: o.Trusted, metrics: o.Metrics, submitter: newSubmitter(o.Submit),
	}
	if o.Metrics != nil {
		o.Metrics.handler = h
	}
	return h
}

const allowed = "GET, HEAD, OPTIONS"

// reply passes an answer on and remembers of it what is counted.
type reply struct {
	http.ResponseWriter
	code  int
	route string
}

// WriteHeader implements http.ResponseWriter.
func (w *reply) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (w *reply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	w := &reply{ResponseWriter: to, route: routeNone}
	began := time.Now()
	defer func() {
		if fault := recover(); fault != nil {
			h.recovered(w, r, fault)
		}
		h.metrics.of(w.route).count(w.code, time.Since(began))
	}()
	header := w.Header()
	header["X-Content-Type-Options"] = headerNosniff
	header["Access-Control-Allow-Origin"] = headerAny
	header["Access-Control-Expose-Headers"] = headerExpose
	call, id := callOf(r.URL.Path)
	methods := allowed
	if call == callSubmit && h.submitter != nil {
		methods = submitAllowed
	}
	if r.Method == http.MethodOptions {
		header.Set("Allow", methods)
		header.Set("Access-Control-Allow-Methods", methods)
		header.Set("Access-Control-Allow-Headers", "*")
		header.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if h.limiter != nil && isAPI(r.URL.Path) && !h.admit(w, r) {
		return
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case call == callSubmit && h.submitter == nil && !reads:
		header.Set("Allow", methods)
		h.fail(w, r, errNoSubmissions)
	case call == callSubmit && h.submitter != nil:
		w.route = call
		if r.Method != http.MethodPost {
			header.Set("Allow", methods)
			h.fail(w, r, &methodError{allowed: methods})
			return
		}
		h.submit(w, r)
	case !reads:
		header.Set("Allow", methods)
		h.fail(w, r, errMethod)
	case call == callSubmission && h.submitter != nil:
		w.route = call
		h.tellSubmission(w, r, id)
	case r.URL.Path == healthPath || r.URL.Path == readyPath:
		w.route = routeHealth
		h.tellHealth(w, r)
	case r.URL.EscapedPath() == checkpointPath:
		h.download(w, r, h.tellCheckpoint)
	case archive.IsDownload(strings.TrimPrefix(r.URL.EscapedPath(), "/")):
		h.download(w, r, h.sendZip)
	default:
		h.get(w, r)
	}
}

// admit counts a request for its client and sets the headers that say how many are left. Once none is left it answers
// and returns false.
func (h *handler) admit(w *reply, r *http.Request) bool {
	left, ends, ok := h.limiter.take(clientOf(clientAddr(r, h.trusted)), h.now())
	header := w.Header()
	header["Ratelimit-Policy"] = h.limiter.policy
	header["Ratelimit"] = []string{rateLimit(left, ends)}
	if !ok {
		h.metrics.countLimited()
		header.Set("Retry-After", strconv.FormatInt(ceilSeconds(ends), 10))
		h.fail(w, r, errRateLimited)
	}
	return ok
}

// recovered tells of a panic as of any other fault of ours. Once an answer has begun it can only be broken off.
func (h *handler) recovered(w *reply, r *http.Request, fault any) {
	if fault == http.ErrAbortHandler {
		panic(fault)
	}
	err := fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
	if w.code == 0 {
		h.fail(w, r, err)
		return
	}
	h.logger.Error("answer broken off", "method", r.Method, "url", r.URL.RequestURI(), "err", err)
	panic(http.ErrAbortHandler)
}

// get answers from the current snapshot, or from the one that the request names.
func (h *handler) get(w *reply, r *http.Request) {
	q, err := site.ParseRequest(r.URL.EscapedPath(), r.URL.RawQuery)
	snap, noneOpen := h.open(q.Snapshot)
	if noneOpen != nil {
		h.fail(w, r, cmp.Or(err, noneOpen))
		return
	}
	defer snap.Release()
	v := h.view(snap)
	header := w.Header()
	header["Vary"] = headerVary
	header["X-Snapshot"] = v.name
	if q.Snapshot == "" && h.source.Err() != nil {
		header["X-Snapshot-Warning"] = headerStale
	}
	if err == nil {
		err = h.reply(w, r, v, snap, q)
	}
	if errors.Is(err, site.ErrNotFound) && !isAPI(r.URL.Path) {
		if page, ok := h.ownPage(snap, notFoundPage); ok {
			h.sendError(w, r, http.StatusNotFound, page)
			return
		}
	}
	if err != nil {
		h.fail(w, r, err)
	}
}

// open answers the snapshot with an id, or the current one where it is "".
func (h *handler) open(id string) (*output.Snapshot, error) {
	if id == "" {
		return h.source.Current()
	}
	return h.source.ByID(id)
}

// reply answers a valid request. An error comes before anything was written.
func (h *handler) reply(w *reply, r *http.Request, v *view, snap *output.Snapshot, q site.Query) error {
	key, b, err := h.answer(v, snap, q)
	if err != nil {
		return err
	}
	w.route = routeFile
	if q.Route != nil {
		w.route = q.Route.Name
	}
	link, err := linkNext(r, v, snap, q, b)
	if err != nil {
		return err
	}
	if link != nil {
		w.Header()["Link"] = link
	}
	return h.send(w, r, v, q.Snapshot != "", key, b)
}

// isAPI says whether who asks for this path reads JSON.
func isAPI(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first == "v1" || first == "api" || first == "discovery"
}

// The tree's own pages for paths that it has not, and for what fails inside.
const (
	notFoundPage = "404.html"
	failurePage  = "500.html"
)

// ownPage is one of these.
func (h *handler) ownPage(snap *output.Snapshot, key string) (*body, bool) {
	m, ok := snap.Lookup(key)
	if !ok {
		return nil, false
	}
	b, err := h.file(m)
	return b, err == nil && b.member == nil
}

// view is what the handler knows of a snapshot beside its files.
type view struct {
	name         []string // its id, as a header value
	built, next  time.Time
	lastModified []string // header value

	mu    sync.Mutex // held while the index is read
	index *site.Index
}

// maxViews is how many snapshots are known at once: as many as a source keeps open, those that readers named among
// them, and one more while one replaces another.
const maxViews = 8

// view answers what is known of a snapshot, new or from before.
func (h *handler) view(snap *output.Snapshot) *view {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.views, func(v *view) bool { return v.name[0] == snap.ID })
	if i >= 0 {
		v := h.views[i]
		copy(h.views[1:i+1], h.views[:i])
		h.views[0] = v
		return v
	}
	built := snap.Checkpoint.Built()
	v := &view{
		name: []string{snap.ID}, built: built, next: snap.Checkpoint.Next(),
		lastModified: []string{built.Format(http.TimeFormat)},
	}
	h.views = slices.Insert(h.views, 0, v)
	h.views = h.views[:min(len(h.views), maxViews)]
	return v
}

// readIndex is the snapshot's v1/index.json, parsed once; what fails is tried again.
func (v *view) readIndex(snap *output.Snapshot) (*site.Index, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.index != nil {
		return v.index, nil
	}
	data, err := snap.ReadFile(site.IndexFile)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", snap.ID, err)
	}
	var index site.Index
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("snapshot %s: parse %s: %w", snap.ID, site.IndexFile, err)
	}
	if !slices.IsSorted(index.Slugs) || !slices.IsSorted(index.Facilitators) {
		return nil, fmt.Errorf("snapshot %s: %s: %w: slugs or ids are not sorted",
			snap.ID, site.IndexFile, archive.ErrDamaged)
	}
	v.index = &index
	return v.index, nil
}
