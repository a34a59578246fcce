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
	"tollbook/site/routes"
)

// Path is the path of the server over HTTP.
const Path = "/mcp"

// MaxMessage is the maximum size of a client's message in bytes. The largest message that a tool can use is less than a
// quarter of it.
const MaxMessage = 64 << 10

// transport handles one message at a time. It has no sessions and no streams, so clients cannot exhaust them.
type transport struct {
	next  http.Handler
	hosts []string
}

// NewHandler serves the clients of a server over HTTP: a POST of one message to Path gets one JSON response. The Host
// header must name this machine or one of hosts, and the Origin header, if present, must be the same host. Otherwise
// any web page could use DNS rebinding to send requests here from a visitor's browser.
func NewHandler(s *sdk.Server, hosts []string) http.Handler {
	return &transport{
		hosts: hosts,
		next: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, MaxRequestBodyBytes: MaxMessage, PropagateRequestCancellation: true,
			DisableLocalhostProtection: true, // this package checks the host, with the names that an operator allows
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
			fmt.Sprintf("the host %.100q is not allowed; use the name of this server", r.Host))
		return
	}
	if origins := r.Header.Values("Origin"); len(origins) > 1 || len(origins) == 1 && !isOf(origins[0], r.Host) {
		refuse(w, http.StatusForbidden, site.ErrorBadRequest, "requests from pages of other origins are not allowed")
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
			fmt.Sprintf("the message must have at most %d bytes", MaxMessage))
		return
	} else if err != nil {
		refuse(w, http.StatusBadRequest, site.ErrorBadRequest, "the message ended early")
		return
	}
	// A batch would evade the rate limit; current versions of the protocol have no batches.
	if first := bytes.TrimLeft(body, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		refuse(w, http.StatusBadRequest, site.ErrorBadRequest, "the body must be one JSON-RPC message")
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	t.next.ServeHTTP(w, r)
}

// isOurs reports whether a Host header names this server.
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

// hostname returns a host without its port, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// isOf reports whether an origin has this host.
func isOf(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, host)
}

// refuse sends an error in the format of the API.
func refuse(w http.ResponseWriter, code int, kind, message string) {
	body, err := json.Marshal(site.ErrorBody{Error: site.Error{Code: code, Type: kind, Message: message}})
	if err != nil {
		panic(err) // strings and a number
	}
	w.Header().Set("Content-Type", routes.TypeJSON)
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n'))
}
