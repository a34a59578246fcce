// Package serve answers readers. NewHandler makes the GET handler: a request is parsed by the route table of site, its
// key is looked up in the current snapshot, and what is no file by itself is cut out of files by the route's rule.
//
// It owns the HTTP manners: status, caching, validators, encodings, error bodies. It reads nothing but the files of a
// snapshot and its packs, and it must never know what a row means, nor ask a database.
package serve

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"tollbook/output"
	"tollbook/site"
)

// Source hands out the snapshot that requests are answered from; output.Source is one.
type Source interface {
	// Current answers the current snapshot, which the caller releases, or output.ErrEmpty.
	Current() (*output.Snapshot, error)
}

// Options are what a handler needs.
type Options struct {
	Source Source
	Logger *slog.Logger     // hears of answers of status 500, and only of those
	Now    func() time.Time // for the age that caches may give an answer; nil is time.Now
}

// handler answers GET, HEAD and OPTIONS.
type handler struct {
	source Source
	logger *slog.Logger
	now    func() time.Time
	cache  *cache

	mu    sync.Mutex
	views []*view // of the snapshots read last, the newest first
}

// cacheBytes bounds the answers and rows that are kept ready in memory.
const cacheBytes = 64 << 20

// NewHandler answers every route of the table from the snapshots of a source.
func NewHandler(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &handler{source: o.Source, logger: o.Logger, now: o.Now, cache: newCache(cacheBytes)}
}

const allowed = "GET, HEAD, OPTIONS"

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header["X-Content-Type-Options"] = headerNosniff
	header["Access-Control-Allow-Origin"] = headerAny
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		h.get(w, r)
	case http.MethodOptions:
		header.Set("Allow", allowed)
		header.Set("Access-Control-Allow-Methods", allowed)
		header.Set("Access-Control-Allow-Headers", "*")
		header.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
	default:
		header.Set("Allow", allowed)
		h.fail(w, r, errMethod)
	}
}

// get answers from the current snapshot.
func (h *handler) get(w http.ResponseWriter, r *http.Request) {
	snap, err := h.source.Current()
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer snap.Release()
	v := h.view(snap)
	header := w.Header()
	header["Access-Control-Expose-Headers"] = headerExpose
	header["Vary"] = headerVary
	header["X-Snapshot"] = v.name

	key, b, err := h.answer(v, snap, r)
	if errors.Is(err, site.ErrNotFound) && !isAPI(r.URL.Path) {
		if page, ok := h.notFoundPage(snap); ok {
			h.sendError(w, r, http.StatusNotFound, page)
			return
		}
	}
	if err == nil {
		err = h.send(w, r, v, key, b)
	}
	if err != nil {
		h.fail(w, r, err)
	}
}

// isAPI says whether who asks for this path reads JSON.
func isAPI(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first == "v1" || first == "api" || first == "discovery"
}

// notFoundPage is the tree's own page for paths that it has not.
func (h *handler) notFoundPage(snap *output.Snapshot) (*body, bool) {
	m, ok := snap.Lookup("404.html")
	if !ok {
		return nil, false
	}
	b, err := h.literal(m)
	return b, err == nil && b.member == nil
}

// errMethod is the answer to a method that readers do not have.
var errMethod = errors.New("method not allowed")

// errorOf is the one place where an error becomes a status.
func errorOf(err error) site.Error {
	var param *site.ParamError
	switch {
	case errors.As(err, &param):
		return site.Error{
			Code: http.StatusBadRequest, Type: site.ErrorInvalidParameter, Message: err.Error(),
			Fields: []site.ErrorField{{Field: param.Param, Message: param.Message}},
		}
	case errors.Is(err, site.ErrNotFound):
		return site.Error{Code: http.StatusNotFound, Type: site.ErrorNotFound, Message: "nothing is at this address"}
	case errors.Is(err, errMethod):
		return site.Error{Code: http.StatusMethodNotAllowed, Type: site.ErrorMethodNotAllowed, Message: "the method may be " + allowed}
	case errors.Is(err, output.ErrEmpty):
		return site.Error{Code: http.StatusServiceUnavailable, Type: site.ErrorInternal, Message: "nothing is published yet"}
	default:
		return site.Error{Code: http.StatusInternalServerError, Type: site.ErrorInternal, Message: "internal error"}
	}
}

// fail answers an error. The cause of a 500 goes to the log, under an id that the reader is told.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := errorOf(err)
	header := w.Header()
	header.Set("Cache-Control", "public, max-age=10")
	switch e.Code {
	case http.StatusInternalServerError:
		id := newRequestID()
		header.Set("Cache-Control", "no-store")
		header.Set("X-Request-Id", id)
		h.logger.Error("request failed", "request_id", id, "method", r.Method, "url", r.URL.RequestURI(), "err", err)
	case http.StatusServiceUnavailable:
		header.Set("Cache-Control", "no-store")
		header.Set("Retry-After", "5")
	}
	data, err := json.Marshal(site.ErrorBody{Error: e})
	if err != nil {
		panic(err) // strings and a number
	}
	header.Set("Content-Type", typeJSON)
	writeBody(w, r, e.Code, append(data, '\n'))
}

func newRequestID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
