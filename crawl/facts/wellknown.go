package facts

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// listNames are the members under which sellers list what they sell.
var listNames = []string{"resources", "endpoints", "services", "routes", "accepts", "items"}

// Limits of a list of URLs.
const (
	maxNesting = 4    // lists within entries of lists
	maxEntries = 2000 // entries that are read
)

// Paths of the documents that list what an origin sells. Most hosts use the first; the second is a draft; the third
// belongs to another protocol, whose sellers often accept x402 too.
const (
	wellKnownX402     = "/.well-known/x402"
	wellKnownX402JSON = "/.well-known/x402.json"
	wellKnownMPP      = "/.well-known/mpp"
)

// protocolNames are the members in which sellers name the protocols by which a resource can be paid.
var protocolNames = []string{"protocols", "protocol", "payment_protocols", "supported_rails"}

// ReadMPP reads /.well-known/mpp, in the same shapes as ReadWellKnown. It omits entries that can't be paid over x402:
// an entry counts if it names x402 among its protocols, or if it names none and the document names x402.
func ReadMPP(doc []byte, addressOf *url.URL) ([]Declared, error) {
	return readList(doc, addressOf, &walk{seen: map[Declared]bool{}, namedProtocols: namedProtocols(objectOf(doc)),
		onlyX402: true})
}

// namedProtocols returns the protocols that an object names, nil for none.
func namedProtocols(o object) []string {
	for _, name := range protocolNames {
		if list := readProtocols(o[name]); len(list) > 0 {
			return list
		}
	}
	return nil
}

// ReadWellKnown reads /.well-known/x402 and /.well-known/x402.json in the shapes that sellers use:
//
//   - a list, or an object with a list under one of listNames
//   - with strings ("https://…", "/path", "POST /path") or objects with a URL and perhaps a method
//   - an object keyed by path
//
// Entries may contain further lists. Prices are not read. Endpoints are in the order of the document, each once.
func ReadWellKnown(doc []byte, addressOf *url.URL) ([]Declared, error) {
	return readList(doc, addressOf, &walk{seen: map[Declared]bool{}})
}

func readList(doc []byte, addressOf *url.URL, w *walk) ([]Declared, error) {
	if objectOf(doc) == nil && listOf(doc) == nil {
		return nil, errNoDocument
	}
	root := *addressOf
	root.Path, root.RawPath, root.RawQuery = "/", "", ""
	if top := objectOf(doc); top != nil {
		w.members(top, &root, "", 0)
	} else {
		w.list(doc, &root, "", 0)
	}
	return w.endpoints, nil
}

// walk collects declared endpoints from a document.
type walk struct {
	endpoints []Declared
	seen      map[Declared]bool
	entries   int

	namedProtocols []string // the protocols that the document names for all entries
	onlyX402       bool     // accept only entries that can be paid over x402
}

// members reads the lists of an object.
func (w *walk) members(o object, base *url.URL, method string, depth int) {
	for _, name := range listNames {
		if raw, ok := o[name]; ok {
			w.list(raw, base, method, depth)
		}
	}
}

// list reads a list of entries, or an object keyed by path.
func (w *walk) list(raw json.RawMessage, base *url.URL, method string, depth int) {
	if depth >= maxNesting {
		return
	}
	if entries := listOf(raw); entries != nil {
		for _, e := range entries {
			w.entry(e, base, method, depth)
		}
		return
	}
	o := objectOf(raw)
	if addressOf(o) != "" {
		w.entry(raw, base, method, depth)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if m, path := splitMethod(key); strings.HasPrefix(path, "/") || strings.Contains(path, "://") {
			inner := objectOf(o[key])
			w.add(declaredMethod(inner, m), path, inner, base)
			w.members(inner, base, method, depth+1)
			continue
		}
		if s := scalar(o[key]); isURL(s) {
			w.entry(o[key], base, method, depth)
			continue
		}
		w.list(o[key], base, method, depth+1) // keyed by name
	}
}

