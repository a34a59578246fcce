package facts

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/jsontext"
)

// errNoDocument is returned for a document of another kind than expected at its URL.
var errNoDocument = errors.New("not the expected kind of document")

// Reading is what a document declares: endpoints of one service, and the number of entries that are none.
type Reading struct {
	Endpoints []Declared // below the service's base URL, at most MaxEndpoints, in the order of the document
	Skipped   []Skipped  // by reason
}

// Skipped counts the entries of a document that are skipped for one of site.SkipReasons.
type Skipped struct {
	Reason string
	Count  int
}

// reader collects what a document declares for the service at base.
type reader struct {
	base      *url.URL
	endpoints []Declared
	known     map[[2]string]bool // methods and URLs of endpoints
	skipped   map[string]int
}

// newReader returns a reader for a service. An invalid base URL has nothing below it.
func newReader(base string) *reader {
	u, err := url.Parse(base)
	if err != nil {
		u = &url.URL{}
	}
	return &reader{base: u, known: map[[2]string]bool{}, skipped: map[string]int{}}
}

func (r *reader) skip(reason string) { r.skipped[reason]++ }

// skipCut counts the members beyond maxMembers of an object whose members are endpoints.
func (r *reader) skipCut(raw json.RawMessage) {
	n := 0
	for range jsontext.Members(raw) {
		if n++; n > maxMembers {
			r.skip(site.SkippedOverLimit)
		}
	}
}

// isFull reports whether the reader has as many endpoints as it may return.
func (r *reader) isFull() bool { return len(r.endpoints) >= MaxEndpoints }

// add adds an endpoint that is below the base URL, once.
func (r *reader) add(d Declared) {
	key := [2]string{d.Method, d.URL}
	switch _, own := pathBelow(r.base, d.URL); {
	case r.known[key]:
	case !own:
		r.skip(site.SkippedElsewhere)
	case r.isFull():
		r.skip(site.SkippedOverLimit)
	default:
		r.known[key] = true
		r.endpoints = append(r.endpoints, d)
	}
}

// result returns the reading, with the reasons in the order of site.SkipReasons.
func (r *reader) result() Reading {
	out := Reading{Endpoints: r.endpoints}
	for _, reason := range site.SkipReasons {
		if n := r.skipped[reason]; n > 0 {
			out.Skipped = append(out.Skipped, Skipped{reason, n})
		}
	}
	return out
}

// object is a JSON object that is read leniently: a member of the wrong type does not affect the others.
type object struct{ jsontext.Object }

// maxMembers is the most members of an object that are read. An OpenAPI document of ten thousand paths has as many.
const maxMembers = 50_000

// objectOf returns the object that valid JSON is, an empty one for anything else.
func objectOf(raw json.RawMessage) object { return object{jsontext.ReadObject(raw, maxMembers)} }

func (o object) isAbsent() bool { return o.Object == nil }

func (o object) child(name string) object { return objectOf(o.Get(name)) }

func (o object) list(name string) []json.RawMessage { return jsontext.List(o.Get(name)) }

// text returns the first of the named members that is a string or a number, as it is written.
func (o object) text(names ...string) string {
	for _, name := range names {
		if s := scalar(o.Get(name)); s != "" {
			return s
		}
	}
	return ""
}

// keys returns the keys of an object, sorted, each once.
func (o object) keys() []string {
	keys := make([]string, len(o.Object))
	for i, m := range o.Object {
		keys[i] = m.Key
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// scalar returns a string or a number as one clean line, "" for anything else.
func scalar(raw json.RawMessage) string { return cleanText(jsontext.Scalar(raw), 2048) }

// readJSON returns the JSON of a document. Its error says what the document is instead.
func readJSON(doc []byte) (json.RawMessage, error) {
	text, err := jsontext.Read(doc)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoDocument, err)
	}
	return text, nil
}

// readTop returns the members of a document that is one JSON object.
func readTop(doc []byte) (object, error) {
	text, err := readJSON(doc)
	if err != nil {
		return object{}, err
	}
	top := objectOf(text)
	if top.isAbsent() {
		return object{}, fmt.Errorf("%w: it is no JSON object", errNoDocument)
	}
	return top, nil
}

// methods are the methods that an endpoint may be declared with.
var methods = []string{"DELETE", "GET", "PATCH", "POST", "PUT"}

// methodOf returns a method in upper case, "" for an unknown one.
func methodOf(s string) string {
	if s = strings.ToUpper(strings.TrimSpace(s)); slices.Contains(methods, s) {
		return s
	}
	return ""
}
