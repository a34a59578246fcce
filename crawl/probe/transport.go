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

// A routed domain has its own transport, so that its certificate authority is trusted for no other name.
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

// newTransport returns a transport that reads nothing from the environment, reuses connections and TLS sessions in
// later rounds, and limits the memory that a hostile server can use. A thousand hostile servers cost their headers and
// buffers and nothing more.
//
// A probe contains no secrets that could be stored and decrypted in the future. So it omits the most expensive key
// exchange: X25519MLKEM768 takes four times as long as X25519 and makes the first message larger than a packet.
func (p *Prober) newTransport(dial dialFunc, roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		Proxy:       nil,
		DialContext: p.withConnectTimeout(dial),
		TLSClientConfig: &tls.Config{
			RootCAs:            roots,
			ClientSessionCache: smallSessions{tls.NewLRUClientSessionCache(maxSessions)},
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

// maxSessions is the number of TLS sessions that are stored, at about 8 KB each with their certificates. The least
// recently used is dropped first, so a round over more hosts than that reuses none.
const maxSessions = 16 << 10

// maxSessionBytes is the largest TLS session that is stored, with its ticket and certificates. A server chooses both: a
// certificate of 10,000 names would fill the memory with maxSessions of them.
const maxSessionBytes = 16 << 10

// smallSessions is a cache of TLS sessions that stores none larger than maxSessionBytes.
type smallSessions struct{ tls.ClientSessionCache }

// Put implements tls.ClientSessionCache.
func (c smallSessions) Put(key string, s *tls.ClientSessionState) {
	if s != nil {
		ticket, state, err := s.ResumptionState()
		if err == nil {
			var data []byte
			data, err = state.Bytes()
			ticket = append(ticket, data...)
		}
		if err != nil || len(ticket) > maxSessionBytes {
			s = nil // also drops the session from before
		}
	}
	c.ClientSessionCache.Put(key, s)
}

type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// withConnectTimeout returns dial with the connect timeout.
func (p *Prober) withConnectTimeout(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		limited, cancel := context.WithTimeout(ctx, p.connect)
		defer cancel()
		conn, err := dial(limited, network, addr)
		var dns *net.DNSError
		if err != nil && limited.Err() != nil && ctx.Err() == nil && !errors.As(err, &dns) {
			return nil, newTimeout("connecting timed out", p.connect, err)
		}
		return conn, err
	}
}

// A tracer records the times of one request. A dial may outlive its request and still report.
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

// start keeps the first of several times and end the last, since several addresses may be tried.
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
		DNS:       elapsed(t.dnsStart, t.dnsDone),
		Connect:   elapsed(t.connectStart, t.connectDone),
		TLS:       elapsed(t.tlsStart, t.tlsDone),
		FirstByte: elapsed(t.wrote, t.first),
	}
}

func elapsed(from, to time.Time) time.Duration {
	if from.IsZero() || to.Before(from) {
		return 0
	}
	return to.Sub(from)
}
