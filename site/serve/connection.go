package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attach makes a server count and limit its connections. It returns the listener that the server must serve, which
// accepts connections of in within the limits of s until done is closed.
func (s *ConnectionLimiter) attach(server *http.Server, in net.Listener, done <-chan struct{}) net.Listener {
	server.Handler = awaitBodies(server.Handler)
	server.ConnContext, server.ConnState = withConn, changeState // conn limits the time of writes
	return &listener{in, s, done}
}

// listener accepts connections within the limits of a server.
type listener struct {
	net.Listener
	all    *ConnectionLimiter
	closed <-chan struct{} // ends a wait for a free connection
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		in, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := newConn(in, l.all)
		for {
			wait, err := l.all.admit(c)
			if err != nil {
				c.refuse()
				break
			}
			if wait == 0 {
				return c, nil
			}
			select {
			case <-time.After(wait):
			case <-l.closed:
				in.Close()
				return nil, net.ErrClosed
			}
		}
	}
}

// conn is the connection of a client. It counts as waiting for the client while it reads a request or writes.
type conn struct {
	net.Conn
	all     *ConnectionLimiter
	client  clientID
	isProxy bool
	waiting atomic.Int64 // nanoseconds after all.began when it began to wait for its client; 0 if it does not wait

	// all.mu protects these fields.
	isCut, isSending bool
	held             int64 // bytes of memory of its response, without those of the body

	// Only the goroutine that serves the connection uses these fields.
	sent     int64         // bytes of this response
	waited   time.Duration // for the client to accept them
	deadline time.Time     // set by the handler
}

func newConn(in net.Conn, all *ConnectionLimiter) *conn {
	limitUnsent(in)
	c := &conn{Conn: in, all: all}
	if peer, err := netip.ParseAddrPort(in.RemoteAddr().String()); err == nil {
		addr := peer.Addr().Unmap().WithZone("")
		c.client, c.isProxy = newClientID(addr), isTrusted(addr, all.limits.Trusted)
	}
	return c
}

// maxUnsent is how many bytes the kernel accepts for a connection before it can send them. More would take memory of
// the kernel, without making a download faster.
const maxUnsent = 128 << 10

// limitUnsent applies maxUnsent to a TCP connection. It ignores errors, because the connection works without.
func limitUnsent(in net.Conn) {
	tcp, ok := in.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsent)
		})
	}
}

type connKey struct{}

// withConn is http.Server.ConnContext.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// changeState is http.Server.ConnState.
func changeState(in net.Conn, state http.ConnState) {
	c := in.(*conn)
	switch state {
	case http.StateActive: // the header of a request was read
		c.sent, c.waited, c.deadline = 0, 0, time.Time{}
		c.all.work(c)
	case http.StateIdle:
		c.all.wait(c)
	}
}

// awaitBodies returns a handler for which a connection waits for its client while h reads the body of a request.
func awaitBodies(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok && r.ContentLength != 0 {
			// A copy, because net/http looks at the body of its own request: it waits before it closes the connection
			// of a client that still sends. Otherwise that client would get a reset in place of the response.
			r = r.WithContext(r.Context())
			r.Body = &awaitedBody{r.Body, c}
		}
		h.ServeHTTP(w, r)
	})
}

// awaitedBody is the body of a request.
type awaitedBody struct {
	io.ReadCloser
	from *conn
}

// Read implements io.Reader.
func (b *awaitedBody) Read(p []byte) (int, error) {
	b.from.all.wait(b.from)
	defer b.from.all.work(b.from)
	return b.ReadCloser.Read(p)
}

// pieceBytes is how much is written with one deadline. A client that accepts so little is making progress.
const pieceBytes = 32 << 10

// Write implements net.Conn. It replaces an error response of net/http by the server's own.
func (c *conn) Write(p []byte) (int, error) {
	response, ok := jsonError(p)
	if !ok {
		return c.send(p)
	}
	if _, err := c.send(response); err != nil {
		return 0, err
	}
	return len(p), nil
}

// send writes p in pieces. It fails if the client accepts nothing for limits.Stall, or less than limits.MinRate on
// average, or after the handler's own deadline.
func (c *conn) send(p []byte) (n int, err error) {
	for len(p) > 0 {
		piece := p[:min(len(p), pieceBytes)]
		c.all.wait(c)
		began := time.Now()
		if err := c.Conn.SetWriteDeadline(c.nextDeadline(began)); err != nil {
			return n, err
		}
		k, err := c.Conn.Write(piece)
		c.all.work(c)
		c.waited += time.Since(began)
		c.sent += int64(k)
		n += k
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				c.all.slow.Add(1)
			}
			return n, err
		}
		p = p[k:]
	}
	return n, nil
}

// nextDeadline returns when the next piece must have been written.
func (c *conn) nextDeadline(now time.Time) time.Time {
	l := &c.all.limits
	left := l.Stall
	if l.MinRate > 0 {
		earned := time.Duration(float64(c.sent) / float64(l.MinRate) * float64(time.Second))
		left = min(left, l.Stall+earned-c.waited)
	}
	end := now.Add(left)
	if !c.deadline.IsZero() && c.deadline.Before(end) {
		return c.deadline
	}
	return end
}

// SetWriteDeadline implements net.Conn. It applies to one response, together with the server's own limits.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.deadline = t
	return nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.all.close(c)
	return c.Conn.Close()
}

// CloseWrite closes the sending side, so that the client reads the error before the connection is reset.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// abort closes the connection and drops what the kernel has not sent.
func (c *conn) abort() {
	if tcp, ok := c.Conn.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0) // the connection is closed in any case
	}
	c.Conn.Close()
}

// refuse answers a connection that is over the limit of its client, before any request was read, and closes it.
func (c *conn) refuse() {
	defer c.Conn.Close()
	if err := c.Conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return
	}
	_, _ = c.Conn.Write(refusal)
	_ = c.CloseWrite()
}
