package render

import (
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// commanded is the address of an endpoint that commands may name. They are made of what a stranger wrote and meant to
// be pasted into a shell, so that it is "" unless address and method are plain; nothing in either can leave the quotes.
func commanded(base string, e *site.Endpoint) string {
	if e.Method == "" || len(e.Method) > 16 || strings.Trim(e.Method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return ""
	}
	return display.Link(display.EndpointURL(base, e.Path))
}

// curl is the command that asks for a price without paying: what the answer's 402 says is what this page says.
func curl(method, address string) string {
	command := "curl -i"
	if strings.ContainsAny(address, "[]{}") {
		command += " -g"
	}
	switch method {
	case "GET":
	case "HEAD":
		command = strings.Replace(command, "-i", "-I", 1)
	default:
		command += " -X " + method
	}
	command += " '" + address + "'"
	switch method {
	case "POST", "PUT", "PATCH":
		command += " -H 'content-type: application/json' -d '{}'"
	}
	return command
}
