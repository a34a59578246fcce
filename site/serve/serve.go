// Package serve is the HTTP server of a directory. NewHandler returns the handler: it parses a request by the route
// table of package site and looks up its key in the current snapshot. If no file has the key, the route's rule cuts the
// response out of files.
//
// The package implements the HTTP rules: status codes, caching, validators, encodings and error bodies. For GET it
// reads only the files of a snapshot and its packs. It does not know what a row means, does not import render and does
// not query a database. Package inbox reads what is posted: submissions, suggestions and requests for re-checks.
package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/serve/inbox"
	"tollbook/site/webbotauth"
)

// Source provides the snapshots that responses are read from. output.Source implements it.
type Source interface {
	// Current returns the current snapshot, which the caller must release, or output.ErrEmpty.
	Current() (*output.Snapshot, error)
	// ByID returns the snapshot with this id, which the caller must release, or output.ErrNotRetained.
	ByID(id string) (*output.Snapshot, error)
	// Download returns a zip of the publication or a day of a table, or fs.ErrNotExist.
	Download(ctx context.Context, name string) (*output.Download, error)
	// Err returns why the newest snapshot can't be opened, or nil if Current returns it.
	Err() error
}

// Options configure a handler.
type Options struct {
	Source Source
	Logger *slog.Logger     // receives the causes of 500 responses and of broken downloads
	Now    func() time.Time // for max-age and rate limits; nil means time.Now

	DownloadRate int64 // bytes per second of all downloads together; 0 means no limit

	RateLimit int            // requests per minute and client under /v1, /api and /discovery; 0 means no limit
	Trusted   []netip.Prefix // proxies whose X-Forwarded-For and Forwarded headers are used
	Metrics   *Metrics       // counts responses; nil for none
	Empty     *EmptySearches // counts searches without a result; nil for none
	Submit    *inbox.Options // accepts submissions, suggestions and re-checks; nil for none

	FillSearch FillSearch // fills the search page for readers without script; nil sends the page as it is

	Connections *ConnectionLimiter // of the connections that Serve accepts for this handler; the metrics count them

	Notice func() string // returns what the operator should know, for /readyz, "" for nothing; may be nil

	Signer *webbotauth.Signer // serves the directory of the crawler's key, with proof; nil sends that of the snapshot
}

// handler serves GET, HEAD and OPTIONS, and POST if submissions are accepted.
type handler struct {
	source  Source
	logger  *slog.Logger
	now     func() time.Time
	cache   *cache
	limiter *rateLimiter        // nil if there is no limit
	gate    *downloadGate       // for downloads
	pace    *rate.Limiter       // for downloads
	making  *semaphore.Weighted // slots of requests that make their response
	trusted []netip.Prefix
	metrics *Metrics
	empty   *EmptySearches
	notice  func() string      // nil for none
	signer  *webbotauth.Signer // nil for none

	connections *ConnectionLimiter
	inbox       *inbox.Handler // nil if submissions are not accepted
	fillSearch  FillSearch     // nil if the search page is sent as it is

	mu    sync.Mutex
	infos []*snapshotInfo // the most recently read snapshots, the latest first
}

// NewHandler returns a handler for every route of the table, on the snapshots of a source.
func NewHandler(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h := &handler{
		source: o.Source, logger: o.Logger, now: o.Now, cache: newCache(cacheBytes),
		limiter: newRateLimiter(o.RateLimit, o.Now()), gate: &downloadGate{}, pace: newDownloadPace(o.DownloadRate),
		making:  semaphore.NewWeighted(maxMaking),
		trusted: o.Trusted, metrics: o.Metrics, empty: o.Empty,
		notice: o.Notice, signer: o.Signer, connections: o.Connections, fillSearch: o.FillSearch,
	}
	h.inbox = h.newInbox(o.Submit)
	if o.Metrics != nil {
		o.Metrics.handler = h
	}
	return h
}

const allowed = "GET, HEAD, OPTIONS"

