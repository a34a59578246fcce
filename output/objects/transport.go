package objects

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// transport gives up a request on which nothing moves: the client above makes it again.
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
			DisableCompression:  true,     // what is stored packed is wanted packed
			WriteBufferSize:     32 << 10, // a small object goes out with its request's head at once
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
		req.Body = &watched{req.Body, watch, t.stall, nil}
	}
	res, err := t.http.RoundTrip(req)
	if err != nil {
		watch.Stop()
		cancel()
		return nil, err
	}
	res.Body = &watched{res.Body, watch, t.stall, cancel}
	return res, nil
}

// watched is a body whose every piece puts the end off.
type watched struct {
	io.ReadCloser
	watch  *time.Timer
	stall  time.Duration
	cancel context.CancelFunc // of an answer, at whose end the request is over
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 && err == nil {
		w.watch.Reset(w.stall)
	}
	return n, err
}

func (w *watched) Close() error {
	err := w.ReadCloser.Close()
	if w.cancel != nil {
		w.watch.Stop()
		w.cancel()
	}
	return err
}
