package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"tollbook/site"
)

// net/http answers by itself, in plain text and before any handler, a request that it can't read: a malformed line, a
// path that does not decode, a header that is too large, a missing Host. It has no hook for that, but it writes such an
// answer by one Write on the connection. The connections of an errorListener write the contract's error in its place.
// Should net/http change what it writes, its own text goes through; TestBadRequest says so.
type errorListener struct{ net.Listener }

// Accept implements net.Listener.
func (l errorListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return errorConn{c}, nil
}

type errorConn struct{ net.Conn }

// CloseWrite ends what is sent, so that the client reads an error before the connection breaks.
func (c errorConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Write implements net.Conn.
func (c errorConn) Write(p []byte) (int, error) {
	answer, ok := jsonError(p)
	if !ok {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(answer); err != nil {
		return 0, err
	}
	return len(p), nil
}

const statusPrefix = "HTTP/1.1 "

// plainHead follows the status in an answer that net/http makes by itself. No answer of a handler has such a header: it
// has a date, at least.
const plainHead = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// maxPlain is the largest text of such an answer, in bytes.
const maxPlain = 200

// jsonError returns the contract's error in place of one that net/http made by itself, and false for other bytes.
func jsonError(p []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(p, []byte(statusPrefix))
	if !ok || len(rest) < 3 || rest[0] != '4' && rest[0] != '5' {
		return nil, false
	}
	line, _, _ := bytes.Cut(rest, []byte("\r\n"))
	text, ok := bytes.CutPrefix(rest[len(line):], []byte(plainHead))
	if !ok || len(text) > maxPlain {
		return nil, false
	}
	code, err := strconv.Atoi(string(rest[:3]))
	if err != nil || http.StatusText(code) == "" {
		return nil, false
	}
	body, err := json.Marshal(site.ErrorBody{Error: badRequest(code)})
	if err != nil {
		return nil, false
	}
	return fmt.Appendf(nil, "%s%d %s\r\nAccess-Control-Allow-Origin: *\r\nCache-Control: no-store\r\n"+
		"Connection: close\r\nContent-Length: %d\r\nContent-Type: %s\r\nX-Content-Type-Options: nosniff\r\n\r\n%s\n",
		statusPrefix, code, http.StatusText(code), len(body)+1, typeJSON, body), true
}

// badRequest says what is wrong with a request that could not be read.
func badRequest(code int) site.Error {
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