// responseWriter records the status code and the route for the metrics.
type responseWriter struct {
	http.ResponseWriter
	code  int
	route string
	slot  slot
}

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(code int) {
	w.slot.release() // the response's memory is counted
	w.code = code
	if mime := w.Header()["Content-Type"]; len(mime) > 0 {
		addLicense(w.Header(), mime[0])
	}
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap is called by http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	w := &responseWriter{ResponseWriter: to, route: routeNone, slot: slot{of: h.making, ctx: r.Context()}}
	began := time.Now()
	defer func() {
		w.slot.release()
		if fault := recover(); fault != nil {
			h.handlePanic(w, r, fault)
		}
		h.metrics.count(w.route, w.code, time.Since(began))
	}()
	header := w.Header()
	header["X-Content-Type-Options"] = headerNosniff
	header["Access-Control-Allow-Origin"] = headerAny
	header["Access-Control-Expose-Headers"] = headerExpose
	call, segment := routes.FindCall(r.URL.Path)
	methods := allowed
	if call.IsPost() && h.inbox != nil {
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
	if h.limiter != nil && (isAPI(r.URL.Path) || isSearch(r.URL.Path)) && !h.admit(w, r) {
		return
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case call.IsPost() && h.inbox == nil && !reads:
		header.Set("Allow", methods)
		h.fail(w, r, errNoSubmissions)
	case call.IsPost() && h.inbox != nil && r.Method != http.MethodPost:
		w.route = call.Name
		header.Set("Allow", methods)
		h.fail(w, r, &methodError{allowed: methods})
	case call != nil && h.inbox != nil && call.IsPost() != reads:
		h.call(w, r, call.Name, segment)
	case !reads:
		header.Set("Allow", methods)
		h.fail(w, r, errMethod)
	case r.URL.Path == healthPath || r.URL.Path == readyPath:
		w.route = routeHealth
		h.sendHealth(w, r)
	case h.signer != nil && r.URL.EscapedPath() == "/"+webbotauth.DirectoryFile:
		h.sendKeyDirectory(w, r)
	case r.URL.EscapedPath() == checkpointPath:
		h.download(w, r, h.sendCheckpoint)
	case archive.IsDownload(strings.TrimPrefix(r.URL.EscapedPath(), "/")):
		h.download(w, r, h.sendObject)
	case isTable(r.URL.Path):
		h.download(w, r, h.sendTable)
	default:
		h.get(w, r)
	}
}

// admit counts a request of a client and sets the RateLimit headers. If no request is left it sends a 429 and returns
// false.
func (h *handler) admit(w *responseWriter, r *http.Request) bool {
	left, ends, ok := h.limiter.take(newClientID(clientAddr(r, h.trusted)), h.now())
	header := w.Header()
	header["Ratelimit-Policy"] = h.limiter.policy
	header["Ratelimit"] = []string{rateLimitHeader(left, ends)}
	if !ok {
		h.metrics.countLimited()
		header.Set("Retry-After", strconv.FormatInt(ceilSeconds(ends), 10))
		h.fail(w, r, errRateLimited)
	}
	return ok
}

// handlePanic reports a panic like any other internal error. A response that has started is aborted.
func (h *handler) handlePanic(w *responseWriter, r *http.Request, fault any) {
	if fault == http.ErrAbortHandler {
		panic(fault)
	}
	err := fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
	if w.code == 0 {
		h.fail(w, r, err)
		return
	}
	h.logger.Error("response aborted", "method", r.Method, "url", r.URL.RequestURI(), "err", err)
	panic(http.ErrAbortHandler)
}

// get responds from the current snapshot, or from the one that the request names.
func (h *handler) get(w *responseWriter, r *http.Request) {
	q, err := routes.ParseRequest(r.URL.EscapedPath(), r.URL.RawQuery)
	snap, openErr := h.open(q.Snapshot)
	if openErr != nil {
		if _, ok := q.Cursor(); ok && errors.Is(openErr, output.ErrNotRetained) {
			openErr = routes.ErrCursorSnapshot
		}
		h.fail(w, r, cmp.Or(err, openErr))
		return
	}
	defer snap.Release()
	v := h.info(snap)
	header := w.Header()
	header["Vary"] = headerVary
	header["X-Snapshot"] = v.name
	if q.Snapshot == "" && h.source.Err() != nil {
		header["X-Snapshot-Warning"] = headerStale
	}
	if len(q.Unknown.Params) > 0 {
		header[routes.HeaderUnknown] = []string{q.Unknown.String()}
	}
	if err == nil {
		err = h.respond(w, r, v, snap, q)
	}
	if err != nil && errorOf(err).Code == http.StatusInternalServerError {
		if index, indexErr := v.readIndex(snap); indexErr == nil && index.Format < archive.Format {
			err = fmt.Errorf("snapshot %s: %w: %w", snap.ID, errOlder, err)
		}
	}
	if errors.Is(err, site.ErrNotFound) && !isAPI(r.URL.Path) {
		if page, ok := h.errorPage(snap, notFoundPage); ok {
			h.sendError(w, r, http.StatusNotFound, page)
			return
		}
	}
	if err != nil {
		h.fail(w, r, err)
	}
}

// open returns the snapshot with an id, or the current one for "".
func (h *handler) open(id string) (*output.Snapshot, error) {
	if id == "" {
		return h.source.Current()
	}
	return h.source.ByID(id)
}

// respond sends the response to a valid request. It returns an error only before anything was written.
func (h *handler) respond(w *responseWriter, r *http.Request, v *snapshotInfo, snap *output.Snapshot,
	q routes.Query) error {
	key, b, err := h.findBody(&w.slot, v, snap, q)
	if err != nil {
		return err
	}
	w.route = routeFile
	if q.Route != nil {
		w.route = q.Route.Name
	}
	if key == searchPage && h.fillSearch != nil && b.member == nil && !isFile(r) {
		return h.sendSearch(w, r, v, snap, b)
	}
	if q.NamesValues() {
		index, err := v.readIndex(snap)
		if err != nil {
			return err
		}
		if unknown := index.UnknownValues(q); len(unknown) > 0 {
			w.Header()[routes.HeaderUnknownValues] = []string{routes.UnknownValuesText(unknown)}
		}
	}
	h.countEmpty(q, b)
	link, err := h.linkNext(w, r, v, snap, q, b)
	if err != nil {
		return err
	}
	if names := q.Unapplied(); len(names) > 0 {
		if b, err = b.withUnapplied(names); err != nil {
			return err
		}
	}
	if link != nil {
		w.Header()["Link"] = link
	}
	return h.send(w, r, v, q.Snapshot != "", key, b)
}

// isAPI reports whether clients of this path expect JSON.
func isAPI(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first == "v1" || first == "api" || first == "discovery"
}

// Error pages of a snapshot: for unknown paths, and for internal errors.
const (
	notFoundPage = "404.html"
	failurePage  = "500.html"
)

// errorPage returns one of these pages.
func (h *handler) errorPage(snap *output.Snapshot, key string) (*body, bool) {
	m, ok := snap.Lookup(key)
	if !ok {
		return nil, false
	}
	b, err := h.file(nil, m) // it is small
	return b, err == nil && b.member == nil
}

// snapshotInfo is what the handler stores about a snapshot.
type snapshotInfo struct {
	name         []string // the id, as a header value
	built, next  time.Time
	lastModified []string // as a header value

	sharesSecond atomic.Bool // another snapshot was built in the same second

	mu    sync.Mutex // protects index
	index *routes.Index
}

// maxInfos is the number of snapshots in handler.infos: as many as a source keeps open, and one more while a new one
// replaces an old one.
const maxInfos = 8

// info returns the information about a snapshot, and adds it if it is new.
func (h *handler) info(snap *output.Snapshot) *snapshotInfo {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.infos, func(v *snapshotInfo) bool { return v.name[0] == snap.ID })
	if i >= 0 {
		v := h.infos[i]
		copy(h.infos[1:i+1], h.infos[:i])
		h.infos[0] = v
		return v
	}
	built := snap.Checkpoint.Built()
	v := &snapshotInfo{
		name: []string{snap.ID}, built: built, next: snap.Checkpoint.Next(),
		lastModified: []string{built.Format(http.TimeFormat)},
	}
	for _, other := range h.infos {
		if other.lastModified[0] == v.lastModified[0] {
			other.sharesSecond.Store(true)
			v.sharesSecond.Store(true)
		}
	}
	h.infos = slices.Insert(h.infos, 0, v)
	h.infos = h.infos[:min(len(h.infos), maxInfos)]
	return v
}

