package source

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tollbook/site/invisible"
	"tollbook/site/jsontext"
	"tollbook/site/listing"
)

// object is a JSON object that is read leniently: a member of the wrong type does not affect the others.
type object struct{ jsontext.Object }

// maxMembers is the most members of an object that are read. Those of real sources have some dozens.
const maxMembers = 512

// objectOf returns the object that valid JSON is, an absent one for anything else.
func objectOf(raw json.RawMessage) object { return object{jsontext.ReadObject(raw, maxMembers)} }

func (o object) isAbsent() bool { return o.Object == nil }

func (o object) child(name string) object { return objectOf(o.Get(name)) }

// text returns the first of the named members that is a string or a number, as it is written.
func (o object) text(names ...string) string {
	for _, name := range names {
		if s := scalar(o.Get(name)); s != "" {
			return s
		}
	}
	return ""
}

// line returns the first of the named members with a visible text, as one line of at most n characters.
func (o object) line(n int, names ...string) string {
	for _, name := range names {
		if s := cleanText(scalar(o.Get(name)), n); s != "" {
			return s
		}
	}
	return ""
}

// number returns the first of the named members that is a whole number from 0 on.
func (o object) number(names ...string) *int {
	for _, name := range names {
		if n, err := strconv.Atoi(scalar(o.Get(name))); err == nil && n >= 0 {
			return &n
		}
	}
	return nil
}

// list returns the first of the named members that is an array, nil for none.
func (o object) list(names ...string) json.RawMessage {
	for _, name := range names {
		if raw := o.Get(name); jsontext.Kind(raw) == '[' {
			return raw
		}
	}
	return nil
}

// words returns the texts of an array: strings, or objects with a name.
func (o object) words(names ...string) []string {
	var out []string
	for raw := range jsontext.Elements(o.list(names...)) {
		s := scalar(raw)
		if s == "" {
			s = objectOf(raw).text("name", "slug", "title")
		}
		if s = cleanText(s, MaxName); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
		if len(out) == MaxTags {
			break
		}
	}
	return out
}

// scalar returns a string or a number as it is written, "" for anything else.
func scalar(raw json.RawMessage) string { return jsontext.Scalar(raw) }

// cleanText makes a stranger's text fit to be stored: one line of at most n visible characters.
func cleanText(s string, n int) string {
	line, _ := listing.Line(s[:min(len(s), 16*n)], n, invisible.Is)
	return line
}

// methods are the methods that a resource may be listed with.
var methods = []string{"DELETE", "GET", "PATCH", "POST", "PUT"}

// methodOf returns a method in upper case, "" for an unknown one.
func methodOf(s string) string {
	if len(s) > 10 {
		return ""
	}
	if s = strings.ToUpper(strings.TrimSpace(s)); slices.Contains(methods, s) {
		return s
	}
	return ""
}

// splitMethod splits "POST /path".
func splitMethod(s string) (method, address string) {
	before, after, ok := strings.Cut(strings.TrimSpace(s), " ")
	if m := methodOf(before); ok && m != "" {
		return m, strings.TrimSpace(after)
	}
	return "", strings.TrimSpace(s)
}

// protocolOf returns the protocol that a source names, "" for an unknown one.
func protocolOf(s string) string {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "x402", "x402v1", "x402v2":
		return X402
	case "mpp", "payment":
		return MPP
	case "l402", "lsat":
		return L402
	}
	return ""
}

// webURL returns a URL of a resource in the form in which it is stored, or the reason to skip it.
func webURL(s string) (address, reason string) {
	if s = strings.TrimSpace(s); s == "" {
		return "", NoURL
	}
	if len(s) > MaxURL {
		return "", BadURL
	}
	for _, r := range s {
		if r <= ' ' || invisible.Is(r) || r == '\ufffd' {
			return "", BadURL
		}
	}
	s, _, _ = strings.Cut(s, "#")
	address, err := listing.NormalOrigin(s)
	if err != nil {
		return "", BadURL
	}
	if _, err := url.Parse(address); err != nil {
		return "", BadURL
	}
	return address, ""
}

