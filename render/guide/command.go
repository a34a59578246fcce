// This part of the package writes the commands and programs with which readers ask an endpoint for its price or pay
// it. They contain addresses and amounts that strangers wrote, and readers paste them into a shell or run them.
//
// It must never know a page.

package guide

import (
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// Request is a request to an endpoint that a command or program sends.
type Request struct {
	Method string // in capitals
	URL    string // absolute, percent-encoded
	Body   string // JSON; "" sends none
}

// NewRequest returns the request of an endpoint, and false unless its method and URL are plain: neither can leave the
// quotes of a command.
func NewRequest(base string, e *site.Endpoint) (Request, bool) {
	if e.Method == "" || len(e.Method) > 16 || strings.Trim(e.Method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return Request{}, false
	}
	r := Request{Method: e.Method, URL: display.Link(display.EndpointURL(base, e.Path))}
	switch r.Method {
	case "POST", "PUT", "PATCH":
		r.Body = "{}"
	}
	return r, r.URL != ""
}

// Curl returns the command that asks for a price without paying. The answer is a 402 with the price.
func (r Request) Curl() string {
	command := "curl -i"
	if strings.ContainsAny(r.URL, "[]{}") {
		command += " -g"
	}
	switch r.Method {
	case "GET":
	case "HEAD":
		command = strings.Replace(command, "-i", "-I", 1)
	default:
		command += " -X " + r.Method
	}
	command += " '" + r.URL + "'"
	if r.Body != "" {
		command += " -H 'content-type: application/json' -d " + shellQuote(r.Body)
	}
	return command
}

// shellQuote quotes text for a shell.
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
