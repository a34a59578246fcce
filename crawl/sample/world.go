package sample

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// Options of a World. The zero value is one in real time that logs nowhere.
type Options struct {
	Now    func() time.Time // time.Now when nil
	Logger *slog.Logger     // told at debug level of broken handshakes and the like; none when nil

	// Pace multiplies every wait of the services: response times and the six seconds of the slow one. 0 means 1; a test
	// that must not wait says 0.001.
	Pace float64

	// Start is when the world began: its chain follows from it. Without one the world has no chain.
	Start time.Time
}

// World carries the services' answers over loopback: one listener for https, one for http, and one for the node of its
// chain. Its methods serve any number of goroutines.
type World struct {
	opts    Options
	ca      *authority
	secure  net.Listener
	plain   net.Listener
	node    net.Listener
	ledger  *Ledger // nil without a chain
	servers []*http.Server
	cancel  context.CancelFunc
	running sync.WaitGroup // accept loops and connections
	endNode func() error
	once    sync.Once
	closed  error
}

// Start opens the world. It ends with Close or with ctx, whichever is first.
func Start(ctx context.Context, opts Options) (*World, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Pace == 0 {
		opts.Pace = 1
	}
	ca, err := newAuthority()
	if err != nil {
		return nil, fmt.Errorf("start the sample world: %w", err)
	}
	w := &World{opts: opts, ca: ca}
	listeners := []*net.Listener{&w.secure, &w.plain}
	if !opts.Start.IsZero() {
		listeners = append(listeners, &w.node)
	}
	for i, l := range listeners {
		if *l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			for _, open := range listeners[:i] {
				(*open).Close()
			}
			return nil, fmt.Errorf("start the sample world: %w", err)
		}
	}
	ctx, w.cancel = context.WithCancel(ctx)
	w.serve(ctx, w.secure, http.HandlerFunc(w.answerSecure),
		&tls.Config{GetCertificate: ca.certificate, MinVersion: tls.VersionTLS12})
	w.serve(ctx, w.plain, http.HandlerFunc(w.answerPlain), nil)
	if w.node != nil {
		w.ledger = NewLedger(opts.Start)
		var h http.Handler
		h, w.endNode = serveNode(w.ledger.chains[Network], opts.Now)
		w.serve(ctx, w.node, h, nil)
	}
	context.AfterFunc(ctx, func() { w.Close() })
	return w, nil
}

// Ledger is what is paid in the world, nil without a chain.
func (w *World) Ledger() *Ledger { return w.ledger }

// RPC is the address of the node that answers for Network.
func (w *World) RPC() string { return "http://" + w.node.Addr().String() + "/" }

func (w *World) serve(ctx context.Context, l net.Listener, h http.Handler, config *tls.Config) {
	srv := &http.Server{
		Handler:           h,
		TLSConfig:         config,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(w.opts.Logger.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnState:         w.count,
	}
	w.servers = append(w.servers, srv)
	w.running.Add(1)
	go func() {
		defer w.running.Done()
		run := srv.Serve
		if config != nil {
			run = func(l net.Listener) error { return srv.ServeTLS(l, "", "") }
		}
		if err := run(l); !errors.Is(err, http.ErrServerClosed) {
			w.opts.Logger.Error("sample world stopped listening", "addr", l.Addr().String(), "err", err)
		}
	}()
}

// count keeps track of connections, so that Close can wait for the last. New ones are counted by the accept loop, which
// ends before Close waits for them.
func (w *World) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		w.running.Add(1)
	case http.StateClosed, http.StateHijacked:
		w.running.Done()
	}
}

// Close ends every connection and waits until nothing of the world runs. It may be called more than once.
func (w *World) Close() error {
	w.once.Do(func() {
		w.cancel()
		for _, srv := range w.servers {
			w.closed = errors.Join(w.closed, srv.Close())
		}
		if w.endNode != nil {
			w.closed = errors.Join(w.closed, w.endNode())
		}
	})
	w.running.Wait()
	return w.closed
}

// RootCAs holds the world's own authority and no other.
func (w *World) RootCAs() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(w.ca.root)
	return pool
}

// Dial connects to "host:port" when the host is a name of the world; for any other name mine is false and nothing was
// done. Port 443 is https, 80 http, and nothing listens on others. A name of the world that nobody has is a
// net.DNSError that says so, as a resolver's would.
func (w *World) Dial(ctx context.Context, network, addr string) (conn net.Conn, mine bool, err error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, false, nil
	}
	slug, ok := slugOf(host)
	if !ok {
		return nil, false, nil
	}
	s := bySlug(slug)
	if s == nil {
		return nil, true, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var target net.Listener
	switch {
	case behaviours[s.Behaviour].deaf, port == "443" && s.Plain:
	case port == "443":
		target = w.secure
	case port == "80":
		target = w.plain
	}
	if target == nil {
		return nil, true, &net.OpError{Op: "dial", Net: network,
			Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	var d net.Dialer
	conn, err = d.DialContext(ctx, network, target.Addr().String())
	return conn, true, err
}

// maxBody is as much of a request's body as an answer may depend on.
const maxBody = 64 << 10

func (w *World) answerSecure(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxBody))
	if err != nil {
		http.Error(rw, "body too large or broken off", http.StatusRequestEntityTooLarge)
		return
	}
	a := answer(request{method: r.Method, host: hostname(r.Host), path: r.URL.Path, body: body}, w.opts.Now())
	w.write(rw, r, a)
}

// answerPlain serves what has no https, and sends everybody else there.
func (w *World) answerPlain(rw http.ResponseWriter, r *http.Request) {
	slug, _ := slugOf(hostname(r.Host))
	if s := bySlug(slug); s != nil && !s.Plain {
		http.Redirect(rw, r, s.baseURL()+r.URL.RequestURI(), http.StatusPermanentRedirect)
		return
	}
	w.answerSecure(rw, r)
}

// write waits as long as the answer says and sends it, unless the caller or the world is gone first: then the
// connection breaks, since a handler that merely returned would have said 200.
func (w *World) write(rw http.ResponseWriter, r *http.Request, a reply) {
	var ready <-chan time.Time // never, for an answer that hangs
	if !a.hang {
		ready = time.After(time.Duration(float64(a.delay) * w.opts.Pace))
	}
	select {
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	case <-ready:
	}
	for name, values := range a.header {
		rw.Header()[name] = values
	}
	rw.WriteHeader(a.status)
	rw.Write(a.body) // a reader that left is no concern of ours
}

func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return host
}
