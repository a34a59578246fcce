package facts

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/jsontext"
)

// listNames are the members under which sellers list what they sell.
var listNames = []string{"resources", "endpoints", "services", "routes", "accepts", "items", "paidEndpoints",
	"paid_endpoints"}

// Limits of a manifest.
const (
	maxNesting = 4      // lists within entries of lists
	maxEntries = 20_000 // entries that are read; real manifests have some thousands
)

// Paths of the documents that list what an origin sells. Most hosts use the first; the second is a draft; the third
// belongs to another protocol.
const (
	wellKnownX402     = "/.well-known/x402"
	wellKnownX402JSON = "/.well-known/x402.json"
	wellKnownMPP      = "/.well-known/mpp"
)

// protocolNames are the members in which sellers name the protocols by which a resource can be paid.
var protocolNames = []string{"protocols", "protocol", "payment_protocols", "supported_rails"}

// namedProtocols returns the protocols that an object names, nil for none.
func namedProtocols(o object) []string {
	for _, name := range protocolNames {
		if list := readProtocols(o.Get(name)); len(list) > 0 {
			return list
		}
	}
	return nil
}

// ReadManifest reads /.well-known/x402, /.well-known/x402.json and /.well-known/mpp in the shapes that sellers use:
//
//   - a list, or an object with a list under one of listNames
//   - with strings ("https://…", "/path", "POST /path") or objects with a URL and perhaps a method
//   - an object keyed by path
//
// Entries may contain further lists. It omits entries that are free, and entries that name only protocols that Tollbook
// does not read. Endpoints are in the order of the document, each once.
func ReadManifest(doc []byte, address *url.URL, base string) (Reading, error) {
	text, err := readJSON(doc)
	if err != nil {
		return Reading{}, err
	}
	root := *address
	root.Path, root.RawPath, root.RawQuery = "/", "", ""
	w := walk{reader: newReader(base)}
	switch jsontext.Kind(text) {
	case '{':
		top := objectOf(text)
		if rows := top.list("accepts"); addressOf(top) != "" && len(rows) > 0 && addressOf(objectOf(rows[0])) == "" {
			w.entry(text, &root, "", 0) // the terms of one resource
		} else {
			w.members(top, &root, "", 0)
		}
	case '[':
		w.list(text, &root, "", 0)
	default:
		return Reading{}, fmt.Errorf("%w: it is neither a list nor an object", errNoDocument)
	}
	return w.result(), nil
}

// walk collects declared endpoints from a manifest.
type walk struct {
	*reader
	entries int
}

// members reads the lists of an object.
func (w *walk) members(o object, base *url.URL, method string, depth int) {
	for _, name := range listNames {
		if raw := o.Get(name); raw != nil {
			w.list(raw, base, method, depth)
		}
	}
}

// list reads a list of entries, or an object keyed by path.
func (w *walk) list(raw json.RawMessage, base *url.URL, method string, depth int) {
	if depth >= maxNesting {
		return
	}
	if jsontext.Kind(raw) == '[' {
		for e := range jsontext.Elements(raw) {
			w.entry(e, base, method, depth)
		}
		return
	}
	o := objectOf(raw)
	if addressOf(o) != "" {
		w.entry(raw, base, method, depth)
		return
	}
	byKey := make(map[string]json.RawMessage, len(o.Object))
	for _, m := range o.Object {
		byKey[m.Key] = m.Value
	}
	for _, key := range o.keys() {
		value := byKey[key]
		if m, path := splitMethod(key); strings.HasPrefix(path, "/") || strings.Contains(path, "://") {
			inner := objectOf(value)
			if isZero(scalar(value)) { // "/path": "$0"
				w.skip(site.SkippedFree)
				continue
			}
			w.add(declaredMethod(inner, m), path, inner, base)
			w.members(inner, base, method, depth+1)
			continue
		}
		if isURL(scalar(value)) {
			w.entry(value, base, method, depth)
			continue
		}
		w.list(value, base, method, depth+1) // keyed by name
	}
	w.skipCut(raw)
}

