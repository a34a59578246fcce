package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"tollbook/site"
)

const statusPrefix = "HTTP/1.1 "

// plainHead follows the status in a response that net/http sends itself. A handler's response never has this header,
// because it contains at least a Date.
const plainHead = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// maxPlain is the maximum length of the text of such a response in bytes.
const maxPlain = 200

// jsonError returns the JSON error for a response that net/http sends itself, and false for any other bytes.
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
	return newRawError(badRequestError(code), ""), true
}

// refusal is the response to a connection that is over the limit of its client, before any request was read.
var refusal = newRawError(errorOf(errConnections), "Retry-After: 1\r\n")

// newRawError returns an error response that closes the connection. more are header fields with their line ends.
func newRawError(e site.Error, more string) []byte {
	body, err := json.Marshal(site.ErrorBody{Error: e})
	if err != nil {
		panic(err) // cannot fail: strings and a number
	}
	return fmt.Appendf(nil, "%s%d %s\r\nAccess-Control-Allow-Origin: *\r\nCache-Control: no-store\r\n"+
		"Connection: close\r\nContent-Length: %d\r\nContent-Type: %s\r\nLink: %s\r\n"+
		"%sX-Content-Type-Options: nosniff\r\n\r\n%s\n",
		statusPrefix, e.Code, http.StatusText(e.Code), len(body)+1, typeJSON, headerLicense[0], more, body)
}

// badRequestError returns the error for a request that net/http cannot parse.
func badRequestError(code int) site.Error {
	e := site.Error{Code: code, Type: site.ErrorBadRequest, Message: "this is not a valid HTTP request"}
	switch code {
	case http.StatusRequestHeaderFieldsTooLarge:
		e.Message = fmt.Sprintf("the request line and header are too large: at most %d bytes are allowed", maxHeader)
	case http.StatusNotImplemented:
		e.Message = "this transfer encoding is not supported"
	case http.StatusHTTPVersionNotSupported:
		e.Message = "this version of HTTP is not supported"
	}
	return e
}
