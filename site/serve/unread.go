package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"tollbook/site"
)

// net/http answers by itself, in plain text and before any handler, what it can't read as a request: a malformed line, a
// path that does not decode, a header that is too large, a missing Host. It has no hook for that, but it writes such an
// answer in one piece straight onto the connection. readable listens with connections that put the contract's error in
// its place. Should net/http change what it writes, its own text goes through; TestUnreadable says so.
type readable struct {
	net.Listener
	handler knower        // answers what is plain on the connection itself; nil for none
	direct  *atomic.Int64 // such answers under way on connections that net/http has closed
}

// Accept implements net.Listener.
func (l readable) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &readableConn{Conn: c, handler: l.handler, direct: l.direct}, nil
}

type readableConn struct {
	net.Conn
	handler knower
	direct  *atomic.Int64
	waiting bool      // net/http waits for the next request, of which it has nothing yet
	renewed time.Time // when the deadlines were, last
	remote  string
	peer    netip.Addr // the same; zero where no one asked
	accepts string     // how the client said last what he can read
	gzip    bool       // what of it was made

	state atomic.Int32
}

// States of a connection, as net/http does not see them.
const (
	connFree      = iota
	connAnswering // by itself
	connClosing   // by net/http, after the answer that is under way
	connClosed
)

// connState is the hook of http.Server by which a connection learns that it waits.
func connState(c net.Conn, state http.ConnState) {
	if c, ok := c.(*readableConn); ok {
		c.waiting = state == http.StateIdle && c.handler != nil
	}
}

// SetReadDeadline implements net.Conn. net/http takes the deadline of its wait away once it has the beginning of a request.
func (c *readableConn) SetReadDeadline(t time.Time) error {
	if t.IsZero() {
		c.waiting = false
	}
	return c.Conn.SetReadDeadline(t)
}

// Read implements net.Conn.
func (c *readableConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for err == nil && len(p) == readSize && c.waiting && c.serveDirectly(p[:n]) {
		n, err = c.Conn.Read(p)
	}
	return n, err
}

// Close implements net.Conn. An answer of which net/http knows nothing is sent to its end first.
func (c *readableConn) Close() error {
	for {
		switch was := c.state.Load(); was {
		case connAnswering:
			if c.state.CompareAndSwap(was, connClosing) {
				c.direct.Add(1)
			}
		case connClosing:
			return c.Conn.SetWriteDeadline(time.Now().Add(drainTimeout))
		default:
			if c.state.CompareAndSwap(was, connClosed) {
				return c.Conn.Close()
			}
		}
	}
}

// begin says that an answer is under way. It is false where the connection was closed before.
func (c *readableConn) begin() bool { return c.state.CompareAndSwap(connFree, connAnswering) }

// end says that there is none any more.
func (c *readableConn) end() {
	if !c.state.CompareAndSwap(connAnswering, connFree) {
		c.state.Store(connClosed)
		_ = c.Conn.Close()
		c.direct.Add(-1)
	}
}

// CloseWrite ends what is sent, so that the client reads an error before the connection breaks.
func (c *readableConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Write implements net.Conn.
func (c *readableConn) Write(p []byte) (int, error) {
	answer, ok := inJSON(p)
	if !ok {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(answer); err != nil {
		return 0, err
	}
	return len(p), nil
}

const statusPrefix = "HTTP/1.1 "

// plainHead is what follows the status in an answer that net/http makes by itself. No answer of a handler looks so: it
// has a date, at least.
const plainHead = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// inJSON is the contract's error in place of one that net/http made by itself; false for what is none.
func inJSON(p []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(p, []byte(statusPrefix))
	if !ok || len(rest) < 3 || rest[0] != '4' && rest[0] != '5' {
		return nil, false
	}
	line, _, _ := bytes.Cut(rest, []byte("\r\n"))
	if !bytes.HasPrefix(rest[len(line):], []byte(plainHead)) {
		return nil, false
	}
	code, err := strconv.Atoi(string(rest[:3]))
	if err != nil || http.StatusText(code) == "" {
		return nil, false
	}
	body, err := json.Marshal(site.ErrorBody{Error: unreadable(code)})
	if err != nil {
		return nil, false
	}
	return fmt.Appendf(nil, "%s%d %s\r\nAccess-Control-Allow-Origin: *\r\nCache-Control: no-store\r\nConnection: close\r\nContent-Length: %d\r\n"+
		"Content-Type: %s\r\nX-Content-Type-Options: nosniff\r\n\r\n%s\n", statusPrefix, code, http.StatusText(code), len(body)+1, typeJSON, body), true
}

// unreadable says what is wrong with a request that could not be read.
func unreadable(code int) site.Error {
	e := site.Error{Code: code, Type: site.ErrorBadRequest, Message: "this can't be read as an HTTP request"}
	switch code {
	case http.StatusRequestHeaderFieldsTooLarge:
		e.Message = fmt.Sprintf("the request's line and header may have %d bytes", maxHeader)
	case http.StatusNotImplemented:
		e.Message = "this transfer encoding is not known"
	case http.StatusHTTPVersionNotSupported:
		e.Message = "this version of HTTP is not spoken here"
	}
	return e
}
