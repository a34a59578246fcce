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
	"tollbook/site/invisible"
	"tollbook/site/routes"
	"tollbook/site/serve/inbox"
)

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
		if errors.Is(err, site.ErrNoDatabase) {
			h.logger.Warn("the database does not answer; request not handled",
				"method", r.Method, "url", r.URL.RequestURI(), "err", err)
		}
	}
	if e.Code == http.StatusInternalServerError && h.sendFailurePage(w, r) {
		return
	}
	data, err := json.Marshal(site.ErrorBody{Error: e})
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
