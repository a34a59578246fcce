// Package listing checks what describes a service and brings it into one form: texts, URLs, endpoints and slugs. It
// contains the list of free-hosting domains. It does not know the API, nor where a description comes from.
package listing

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the texts that describe a service.
const (
	MaxName        = 100  // characters
	MaxDescription = 2000 // characters
	MaxEndpoints   = 25
	MaxPath        = 500  // bytes of an endpoint's path
	MaxURL         = 2048 // bytes
)

// CheckText checks a text that describes a service. most is its maximum length in characters.
func CheckText(s string, most int) error {
	switch n := utf8.RuneCountInString(s); {
	case strings.TrimSpace(s) == "":
		return errors.New("is missing")
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return errors.New("must not contain control characters")
	case n > most:
		return fmt.Errorf("must have at most %d characters; got %d", most, n)
	}
	return nil
}

// ParseURL parses an absolute http or https URL without userinfo. Its host is in the form of NormalHost, without the
// scheme's own port.
func ParseURL(s string) (*url.URL, error) {
	normal, err := NormalOrigin(s)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(normal)
	if err != nil {
		return nil, fmt.Errorf("must be a URL of at most %d bytes; got %.60q", MaxURL, s)
	}
	return u, nil
}

// NormalOrigin returns an absolute http or https URL with its scheme, host and port in one form; the rest is unchanged.
// Userinfo is an error.
func NormalOrigin(s string) (string, error) {
	a, ok := splitAddress(s)
	switch {
	case s == "":
		return "", errors.New("is missing")
	case len(s) > MaxURL || strings.ContainsFunc(s, unicode.IsControl):
		return "", fmt.Errorf("must be a URL of at most %d bytes; got %.60q", MaxURL, s)
	case !ok || a.host == "" || a.host[0] == ':':
		return "", fmt.Errorf("must start with https:// or http:// and a host; got %.60q", s)
	case a.hasUser:
		return "", errors.New("must not contain a user name or password")
	}
	origin, err := a.origin()
	if err != nil {
		return "", fmt.Errorf("must be a URL, but %w; got %.60q", err, s)
	}
	return origin + a.rest, nil
}

// BaseURL returns a URL in the form that endpoint paths are appended to: with the host in one form, without default port
// and trailing slash. A query or fragment is an error.
func BaseURL(s string) (string, error) {
	u, err := ParseURL(s)
	if err != nil {
		return "", err
	}
	if u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return "", fmt.Errorf("must not contain a query or fragment; got %.60q", s)
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// DeclaredPath is an endpoint as its owner declares it. Method is "" if the owner does not name one.
type DeclaredPath struct{ Method, Path string }

// String returns the form that ParsePaths reads: "/x" or "POST /x".
func (d DeclaredPath) String() string { return strings.TrimSpace(d.Method + " " + d.Path) }

// toolName is the form of the name of an MCP tool: the endpoint of tool "quote" at /mcp is "POST /mcp#quote".
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// ParsePaths parses a list of endpoints, each "/x", "POST /x", or "POST /x#tool" for a tool of an MCP server.
func ParsePaths(list []string) ([]DeclaredPath, error) {
	if len(list) == 0 || len(list) > MaxEndpoints {
		return nil, fmt.Errorf("must be a list of 1 to %d paths; got %d", MaxEndpoints, len(list))
	}
	seen := map[DeclaredPath]bool{}
	var out []DeclaredPath
	for _, s := range list {
		method, path, declared := strings.Cut(s, " ")
		if !declared {
			method, path = "", s
		}
		u, err := url.Parse(path)
		switch {
		case declared && !strings.Contains(" GET POST PUT PATCH DELETE ", " "+method+" "):
			return nil, fmt.Errorf("%.60q: the method must be GET, POST, PUT, PATCH or DELETE", s)
		case err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || u.Host != "" ||
			u.Fragment != "" && !(method == "POST" && toolName.MatchString(u.Fragment)):
			return nil, fmt.Errorf("%.60q: must be like \"/path\" or \"POST /path\"", s)
		case len(path) > MaxPath || strings.ContainsFunc(path, func(r rune) bool {
			return unicode.IsControl(r) || unicode.IsSpace(r)
		}):
			return nil, fmt.Errorf("%.60q: a path must have at most %d bytes, without spaces and control characters", s,
				MaxPath)
		}
		d := DeclaredPath{Method: method, Path: path}
		if seen[d] {
			return nil, fmt.Errorf("%.60q appears twice", s)
		}
		seen[d] = true
		out = append(out, d)
	}
	return out, nil
}
