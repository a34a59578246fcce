package render

import (
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// commanded is the address of an endpoint that commands may name. They are made of what a stranger wrote and meant to be
// pasted into a shell, so that it is "" unless address and method are plain; nothing in either can leave the quotes.
func commanded(base string, e *site.Endpoint) string {
	if e.Method == "" || len(e.Method) > 16 || strings.Trim(e.Method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return ""
	}
	return display.Link(endpointURL(base, e.Path))
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

// endpointURL is the address of a path below a service's base, percent-encoded to plain ASCII without quotes.
func endpointURL(base, path string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(strings.TrimSuffix(base, "/") + "/" + strings.TrimPrefix(path, "/")) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("'\"`\\<>^|", c) >= 0 {
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
