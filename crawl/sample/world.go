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

// Options are the settings of a World. The zero value is a world in real time without a log.
type Options struct {
	Now    func() time.Time // time.Now when nil
	Logger *slog.Logger     // gets broken handshakes and the like at debug level; may be nil

	// Pace multiplies every wait of the services: response times, and the six seconds of the slow one. 0 means 1. A
	// test that must not wait uses 0.001.
	Pace float64

	// Start is the time at which the world began; its chain follows from it. Without it the world has no chain.
	Start time.Time
}

// World serves the services' answers on loopback: one listener for https, one for http, and one for the node of its
// chain. Several goroutines may use it.
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

// Start opens the world. It ends with Close or when ctx ends.
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
	ca, err := NewAuthority(Domain)
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
		&tls.Config{GetCertificate: w.certificate, MinVersion: tls.VersionTLS12})
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

// Ledger returns the world's payments, nil without a chain.
func (w *World) Ledger() *Ledger { return w.ledger }

// RPC returns the URL of the node of Network.
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
			w.opts.Logger.Error("sample world: accept connections", "addr", l.Addr().String(), "err", err)
		}
	}()
}

// count counts connections, so that Close can wait for the last one. The accept loop counts new ones; it ends before
// Close waits for them.
func (w *World) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		w.running.Add(1)
	case http.StateClosed, http.StateHijacked:
		w.running.Done()
	}
}

// Close closes every connection and waits until the world's goroutines end. It may be called more than once.
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

// certificate returns the certificate for the name in a client's hello.
func (w *World) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	slug, ok := slugOf(hello.ServerName)
	s := bySlug(slug)
	if !ok || s == nil && facilitatorByHost(slug) == nil {
		return nil, fmt.Errorf("no certificate for %.80q", hello.ServerName)
	}
	return w.ca.Certificate(slug+"."+Domain, s != nil && behaviours[s.Behaviour].expired)
}

// RootCAs returns a pool with the world's own authority alone.
func (w *World) RootCAs() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(w.ca.Root())
	return pool
}

// Dial connects to "host:port" if the host is a name of the world; otherwise mine is false. Port 443 is https, 80 is
// http; other ports refuse. An unknown name of the world is a net.DNSError with IsNotFound, as from a resolver.
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
	if s == nil && facilitatorByHost(slug) == nil {
		return nil, true, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var target net.Listener
	switch {
	case s == nil && port == "443":
		target = w.secure
	case s == nil, behaviours[s.Behaviour].deaf, port == "443" && s.Plain:
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

// maxBody is the most that is read of a request's body, in bytes.
const maxBody = 64 << 10

func (w *World) answerSecure(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxBody))
	if err != nil {
		http.Error(rw, "body too large or broken off", http.StatusRequestEntityTooLarge)
		return
	}
	a := answer(request{method: r.Method, host: hostname(r.Host), path: r.URL.Path,
		accept: r.Header.Get("Accept"), body: body}, w.opts.Now())
	w.write(rw, r, a)
}

// answerPlain serves services without https, and redirects requests for the others.
func (w *World) answerPlain(rw http.ResponseWriter, r *http.Request) {
	slug, _ := slugOf(hostname(r.Host))
	if s := bySlug(slug); s != nil && !s.Plain {
		http.Redirect(rw, r, s.baseURL()+r.URL.RequestURI(), http.StatusPermanentRedirect)
		return
	}
	w.answerSecure(rw, r)
}

// write sends an answer after its delay, unless the client or the world goes first: then it breaks the connection,
// since a handler that merely returned would send 200.
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
	rw.Write(a.body) // an error means that the client has gone
}

func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return host
}
