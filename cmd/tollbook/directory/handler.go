package directory

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// handlerTransport answers requests by a handler in this process.
type handlerTransport struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t handlerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	request := req.Clone(req.Context())
	request.RequestURI = req.URL.RequestURI()
	w := &response{header: http.Header{}}
	t.handler.ServeHTTP(w, request)
	if w.code == 0 {
		w.code = http.StatusOK
	}
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", w.code, http.StatusText(w.code)),
		StatusCode: w.code, Header: w.header, ContentLength: int64(w.body.Len()), Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(&w.body),
	}, nil
}

// response records what a handler writes. It implements http.ResponseWriter.
type response struct {
	code   int
	header http.Header
	body   bytes.Buffer
}

func (w *response) Header() http.Header { return w.header }

func (w *response) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
}

func (w *response) Write(b []byte) (int, error) { return w.body.Write(b) }