// isRoot reports whether a URL names a host and no path.
func isRoot(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Path == "" || u.Path == "/") && u.RawQuery == ""
}

// join returns the URL of an endpoint's path below a service's base URL. An absolute path stays as it is.
func join(base, path string) string {
	if path = strings.TrimSpace(path); strings.Contains(path, "://") {
		return path
	}
	base, _, _ = strings.Cut(base, "#")
	base, _, _ = strings.Cut(base, "?")
	if path == "" {
		return base
	}
	return strings.TrimRight(base, "/") + "/" + strings.TrimLeft(path, "/")
}

// entries adds the entries of a list to a page.
type entries struct {
	page   *Page
	raw    json.RawMessage // the entry that is read
	digest [32]byte        // of raw, once a row needs it
	at     int             // entry that digest belongs to, plus one
}

// readList returns the page of a list's entries. read calls e.add for each resource of an entry, or e.skip.
func readList(list json.RawMessage, read func(e *entries, o object)) Page {
	p := Page{}
	e := entries{page: &p}
	for raw := range jsontext.Elements(list) {
		if e.raw = raw; p.Entries < MaxRows {
			switch o := objectOf(raw); {
			case len(raw) > MaxEntry || jsontext.Depth(raw) > MaxDepth:
				e.skip(TooLarge, "")
			case o.isAbsent():
				if jsontext.Kind(raw) != '"' {
					e.skip(NotObject, "")
					break
				}
				method, address := splitMethod(jsontext.Unquote(raw))
				e.add(Row{URL: address, Method: method, Type: HTTP})
			default:
				read(&e, o)
			}
		} else {
			e.skip(TooLarge, "")
			p.Cut = true
		}
		p.Entries++
	}
	return p
}

// add adds a row of the entry, or skips it if its URL can't be one of a paid service.
func (e *entries) add(r Row) {
	address, reason := webURL(r.URL)
	if reason != "" {
		e.skip(reason, r.URL)
		return
	}
	if len(e.page.Rows) == MaxRows {
		e.page.Cut = true
		e.skip(TooLarge, r.URL)
		return
	}
	r.Site = r.Site || r.Type == HTTP && isRoot(address)
	if e.at != e.page.Entries+1 { // an entry may have thousands of rows
		e.digest, e.at = sha256.Sum256(e.raw), e.page.Entries+1
	}
	r.URL, r.Entry, r.Digest = address, e.page.Entries, e.digest
	e.page.Rows = append(e.page.Rows, r)
}

func (e *entries) skip(reason, address string) {
	e.page.Reasons.add(reason, 1)
	if len(e.page.Skipped) == MaxSkipped {
		return
	}
	e.page.Skipped = append(e.page.Skipped, Skip{e.page.Entries, reason, cleanText(address, 200)})
}

// readJSON returns the JSON of an answer.
func readJSON(doc []byte) (json.RawMessage, error) {
	text, err := jsontext.Read(doc)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrShape, err)
	}
	return text, nil
}

// topOf returns the members of an answer in JSON.
func topOf(doc []byte) (object, error) {
	text, err := readJSON(doc)
	if err != nil {
		return object{}, err
	}
	if jsontext.Kind(text) != '{' {
		return object{}, fmt.Errorf("%w: it is no JSON object", ErrShape)
	}
	return objectOf(text), nil
}

// unwrap returns the object at a path of members, nil for none.
func (o object) unwrap(path ...string) object {
	for _, name := range path {
		o = o.child(name)
	}
	return o
}

// needList returns the first of the named members that is an array.
func (o object) needList(names ...string) (json.RawMessage, error) {
	if list := o.list(names...); list != nil {
		return list, nil
	}
	return nil, fmt.Errorf("%w: it has no list %s", ErrShape, strings.Join(names, " or "))
}