func (w *walk) entry(raw json.RawMessage, base *url.URL, method string, depth int) {
	if w.entries++; w.entries > maxEntries {
		w.skip(site.SkippedOverLimit)
		return
	}
	if s := scalar(raw); s != "" {
		m, path := splitMethod(s)
		if m == "" {
			m = method
		}
		w.add(m, path, object{}, base)
		return
	}
	o := objectOf(raw)
	if o.isAbsent() {
		w.skip(site.SkippedNoURL)
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
		if raw := o.Get(name); raw != nil && name != "accepts" {
			w.list(raw, inner, m, depth+1)
		}
	}
	switch {
	case w.entries != before:
	case where != "":
		w.add(m, where, o, base)
	case len(o.list("accepts")) > 0:
		w.members(o, base, m, depth+1) // its URL is in accepts
	default:
		w.skip(site.SkippedNoURL)
	}
}

// priceNames are the members in which sellers write what a resource costs.
var priceNames = []string{"price", "price_usd", "priceUsd", "priceUSD", "priceInUSD", "usd", "cost", "cost_usd",
	"costUsd", "amount", "maxAmountRequired", "max_amount_required", "value", "max", "maxPrice"}

// freeReason returns the reason to skip an entry that asks for no payment, "" for any other. Such an entry says so
// itself, has an empty list of requirements, or names only prices of zero.
func freeReason(o object) string {
	for _, name := range []string{"free", "isFree", "is_free"} {
		if jsontext.Kind(o.Get(name)) == 't' {
			return site.SkippedFree
		}
	}
	for _, name := range []string{"access", "tier", "billing"} {
		if strings.EqualFold(o.text(name), "free") {
			return site.SkippedFree
		}
	}
	for _, name := range []string{"paid", "isPaid", "paymentRequired", "payment_required", "requiresPayment",
		"requires_payment"} {
		if jsontext.Kind(o.Get(name)) == 'f' {
			return site.SkippedFree
		}
	}
	rows := o.list("accepts")
	if row := o.Get("accepts"); jsontext.Kind(row) == '{' {
		rows = []json.RawMessage{row} // the options of a server's library
	}
	if rows != nil {
		zero := func(raw json.RawMessage) bool { return costsNothing(objectOf(raw), 1) }
		switch {
		case len(rows) > 0 && slices.ContainsFunc(rows, func(raw json.RawMessage) bool { return !zero(raw) }):
			return ""
		case len(rows) == 0 && signsIn(o):
			return site.SkippedSignIn
		}
		return site.SkippedFree
	}
	if costsNothing(o, 2) {
		return site.SkippedFree
	}
	return ""
}

// signsIn reports whether an entry has the extension by which a wallet signs in.
func signsIn(o object) bool {
	for _, name := range append(o.child("extensions").keys(), o.text("auth", "authMode", "auth_mode")) {
		if containsAny(strings.ToLower(name), "sign-in-with", "siwx", "siwe") {
			return true
		}
	}
	return false
}

// costsNothing reports whether an object names a price, and every price is zero. Prices may be in objects, such as
// "price": {"amount": "0", "currency": "USD"}, up to levels deep.
func costsNothing(o object, levels int) bool {
	named := false
	for _, name := range append([]string{"pricing"}, priceNames...) {
		raw := o.Get(name)
		switch text := scalar(raw); {
		case text != "" && !isZero(text):
			return false
		case text != "":
			named = true
		case jsontext.Kind(raw) == '{' && levels > 0:
			if !costsNothing(objectOf(raw), levels-1) {
				return false
			}
			named = true
		}
	}
	return named
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
		m = methodOf(firstScalar(o.list("methods")))
	}
	for _, name := range []string{"input", "outputSchema"} {
		if m == "" {
			in := o.child(name)
			if inner := in.child("input"); !inner.isAbsent() {
				in = inner
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

// add adds an endpoint, or skips it with a reason.
func (w *walk) add(method, where string, o object, base *url.URL) {
	if reason := freeReason(o); reason != "" {
		w.skip(reason)
		return
	}
	if !isPayable(namedProtocols(o)) {
		w.skip(site.SkippedProtocol)
		return
	}
	u, err := resolve(base, where)
	if !isURL(where) || err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		w.skip(site.SkippedNoURL)
		return
	}
	u.Fragment, u.RawFragment = "", ""
	w.reader.add(Declared{Method: method, URL: u.String(), Origin: OriginWellKnown,
		Description: cleanText(o.text("description", "summary", "name"), 500),
		MimeType:    cleanText(o.text("mimeType"), 100)})
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
