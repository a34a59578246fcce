// Package facts gathers facts about a service that change slowly: which documents its site has, which endpoints they
// declare, who registered its domain, and which services a facilitator's catalogue lists.
//
// The readers are pure functions from any bytes to what a document declares. The Fetcher sends the requests: through
// the probe's guard, within the service's own site, as robots.txt allows, at the pace of the crawler. The package
// stores nothing. It must never know a database, a schedule, a check or a judgment. A price in a document is a hint;
// only a live 402 states a price.
package facts

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"tollbook/crawl/source"
	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/listing"
)

// Origins of an endpoint, the most trusted first. If two origins declare different methods for a URL, the first one
// counts. The endpoint's own answers count more than any origin.
const (
	OriginOpenAPI   = "openapi"
	OriginWellKnown = "well-known"
	OriginCatalogue = site.OriginCatalogue
	OriginAgentCard = "agent-card"
	OriginLLMsTxt   = "llms-txt"
	OriginMCP       = "mcp" // the list of tools of an MCP server
)

// MaxEndpoints is the most endpoints that are tracked for a service, and read from a document.
const MaxEndpoints = 200

// Declared is an endpoint as a document declares it.
type Declared struct {
	Method      string // upper case; "" if the document does not say
	URL         string // absolute; "{name}" in its path is a placeholder without an example in the document
	Description string
	MimeType    string
	Origin      string
	Template    string // route template of which URL is an instance; "" for none
	Tool        string // name of the MCP tool at URL; "" for none
	Price       *Price // price in the document, nil for none
}

// Endpoint is a declared endpoint as a path below a service's base URL.
type Endpoint struct {
	Declared
	Path string // with its query, if it has one
}

// toolName is the form of a name of an MCP tool that can be part of a path.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// maxPath is the longest path of an endpoint in bytes, the same as in a submission.
const maxPath = 500

// FilterBelow returns the declared endpoints below a service's base URL, in order and without duplicates. A service may
// not declare URLs on another host or outside the base path. Below accepts http for an https base URL, since many
// services don't know that a proxy terminates TLS.
func FilterBelow(base string, declared []Declared) []Endpoint {
	b, err := url.Parse(base)
	if err != nil {
		return nil
	}
	var out []Endpoint
	type key struct{ method, path string }
	seen := map[key]bool{}
	templates := map[key]bool{}
	for _, d := range declared {
		path, ok := pathBelow(b, d.URL)
		if !ok {
			continue
		}
		if d.Tool != "" {
			if !toolName.MatchString(d.Tool) {
				continue
			}
			path, _, _ = strings.Cut(path, "?")
			path += "#" + d.Tool
		}
		cleanText, _, _ := strings.Cut(path, "?")
		if k := (key{d.Method, cleanText}); seen[k] || d.Template != "" && templates[key{d.Method, d.Template}] {
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

func pathBelow(base *url.URL, address string) (path string, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Scheme != "http" && u.Scheme != "https" ||
		source.CanonicalHost(authority(u)) != source.CanonicalHost(authority(base)) {
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
	if len(path) > maxPath || strings.HasPrefix(path, "//") || strings.ContainsFunc(path, bad) || hasDots(u.Path) {
		return "", false
	}
	return path, true
}

// authority returns the host of a URL in the form of listing.NormalHost, and its port unless that is a default one.
func authority(u *url.URL) string {
	host, err := listing.NormalHost(u.Hostname())
	if err != nil {
		host = strings.ToLower(u.Hostname())
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && port != "443" && port != "80" {
		return host + ":" + port
	}
	return host
}

func hasDots(path string) bool {
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

// cleanText makes a stranger's text fit to be stored: valid UTF-8 on one line without control characters, at most n
// runes.
func cleanText(s string, n int) string {
	s = s[:min(len(s), 16*n)] // the rest may be megabytes and would not be shown
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), " ")
	s = invisible.Replace(s)
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}
