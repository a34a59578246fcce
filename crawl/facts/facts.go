// Package facts gathers what changes slowly about a service: which documents its site has, what they declare for sale,
// who registered its domain, and which services a facilitator's catalogue lists.
//
// Each reader is pure: the bytes of a document in, what it says out, whatever the bytes are. The Fetcher carries the
// requests: through the probe's guard, within the service's own site, as robots.txt wants it, at the pace of whoever
// crawls. The package owns the forms in which endpoints are declared and the manners of asking for documents. It keeps
// nothing itself, and must never know a database, a schedule, a check or a judgment: a price in a document is a hint,
// only a live 402 tells what is asked.
package facts

import (
	"net/url"
	"strings"
	"unicode"
)

// Origins of an endpoint, the most trusted first. Where two tell different methods of an address, the first one counts;
// what the endpoint itself answered counts more than any.
const (
	OriginOpenAPI   = "openapi"
	OriginWellKnown = "well-known"
	OriginCatalogue = "catalogue"
)

// MaxEndpoints is how many endpoints are tracked of a service, and read from a document.
const MaxEndpoints = 200

// Declared is an endpoint as a document declares it.
type Declared struct {
	Method      string // upper case, "" when the document does not say
	URL         string // absolute; "{name}" in its path is a placeholder that the document gives no example for
	Description string
	MimeType    string
	Origin      string
	Template    string // route template that the address is one instance of, "" without
	Price       *Price // what the document says that it costs, nil when it does not
}

// Price is what a document says of the price. It is never taken for the price.
type Price struct {
	Mode      string   // fixed, dynamic, offer, or "" when it is not said
	Currency  string   // as written; "" for US dollars by convention
	Amount    string   // decimal text; base units in an offer
	Min, Max  string   // of a dynamic price
	Protocols []string // x402, mpp, in lower case, as listed; empty when none is named
}

// Endpoint is a declared endpoint as a path below a service's base address.
type Endpoint struct {
	Declared
	Path string // with its query, where it has one
}

// maxPath is the longest path of an endpoint, in bytes, as in a submission.
const maxPath = 500

// Below keeps the declared endpoints that lie below a service's base address, in their order and each once: an address
// on another host, or outside the base path, is not the service's to declare. http instead of https is let pass, since
// many a service does not know the proxy before it.
func Below(base string, declared []Declared) []Endpoint {
	b, err := url.Parse(base)
	if err != nil {
		return nil
	}
	var out []Endpoint
	type key struct{ method, path string }
	seen := map[key]bool{}
	templates := map[key]bool{}
	for _, d := range declared {
		path, ok := below(b, d.URL)
		if !ok {
			continue
		}
		plain, _, _ := strings.Cut(path, "?")
		if k := (key{d.Method, plain}); seen[k] || d.Template != "" && templates[key{d.Method, d.Template}] {
			continue
		} else {
			seen[k] = true
		}
		if d.Template != "" {
			templates[key{d.Method, d.Template}] = true
		}
		out = append(out, Endpoint{d, path})
	}
	return out
}

func below(base *url.URL, address string) (path string, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Scheme != "http" && u.Scheme != "https" || authority(u) != authority(base) {
		return "", false
	}
	path, ok = strings.CutPrefix(unescapeBraces(u.EscapedPath()), strings.TrimRight(base.EscapedPath(), "/"))
	if !ok || path != "" && path[0] != '/' {
		return "", false
	}
	if path == "" {
		path = "/"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	bad := func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }
	if len(path) > maxPath || strings.HasPrefix(path, "//") || strings.ContainsFunc(path, bad) || dotted(u.Path) {
		return "", false
	}
	return path, true
}

// authority is the host and port of an address, without the port that its scheme has anyway.
func authority(u *url.URL) string {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && port != "443" && port != "80" {
		return host + ":" + port
	}
	return host
}

func dotted(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

var braces = strings.NewReplacer("%7B", "{", "%7D", "}", "%7b", "{", "%7d", "}", "%5B", "[", "%5D", "]", "%5b", "[",
	"%5d", "]")

// unescapeBraces keeps placeholders readable: "{id}", not "%7Bid%7D".
func unescapeBraces(path string) string { return braces.Replace(path) }

// plain makes a stranger's text fit to be kept: valid UTF-8 on one line without control characters, at most n runes.
func plain(s string, n int) string {
	s = s[:min(len(s), 16*n)] // what is cut off would hardly be shown, and may be megabytes
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), " ")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '\ufffd'
		}
		return r
	}, s)
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}
