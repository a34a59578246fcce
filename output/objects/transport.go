package objects

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// transport aborts a request that makes no progress; the client above repeats it.
type transport struct {
	http  *http.Transport
	stall time.Duration
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

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	watch := time.AfterFunc(t.stall, cancel)
	req = req.Clone(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &watchedBody{req.Body, watch, t.stall, nil}
	}
	res, err := t.http.RoundTrip(req)
	if err != nil {
		watch.Stop()
		cancel()
		return nil, err
	}
	res.Body = &watchedBody{res.Body, watch, t.stall, cancel}
	return res, nil
}

// watchedBody is a body that restarts the timer with every piece that is read.
type watchedBody struct {
	io.ReadCloser
	watch  *time.Timer
	stall  time.Duration
	cancel context.CancelFunc // ends the request of a response; nil for the body of a request
}

func (w *watchedBody) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
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
