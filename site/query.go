package site

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrNotFound is the answer to a path that no route and no file has.
var ErrNotFound = errors.New("not found")

// ParamError is an invalid value of a parameter: a 400 that names it, what it got and what it may be.
type ParamError struct{ Param, Message string }

func (e *ParamError) Error() string { return "parameter " + e.Param + ": " + e.Message }

// Query is a valid request: a route of the table with a value for each parameter that stands in its key.
type Query struct {
	Route *Route
	// of "/services/{slug}/…", the id of "/facilitators/{facilitator}" and so on, "" elsewhere; not yet known to exist
	Slug string
	Item string // what a look-up looks up, in normal form
	Bare bool   // no parameter of the route was given

	Snapshot string // id of the snapshot to answer from, "" for the newest; no part of a key

	file  string // the path named a file by itself
	value map[string]string
}

// maxQuery bounds the query string of a request in bytes; the values of every parameter together need far less.
const maxQuery = 8 << 10

// ParseRequest reads a path and a query string as they stand in a request line. It answers ErrNotFound for a path that
// does not decode or has no route, and a *ParamError for a value that its parameter may not have. An empty value counts
// as absent, the first of repeated ones wins, unknown names are ignored.
func ParseRequest(escapedPath, rawQuery string) (Query, error) {
	q, err := parsePath(escapedPath)
	if err != nil {
		return Query{}, err
	}
	given, err := parseValues(q.Route, rawQuery)
	if err != nil {
		return Query{}, err
	}
	q.Snapshot = given[paramSnapshot]
	delete(given, paramSnapshot)
	if len(given) > 0 {
		q.Bare, q.value = false, given
	}
	return q, nil
}

// parsePath reads the path of a request.
func parsePath(escaped string) (Query, error) {
	path, err := url.PathUnescape(escaped)
	if err != nil || !utf8.ValidString(path) || strings.ContainsRune(path, 0) {
		return Query{}, ErrNotFound
	}
	if rest, ok := strings.CutPrefix(path, "/api/v1/"); ok {
		path = "/v1/" + rest
	}
	if q, ok := parseLookup(path); ok {
		return q, nil
	}
	route, slug := findRoute(path)
	if file, ok := parseFile(path); ok && (route == nil || strings.HasSuffix(path, route.Ext)) {
		return Query{file: file, Bare: true}, nil
	}
	if route == nil || slug != "" && !route.validSegment(slug) {
		return Query{}, ErrNotFound
	}
	return Query{Route: route, Slug: slug, Bare: true}, nil
}

// parseValues reads the parameters of a route, nil for a file, and the common ones out of a query string.
func parseValues(route *Route, rawQuery string) (map[string]string, error) {
	if rawQuery == "" {
		return nil, nil
	}
	if len(rawQuery) > maxQuery {
		field := Common[0].Name
		if route != nil && len(route.Params) > 0 {
			field = route.Params[0].Name
		}
		return nil, &ParamError{field, fmt.Sprintf("the query is longer than %d bytes", maxQuery)}
	}
	given := map[string]string{}
	for pair := range strings.SplitSeq(rawQuery, "&") {
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		if err != nil {
			continue
		}
		p := findParam(route, name)
		if p == nil || rawValue == "" || given[name] != "" {
			continue
		}
		value, err := url.QueryUnescape(rawValue)
		if err != nil || !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
			return nil,
				&ParamError{name, fmt.Sprintf("got %s, which is not percent-encoded UTF-8", quoteShort(rawValue))}
		}
		if value, err = p.check(value); err != nil {
			return nil, err
		}
		if value != "" { // a set of nothing
			given[name] = value
		}
	}
	return given, nil
}

// check answers the canonical text of a value, or what is wrong with it.
func (p *Param) check(v string) (string, error) {
	switch p.Kind {
	case KindChoice:
		for _, c := range p.Values {
			if v == c {
				return v, nil
			}
		}
		return "", &ParamError{p.Name, fmt.Sprintf("got %s, may be %s", quoteShort(v), strings.Join(p.Values, ", "))}
	case KindInteger:
		n, err := strconv.Atoi(v)
		if err != nil || strings.Trim(v, "0123456789") != "" || n < p.Min || n > p.Max {
			return "", &ParamError{p.Name, fmt.Sprintf("got %s, may be an integer from %d to %d", quoteShort(v), p.Min,
				p.Max)}
		}
		return strconv.Itoa(n), nil
	case KindSet:
		return p.checkSet(v)
	case KindSnapshot:
		return p.checkSnapshot(v)
	default:
		if utf8.RuneCountInString(v) > MaxText {
			return "",
				&ParamError{p.Name, fmt.Sprintf("got %d characters, may have %d", utf8.RuneCountInString(v), MaxText)}
		}
		return v, nil
	}
}