// modified returns the time that If-Modified-Since is compared with, or zero if it does not identify the snapshot.
func (v *snapshotInfo) modified() time.Time {
	if v.sharesSecond.Load() {
		return time.Time{}
	}
	return v.built
}

// readIndex returns the snapshot's v1/index.json, parsed once. After an error the next call tries again.
func (v *snapshotInfo) readIndex(snap *output.Snapshot) (*routes.Index, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.index != nil {
		return v.index, nil
	}
	data, err := snap.ReadFile(routes.IndexFile)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", snap.ID, err)
	}
	var index routes.Index
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("snapshot %s: parse %s: %w", snap.ID, routes.IndexFile, err)
	}
	if index.Needs > archive.Format {
		return nil, fmt.Errorf("snapshot %s has form %d, and this program reads forms up to %d: it was %w", snap.ID,
			index.Needs, archive.Format, archive.ErrNewer)
	}
	if !slices.IsSorted(index.Slugs) || !slices.IsSorted(index.Facilitators) || !slices.IsSorted(index.Sources) {
		return nil, fmt.Errorf("snapshot %s: %s: %w: slugs, ids or names are not sorted",
			snap.ID, routes.IndexFile, archive.ErrDamaged)
	}
	v.index = &index
	return v.index, nil
}

const (
	typeJSON = routes.TypeJSON
	typeHTML = routes.TypeHTML
)

