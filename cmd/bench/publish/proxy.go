package publish

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"

	"tollbook/cmd/bench/harness"
)

// requests counts the requests of publishing both zips, and of publishing again without changes.
func (b *bench) requests(ctx context.Context, report *harness.Report) error {
	to, err := b.store.bucket(ctx)
	if err != nil {
		return err
	}
	for i, what := range []string{"first", "later"} {
		p, end, err := startProxy(b.store.endpoint)
		if err != nil {
			return err
		}
		_, _, err = b.publish(ctx, p.address, to, "none", i)
		end()
		if err != nil {
			return err
		}
		report.Add("requests for the zip, "+what, "", float64(p.requests.Load()))
		report.Add("sent", "MB", float64(p.sent.Load())/1e6)
		report.Add("received", "MB", float64(p.received.Load())/1e6)
	}
	return nil
}

// proxy forwards requests and counts them.
type proxy struct {
	address                  string
	requests, sent, received atomic.Int64
}

func startProxy(to string) (*proxy, func(), error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	p := &proxy{address: l.Addr().String()}
	transport := &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true}
	pass := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: to})
			r.Out.Host = r.In.Host // the signature covers it
		},
		ModifyResponse: func(r *http.Response) error {
			r.Body = counted{r.Body, &p.received}
			return nil
		},
		Transport: transport,
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.requests.Add(1)
		r.Body = counted{r.Body, &p.sent}
		pass.ServeHTTP(w, r)
	})}
	go server.Serve(l)
	return p, func() {
		server.Close()
		transport.CloseIdleConnections()
	}, nil
}

// counted counts the bytes of a body.
type counted struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n.Add(int64(n))
	return n, err
}