// checkSet sorts a list of values and drops repeated and empty ones.
func (p *Param) checkSet(v string) (string, error) {
	var set []string
	for part := range strings.SplitSeq(v, ",") {
		if part != "" && !slices.Contains(p.Values, part) {
			return "",
				&ParamError{p.Name, fmt.Sprintf("got %s, may be any of %s, separated by commas", quoteShort(part),
					strings.Join(p.Values, ", "))}
		}
		if part != "" && !slices.Contains(set, part) {
			set = append(set, part)
		}
	}
	slices.Sort(set)
	return strings.Join(set, ","), nil
}

func quoteShort(s string) string {
	if r := []rune(s); len(r) > 40 {
		s = string(r[:40]) + "…"
	}
	return strconv.Quote(s)
}

// Text is the value in effect of a parameter: as given, else its default; "" for a filter that is absent.
func (q Query) Text(name string) string {
	if v := q.value[name]; v != "" {
		return v
	}
	return q.Route.Param(name).Default
}

// Int is the value in effect of an integer parameter.
func (q Query) Int(name string) int {
	n, _ := strconv.Atoi(q.Text(name)) // check has proved it; defaults are of the table
	return n
}

// Rule says how q is answered when its key is not a file by itself.
func (q Query) Rule() Rule {
	for i := range q.Route.Params {
		if p := &q.Route.Params[i]; p.Rule != "" && q.value[p.Name] != "" {
			return p.Rule
		}
	}
	return q.Route.Rule
}

// NeedsTrim says whether q asks for less than the file of its key holds, so that a rule must cut it.
func (q Query) NeedsTrim() bool {
	if q.Route == nil {
		return false
	}
	for i := range q.Route.Params {
		if p := &q.Route.Params[i]; p.Trim && q.Text(p.Name) != p.largest() && q.applies(p) {
			return true
		}
	}
	return false
}

// applies says whether a parameter has an effect beside the others of q.
func (q Query) applies(p *Param) bool {
	name, value, needs := strings.Cut(p.Needs, "=")
	return !needs || q.Has(name, value)
}

// Untrimmed is the same request with every trimmed parameter at its largest value: its key names the file that q's answer
// is cut from.
func (q Query) Untrimmed() Query {
	for i := range q.Route.Params {
		if p := &q.Route.Params[i]; p.Trim {
			q = q.With(p.Name, p.largest())
		}
	}
	return q
}

// With is the same request with another value of one parameter.
func (q Query) With(name string, value string) Query {
	v := map[string]string{name: value}
	for k, old := range q.value {
		if k != name {
			v[k] = old
		}
	}
	q.value, q.Bare = v, false
	return q
}

// validSegment says whether s can be what the variable part of the route's path names.
func (r *Route) validSegment(s string) bool {
	if _, name, _ := r.splitPattern(); name == segmentFacilitator {
		return ValidFacilitatorID(s)
	}
	return ValidSlug(s)
}

// MaxFacilitatorID is the length of the longest id of a facilitator.
const MaxFacilitatorID = 64

// ValidFacilitatorID says whether s can be the id of a facilitator: 1 to 64 of letters, digits, dots, hyphens and
// underscores, of which the first is a letter or a digit.
func ValidFacilitatorID(s string) bool {
	if s == "" || len(s) > MaxFacilitatorID || strings.IndexByte("._-", s[0]) >= 0 {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

// MaxSlug is the length of the longest slug.
const MaxSlug = 80

// ValidSlug says whether s can be the slug of a service: 1 to 80 of a-z, 0-9 and inner hyphens.
func ValidSlug(s string) bool {
	if s == "" || len(s) > MaxSlug || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// Filter is what a request for services chooses by, beside words.
type Filter struct{ network, status, category string }

// Filter is that of q, which lists services.
func (q Query) Filter() Filter {
	return Filter{q.Text("network"), q.Text("status"), q.Text("category")}
}

// Passes says whether a service passes; a filter that is absent lets every service pass.
func (f Filter) Passes(i *ServiceListItem) bool {
	return (f.status == "" || f.status == i.Status) && (f.category == "" || f.category == i.Category) &&
		(f.network == "" || slices.Contains(i.Networks, f.network))
}