// contentPolicy allows pages to load only what this server sends.
const contentPolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Constant header values, ready for http.Header. They must not be modified.
var (
	headerNosniff = []string{"nosniff"}
	headerAny     = []string{"*"}
	headerVary    = []string{"Accept-Encoding"}
	headerExpose  = []string{
		"ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, X-Snapshot, " +
			"X-Snapshot-Warning, " + routes.HeaderUnknown + ", " + routes.HeaderUnknownValues}
	headerPinned  = []string{"public, max-age=86400, immutable"}
	headerForever = []string{"public, max-age=31536000, immutable"}
	headerNoStore = []string{"no-store"}
	headerPolicy  = []string{contentPolicy}
	headerGzip    = []string{"gzip"}
	headerZstd    = []string{"zstd"}
	headerLicense = []string{"<" + site.LicenseURL + `>; rel="license"`}
	headerStale   = []string{"stale"} // a newer snapshot can't be opened, or the store can't be reached
)

// headerTypes contains the content types of all files as header values.
var headerTypes = func() map[string][]string {
	types := map[string][]string{}
	for _, t := range append(slices.Collect(maps.Values(routes.ContentTypes())), routes.ContentType(""),
		webbotauth.DirectoryType) {
		types[t] = []string{t}
	}
	return types
}()

// addLicense adds the licence of the data to a response with this content type, if it is JSON. A link to the next page
// stays the first.
func addLicense(header http.Header, mime string) {
	if !strings.Contains(mime, "json") {
		return
	}
	if next := header["Link"]; len(next) > 0 {
		header["Link"] = []string{next[0], headerLicense[0]}
		return
	}
	header["Link"] = headerLicense
}

// HTTPPolicy contains the headers and errors of responses, for programs in other languages that serve the same files.
type HTTPPolicy struct {
	Allowed string // methods
	Expose  string // headers that scripts of other origins may read
	Policy  string // Content-Security-Policy of pages

	License   string // value of Link in responses with JSON, after the link to the next page
	ExposeZip string // replaces Expose for downloads
	Errors    map[string]site.Error
	Calls     map[string]string // methods and patterns of paths that are not files, by name: submissions
}

// NewHTTPPolicy returns the policy of this package. The message of "invalid" is empty, because it depends on the
// parameter.
func NewHTTPPolicy() HTTPPolicy {
	calls := map[string]string{}
	for _, c := range routes.Calls {
		calls[c.Name] = c.Method + " " + c.Pattern
	}
	return HTTPPolicy{
		Calls:   calls,
		Allowed: allowed, Expose: headerExpose[0], Policy: contentPolicy, ExposeZip: headerExposeZip[0],
		License: headerLicense[0],
		Errors: map[string]site.Error{
			"invalid":        {Code: http.StatusBadRequest, Type: site.ErrorInvalidParameter},
			"unreadable":     badRequestError(http.StatusBadRequest),
			"not_found":      errorOf(site.ErrNotFound),
			"not_kept":       errorOf(output.ErrNotRetained),
			"method":         errorOf(errMethod),
			"no_submissions": errorOf(errNoSubmissions),
			"range":          errorOf(errRange),
			"rate_limited":   errorOf(errRateLimited),
			"internal":       errorOf(http.ErrAbortHandler), // stands for any internal error
			"empty":          errorOf(output.ErrEmpty),
			"unreachable":    errorOf(archive.ErrUnreachable),
			"unready":        errorOf(&notReadyError{http.ErrAbortHandler}),
		},
	}
}
