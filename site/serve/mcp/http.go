package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tollbook/site"
)

// Path is where HTTP finds the server.
const Path = "/mcp"

// MaxMessage bounds a message of a client in bytes. The largest that a tool can use has less than a quarter of it.
const MaxMessage = 64 << 10

// transport answers one message at a time: no session is opened, no stream is held, so there is nothing that clients
// could fill up.
type transport struct {
	next  http.Handler
	hosts []string
}

// NewHandler answers a server's clients over HTTP: at Path, to a POST of one message with one JSON answer. Requests
// must name a host that is this machine's own, or one of hosts, and if a page of the web sent them, a page of that
// host: else any page could have its reader's browser ask here, by a name that it makes mean this machine.
func NewHandler(s *sdk.Server, hosts []string) http.Handler {
	return &transport{
		hosts: hosts,
		next: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, MaxRequestBodyBytes: MaxMessage, PropagateRequestCancellation: true,
			DisableLocalhostProtection: true, // by this package, which also knows the names that an operator gives
		}),
	}
}

// ServeHTTP implements http.Handler.
func (t *transport) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	if !t.isOurs(r.Host) {
		refuse(w, http.StatusForbidden, site.ErrorBadRequest,
			fmt.Sprintf("this server is not asked by the name %.100q", r.Host))
		return
	}
	if origins := r.Header.Values("Origin"); len(origins) > 1 || len(origins) == 1 && !isOf(origins[0], r.Host) {
		refuse(w, http.StatusForbidden, site.ErrorBadRequest, "pages of other sites may not ask here")
		return
	}
	if r.URL.Path != Path {
		refuse(w, http.StatusNotFound, site.ErrorNotFound, "not found; MCP is served at "+Path)
		return
	}
	if r.Method != http.MethodPost {
		header.Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, site.ErrorMethodNotAllowed,
			"method not allowed; use POST, because the server keeps no streams and no sessions")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxMessage))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		refuse(w, http.StatusRequestEntityTooLarge, site.ErrorBadRequest,
			fmt.Sprintf("the message has more than %d bytes", MaxMessage))
		return
	} else if err != nil {
		refuse(w, http.StatusBadRequest, site.ErrorBadRequest, "the message can't be read to its end")
		return
	}
	// A batch would be any number of requests for the price of one; the protocol has none any more.
	if first := bytes.TrimLeft(body, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		refuse(w, http.StatusBadRequest, site.ErrorBadRequest, "the body is not one JSON-RPC message")
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	t.next.ServeHTTP(w, r)
}

// isOurs says whether a Host header names this server.
func (t *transport) isOurs(host string) bool {
	name := hostname(host)
	if name == "localhost" || slices.ContainsFunc(t.hosts, func(own string) bool {
		return strings.EqualFold(own, name)
	}) {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// hostname is a host without its port, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// isOf says whether a page of this origin comes from the host that it asks.
func isOf(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, host)
}

// refuse answers an error as the API does.
func refuse(w http.ResponseWriter, code int, kind, message string) {
	body, err := json.Marshal(site.ErrorBody{Error: site.Error{Code: code, Type: kind, Message: message}})
	if err != nil {
		panic(err) // strings and a number
	}
	w.Header().Set("Content-Type", site.TypeJSON)
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n'))
}
