package facts

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// listNames are the members that have been seen to hold a list of what is sold.
var listNames = []string{"resources", "endpoints", "services", "routes", "accepts", "items"}

// Bounds of a list of addresses.
const (
	maxNesting = 4    // lists within entries of lists
	maxEntries = 2000 // entries looked at
)

// Addresses of the documents that list what an origin sells. The first has been seen on most hosts, the second is a
// draft, the third another protocol's, whose sellers often take x402 too.
const (
	wellKnownX402     = "/.well-known/x402"
	wellKnownX402JSON = "/.well-known/x402.json"
	wellKnownMPP      = "/.well-known/mpp"
)

// protocolNames are the members that have been seen to name the protocols by which a resource can be paid.
var protocolNames = []string{"protocols", "protocol", "payment_protocols", "supported_rails"}

// ReadMPP reads /.well-known/mpp in the same shapes as ReadWellKnown. What can only be paid otherwise is left out, as
// of an OpenAPI document: only entries count that name x402 among their protocols, or that name none in a document that
// does.
func ReadMPP(doc []byte, address *url.URL) ([]Declared, error) {
	return readList(doc, address, &walk{seen: map[Declared]bool{}, named: named(objectOf(doc)), onlyX402: true})
}

// named are the protocols that an object names, nil when it names none.
func named(o object) []string {
	for _, name := range protocolNames {
		if list := protocols(o[name]); len(list) > 0 {
			return list
		}
	}
	return nil
}

// ReadWellKnown reads /.well-known/x402 and /.well-known/x402.json in any of the shapes that it has been seen in: a
// list, or an object with a list under one of listNames, of texts ("https://…", "/path", "POST /path"), of objects with
// an address and perhaps a method, or an object keyed by path. Entries may hold lists again. It is a list of addresses
// and nothing more: prices in it are not read. Endpoints come in the order of the document, each once.
func ReadWellKnown(doc []byte, address *url.URL) ([]Declared, error) {
	return readList(doc, address, &walk{seen: map[Declared]bool{}})
}

func readList(doc []byte, address *url.URL, w *walk) ([]Declared, error) {
	if objectOf(doc) == nil && listOf(doc) == nil {
		return nil, errNoDocument
	}
	root := *address
	root.Path, root.RawPath, root.RawQuery = "/", "", ""
	if top := objectOf(doc); top != nil {
		w.members(top, &root, "", 0)
	} else {
		w.list(doc, &root, "", 0)
	}
	return w.found, nil
}

// walk collects addresses.
type walk struct {
	found   []Declared
	seen    map[Declared]bool
	entries int

	named    []string // the protocols that the document names for all of it
	onlyX402 bool     // entries count that can be paid over x402
}

// members looks into the lists of an object.
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
	if address(o) != "" {
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
		if s := scalar(o[key]); isAddress(s) {
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
	m, where := splitMethod(address(o))
	m = declaredMethod(o, m)
	inner := base
	if where != "" {
		if u, err := resolve(base, where); err == nil && isAddress(where) {
			inner = u
		}
	}
	// An entry that holds lists of its own is a service: its address is where they begin.
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
		w.members(o, base, m, depth+1) // the address is in its accepts
		return
	}
	w.add(m, where, o, base)
}

// address is where an entry says that its resource is.
func address(o object) string {
	if s := o.text("url", "resource", "path", "endpoint", "route", "href", "uri", "baseUrl", "base_url"); s != "" {
		return s
	}
	return o.child("resource").text("url", "path")
}

// declaredMethod is the method that an entry names, else the one found beside its address.
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

// splitMethod reads "POST /path".
func splitMethod(s string) (method, address string) {
	before, after, ok := strings.Cut(strings.TrimSpace(s), " ")
	if m := methodOf(before); ok && m != "" {
		return m, strings.TrimSpace(after)
	}
	return "", strings.TrimSpace(s)
}

func (w *walk) add(method, where string, o object, base *url.URL) {
	if !isAddress(where) || len(w.found) >= MaxEndpoints || w.onlyX402 && !w.x402(o) {
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
	d.Description, d.MimeType = plain(o.text("description", "summary", "name"), 500), plain(o.text("mimeType"), 100)
	w.found = append(w.found, d)
}

// x402 says whether an entry can be paid over x402.
func (w *walk) x402(o object) bool {
	if own := named(o); own != nil {
		return slices.Contains(own, "x402")
	}
	return slices.Contains(w.named, "x402")
}

// isAddress holds for texts that are meant as addresses: "/path", "POST /path", "https://…", "api.example.com/path".
func isAddress(s string) bool {
	_, s = splitMethod(s)
	host, _, slash := strings.Cut(s, "/")
	return !strings.ContainsAny(s, " \t") &&
		(strings.HasPrefix(s, "/") || strings.Contains(s, "://") || slash && strings.Contains(host, ".") &&
			!strings.Contains(host, ":"))
}

// resolve takes an address as it is, and puts a path behind the path of the service that it stands in.
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
