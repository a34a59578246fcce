package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// A routed domain has a transport of its own, so that its authority is trusted for no other name.
type routed struct {
	domain    string
	transport *http.Transport
}

func (r Route) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, ok, err := r.Dial(ctx, network, addr)
	if err == nil && !ok {
		host, _, _ := net.SplitHostPort(addr)
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return conn, err
}

// newTransport makes a transport that reads nothing from the environment, keeps connections and TLS sessions from one
// round to the next, and bounds what a hostile server can make it hold: a thousand of them at once cost their headers
// and their buffers, nothing more.
//
// A probe has no secrets that somebody could keep until he can break them, so it leaves out the key exchange that costs
// most: X25519MLKEM768 takes four times the time of X25519, and makes the first message larger than a packet.
func (p *Prober) newTransport(dial dialFunc, roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		Proxy:       nil,
		DialContext: p.limitDial(dial),
		TLSClientConfig: &tls.Config{
			RootCAs:            roots,
			ClientSessionCache: tls.NewLRUClientSessionCache(sessions),
			CurvePreferences:   []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521},
		},
		TLSHandshakeTimeout: p.connect,
		ForceAttemptHTTP2:   true,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerConnection: 256 << 10,
			MaxReceiveBufferPerStream: 256 << 10},
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           1024,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        90 * time.Second,
	}
}

// sessions is how many TLS sessions are kept, with their certificates some 8 KB each. A round that asks more hosts than
// that finds none of them again, since the one that was used longest ago goes first.
const sessions = 16 << 10

type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// limitDial ends a dial after the connect limit.
func (p *Prober) limitDial(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		limited, cancel := context.WithTimeout(ctx, p.connect)
		defer cancel()
		conn, err := dial(limited, network, addr)
		var dns *net.DNSError
		if err != nil && limited.Err() != nil && ctx.Err() == nil && !errors.As(err, &dns) {
			return nil, timedOut("connecting timed out", p.connect, err)
		}
		return conn, err
	}
}

// A tracer takes the times of one request. A dial may outlive the request that caused it and still report.
type tracer struct {
	mu sync.Mutex

	dnsStart, dnsDone         time.Time
	connectStart, connectDone time.Time
	tlsStart, tlsDone         time.Time
	wrote, first              time.Time
}

func (t *tracer) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		DNSStart:             func(httptrace.DNSStartInfo) { t.start(&t.dnsStart) },
		DNSDone:              func(httptrace.DNSDoneInfo) { t.end(&t.dnsDone) },
		ConnectStart:         func(_, _ string) { t.start(&t.connectStart) },
		ConnectDone:          func(_, _ string, _ error) { t.end(&t.connectDone) },
		TLSHandshakeStart:    func() { t.start(&t.tlsStart) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { t.end(&t.tlsDone) },
		WroteRequest:         func(httptrace.WroteRequestInfo) { t.end(&t.wrote) },
		GotFirstResponseByte: func() { t.end(&t.first) },
	}
}

// start keeps the first of several, end the last: several addresses may be tried.
func (t *tracer) start(at *time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at.IsZero() {
		*at = time.Now()
	}
}

func (t *tracer) end(at *time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*at = time.Now()
}

func (t *tracer) phases() Phases {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Phases{
		DNS:       between(t.dnsStart, t.dnsDone),
		Connect:   between(t.connectStart, t.connectDone),
		TLS:       between(t.tlsStart, t.tlsDone),
		FirstByte: between(t.wrote, t.first),
	}
}

func between(from, to time.Time) time.Duration {
	if from.IsZero() || to.Before(from) {
		return 0
	}
	return to.Sub(from)
}
