// This file answers HTTP requests by a handler of the same process, without a network. It must never know what is
// requested.

package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// inProcessResponse is what a handler wrote.
type inProcessResponse struct {
	Code   int
	Header http.Header
	Body   bytes.Buffer
	IsOver bool // the body was larger than the limit, and is incomplete
}

// Ask returns the response of a handler to a request that a client would send. Its body has at most limit bytes; 0
// means no limit.
func Ask(h http.Handler, r *http.Request, limit int) *inProcessResponse {
	request := r.Clone(r.Context())
	request.RequestURI = r.URL.RequestURI()
	w := &recorder{inProcessResponse: inProcessResponse{Header: http.Header{}}, limit: limit}
	h.ServeHTTP(w, request)
	w.WriteHeader(http.StatusOK) // if it wrote nothing
	return &w.inProcessResponse
}

// InProcessTransport is an http.RoundTripper that answers requests by a handler.
type InProcessTransport struct{ Handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t InProcessTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := Ask(t.Handler, r, 0)
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", w.Code, http.StatusText(w.Code)),
		StatusCode: w.Code, Header: w.Header, ContentLength: int64(w.Body.Len()), Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(&w.Body),
	}, nil
}

// recorder implements http.ResponseWriter.
type recorder struct {
	inProcessResponse
	limit int
}

var errAnswerTooLarge = errors.New("the response is too large")

func (w *recorder) Header() http.Header { return w.inProcessResponse.Header }

func (w *recorder) WriteHeader(code int) {
	if w.Code == 0 {
		w.Code = code
	}
}

func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.IsOver = w.IsOver || w.limit > 0 && w.Body.Len()+len(b) > w.limit; w.IsOver {
		return 0, errAnswerTooLarge
	}
	return w.Body.Write(b)
}
