package objects

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// transport counts requests, and aborts one that makes no progress; the client above repeats it.
type transport struct {
	http  *http.Transport
	stall time.Duration
	trafficCounter
}

func newTransport(stall time.Duration) *transport {
	return &transport{
		http: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConns:        connections,
			MaxIdleConnsPerHost: connections,
			IdleConnTimeout:     time.Minute,
			DisableCompression:  true,     // objects that are stored packed are read packed
			WriteBufferSize:     32 << 10, // one write sends a small object together with the head of its request
			ReadBufferSize:      32 << 10,
		},
		stall: stall,
	}
}

// Stalls of early attempts. A line that swallows packets answers never, so that a short wait costs less than a long
// one; a server that is slow gets the whole time from a later attempt.
const (
	smallRequest = 64 << 10 // a body that fits the buffers of the connection
	smallStall   = 3 * time.Second
	smallTries   = 4
	largeStall   = 10 * time.Second
	largeTries   = 2
	workTries    = 1 // of a POST, which waits as long as a large request
)

// attemptKey is the key of a context's value: the number of the attempt, from 0.
type attemptKey struct{}

func withAttempt(ctx context.Context, try int) context.Context {
	return context.WithValue(ctx, attemptKey{}, try)
}

// stallOf returns how long a request may make no progress. A POST gets the whole time from its second attempt unless it
// begins an upload, because a server may work long before it answers.
func (t *transport) stallOf(req *http.Request) time.Duration {
	try, ok := req.Context().Value(attemptKey{}).(int)
	switch {
	case !ok:
	case req.Method == http.MethodPost && !req.URL.Query().Has("uploads"):
		if try < workTries {
			return min(t.stall, largeStall)
		}
	case req.ContentLength <= smallRequest && try < smallTries:
		return min(t.stall, smallStall)
	case req.ContentLength > smallRequest && try < largeTries:
		return min(t.stall, largeStall)
	}
	return t.stall
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	t.count(req)
	stall := t.stallOf(req)
	watch := time.AfterFunc(stall, cancel)
	req = req.Clone(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &watchedBody{req.Body, watch, stall, nil, &t.sent}
	}
	res, err := t.http.RoundTrip(req)
	if err != nil {
		watch.Stop()
		cancel()
		return nil, err
	}
	res.Body = &watchedBody{res.Body, watch, stall, cancel, &t.received}
	return res, nil
}

// watchedBody is a body that restarts the timer with every piece that is read.
type watchedBody struct {
	io.ReadCloser
	watch  *time.Timer
	stall  time.Duration
	cancel context.CancelFunc // ends the request of a response; nil for the body of a request
	bytes  *atomic.Int64      // that were read
}

func (w *watchedBody) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.bytes.Add(int64(n))
	if n > 0 && err == nil {
		w.watch.Reset(w.stall)
	}
	return n, err
}

func (w *watchedBody) Close() error {
	err := w.ReadCloser.Close()
	if w.cancel != nil {
		w.watch.Stop()
		w.cancel()
	}
	return err
}
