package serve

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
)

var errRateLimited = errors.New("too many requests")

// methodError is a method that an address does not have.
type methodError struct {
	allowed string
	note    string // more to say of it
}

func (e *methodError) Error() string { return "the method may be " + e.allowed + e.note }

var errMethod = &methodError{allowed: allowed} // one that readers do not have

// errorOf is the one place where an error becomes a status.
func errorOf(err error) site.Error {
	var param *site.ParamError
	var unready *notReadyError
	var method *methodError
	if e, ok := submitError(err); ok {
		return e
	}
	switch {
	case errors.As(err, &param):
		return site.Error{
			Code: http.StatusBadRequest, Type: site.ErrorInvalidParameter, Message: err.Error(),
			Fields: []site.ErrorField{{Field: param.Param, Message: param.Message}},
		}
	case errors.Is(err, site.ErrNotFound):
		return site.Error{Code: http.StatusNotFound, Type: site.ErrorNotFound, Message: "nothing is at this address"}
	case errors.As(err, &method):
		return site.Error{Code: http.StatusMethodNotAllowed, Type: site.ErrorMethodNotAllowed, Message: method.Error()}
	case errors.Is(err, output.ErrNotRetained):
		return site.Error{Code: http.StatusNotFound, Type: site.ErrorNotFound,
			Message: "this snapshot is not kept, any more or at all; without the parameter snapshot the newest answers"}
	case errors.Is(err, errRateLimited):
		return site.Error{Code: http.StatusTooManyRequests, Type: site.ErrorRateLimited,
			Message: "too many requests from this address; Retry-After says in how many seconds there are more"}
	case errors.Is(err, errDownloads):
		return site.Error{Code: http.StatusServiceUnavailable, Type: site.ErrorUnavailable,
			Message: "as many downloads as there may be are under way"}
	case errors.Is(err, errRange):
		return site.Error{Code: http.StatusRequestedRangeNotSatisfiable, Type: site.ErrorBadRequest,
			Message: "the range lies outside the file"}
	case errors.Is(err, output.ErrEmpty):
		return site.Error{Code: http.StatusServiceUnavailable, Type: site.ErrorUnavailable,
			Message: "nothing is published yet"}
	case errors.Is(err, archive.ErrUnreachable):
		return site.Error{Code: http.StatusServiceUnavailable, Type: site.ErrorUnavailable,
			Message: "the store that holds this can't be reached now"}
	case errors.As(err, &unready):
		return site.Error{Code: http.StatusServiceUnavailable, Type: site.ErrorUnavailable,
			Message: "no snapshot can be opened"}
	default:
		return site.Error{Code: http.StatusInternalServerError, Type: site.ErrorInternal, Message: "internal error"}
	}
}

// fail answers an error. The cause of a 500 goes to the log, under an id that the reader is told.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := errorOf(err)
	header := w.Header()
	for _, name := range []string{"Etag", "Last-Modified", "Link"} {
		header.Del(name) // of a file that could not be sent after all
	}
	if header.Get("Cache-Control") != headerNoStore[0] { // as of what is one client's business
		header.Set("Cache-Control", "public, max-age=10")
	}
	h.tellLimit(header, err)
	switch e.Code {
	case http.StatusTooManyRequests, http.StatusRequestedRangeNotSatisfiable:
		header["Cache-Control"] = headerNoStore // it is one client's
	case http.StatusInternalServerError:
		id := newRequestID()
		header.Set("Cache-Control", "no-store")
		header.Set("X-Request-Id", id)
		h.logger.Error("request failed", "request_id", id, "method", r.Method, "url", r.URL.RequestURI(), "err", err)
	case http.StatusServiceUnavailable:
		header.Set("Cache-Control", "no-store")
		header.Set("Retry-After", "5")
	}
	if e.Code == http.StatusInternalServerError && h.sendFailurePage(w, r) {
		return
	}
	data, err := json.Marshal(site.ErrorBody{Error: e})
	if err != nil {
		panic(err) // strings and a number
	}
	header.Set("Content-Type", typeJSON)
	writeBody(w, r, e.Code, append(data, '\n'))
}

// sendFailurePage tells who asked for a page that something failed, in the current snapshot's own page for that. It is
// false, and nothing was sent, for programs, and where there is no such page or it is what failed.
func (h *handler) sendFailurePage(w http.ResponseWriter, r *http.Request) bool {
	if isAPI(r.URL.Path) || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	snap, err := h.source.Current()
	if err != nil {
		return false
	}
	defer snap.Release()
	page, ok := h.ownPage(snap, failurePage)
	if !ok {
		return false
	}
	gzipped := page.canGzip() && acceptsGzip(r.Header.Values("Accept-Encoding"))
	return h.write(w, r, http.StatusInternalServerError, typeHTML, gzipped, page) == nil
}

// tellLimit says when to come back, where one submission too many is the fault.
func (h *handler) tellLimit(header http.Header, err error) {
	var over *site.SubmissionLimitError
	if errors.As(err, &over) {
		h.metrics.countLimited()
		header.Set("Retry-After", strconv.FormatInt(ceilSeconds(over.RetryAfter), 10))
	}
}

func newRequestID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