func (w *walk) entry(raw json.RawMessage, base *url.URL, method string, depth int) {
	if w.entries++; w.entries > maxEntries {
		return
	}
	if s := scalar(raw); s != "" {
		m, path := splitMethod(s)
		if m == "" {
			m = method
		}
		w.add(m, path, nil, base)
		return
	}
	o := objectOf(raw)
	if o == nil {
		return
	}
	m, where := splitMethod(addressOf(o))
	m = declaredMethod(o, m)
	inner := base
	if where != "" {
		if u, err := resolve(base, where); err == nil && isURL(where) {
			inner = u
		}
	}
	// An entry with lists of its own is a service: its URL is the base of theirs.
	before := w.entries
	for _, name := range listNames {
		if raw, ok := o[name]; ok && name != "accepts" {
			w.list(raw, inner, m, depth+1)
		}
	}
	if w.entries != before {
		return
	}
	if where == "" {
		w.members(o, base, m, depth+1) // its URL is in accepts
		return
	}
	w.add(m, where, o, base)
}

// addressOf returns the URL of an entry's resource.
func addressOf(o object) string {
	if s := o.text("url", "resource", "path", "endpoint", "route", "href", "uri", "baseUrl", "base_url"); s != "" {
		return s
	}
	return o.child("resource").text("url", "path")
}

// declaredMethod returns the method that an entry names, else the one next to its URL.
func declaredMethod(o object, other string) string {
	m := methodOf(o.text("method", "httpMethod", "http_method"))
	if m == "" {
		if list := o.list("methods"); len(list) > 0 {
			m = methodOf(scalar(list[0]))
		}
	}
	for _, name := range []string{"input", "outputSchema"} {
		if m == "" {
			in := o.child(name)
			if in.child("input") != nil {
				in = in.child("input")
			}
			m = methodOf(in.text("method"))
		}
	}
	if m == "" {
		return other
	}
	return m
}

// splitMethod splits "POST /path".
func splitMethod(s string) (method, addressOf string) {
	before, after, ok := strings.Cut(strings.TrimSpace(s), " ")
	if m := methodOf(before); ok && m != "" {
		return m, strings.TrimSpace(after)
	}
	return "", strings.TrimSpace(s)
}

func (w *walk) add(method, where string, o object, base *url.URL) {
	if !isURL(where) || len(w.endpoints) >= MaxEndpoints || w.onlyX402 && !w.acceptsX402(o) {
		return
	}
	u, err := resolve(base, where)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return
	}
	d := Declared{Method: method, URL: u.String(), Origin: OriginWellKnown}
	if w.seen[d] {
		return
	}
	w.seen[d] = true
	d.Description, d.MimeType = cleanText(o.text("description", "summary", "name"), 500),
		cleanText(o.text("mimeType"), 100)
	w.endpoints = append(w.endpoints, d)
}

// acceptsX402 reports whether an entry can be paid over x402.
func (w *walk) acceptsX402(o object) bool {
	if own := namedProtocols(o); own != nil {
		return slices.Contains(own, "x402")
	}
	return slices.Contains(w.namedProtocols, "x402")
}

// isURL reports whether a string has the form of a URL or path: "/path", "POST /path", "https://…",
// "a.example/path".
func isURL(s string) bool {
	_, s = splitMethod(s)
	host, _, slash := strings.Cut(s, "/")
	return !strings.ContainsAny(s, " \t") &&
		(strings.HasPrefix(s, "/") || strings.Contains(s, "://") || slash && strings.Contains(host, ".") &&
			!strings.Contains(host, ":"))
}

// resolve returns an absolute URL as it is, and appends a path to the path of the enclosing service.
func resolve(base *url.URL, where string) (*url.URL, error) {
	switch {
	case strings.HasPrefix(where, "//"), strings.Contains(where, "://"):
	case !strings.HasPrefix(where, "/"):
		where = base.Scheme + "://" + where
	case len(base.Path) > 1 && !strings.HasPrefix(where, base.Path):
		where = strings.TrimRight(base.EscapedPath(), "/") + where
	}
	return base.Parse(where)
}
