package routes

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tollbook/site"
	"tollbook/site/display"
)

// ParamError is an invalid value of a parameter. The response is a 400 that contains the parameter, the value and the
// permitted values.
type ParamError struct{ Param, Message string }

func (e *ParamError) Error() string { return "parameter " + e.Param + ": " + e.Message }

// Query is a valid request: a route with a value for each parameter of its key.
type Query struct {
	Route *Route
	// Slug is the variable segment of the path, such as the slug in "/services/{slug}/…" or the id in
	// "/facilitators/{facilitator}", or "". It is valid but may not exist.
	Slug string
	Item string // the URL's hash or the recipient of a look-up, in normal form
	Bare bool   // the request contains no parameter of the route

	Snapshot string // id of the snapshot to read; "" for the newest; not part of the key

	// Unknown lists the parameters of the request that a path with JSON ignores. It is not part of the key.
	Unknown UnknownParams
	Strict  bool // strict=1; not part of the key

	file  string // the file that the path names, if there is no route
	value map[string]string
}

// maxQuery is the maximum length of a query string in bytes. The longest valid values of all parameters need far less.
const maxQuery = 8 << 10

// ParseRequest parses the path and the query string of a request line. It returns site.ErrNotFound for a path that
// cannot be decoded or has no route, and a *ParamError for an invalid value. An empty value counts as absent, the first
// of repeated parameters wins, and unknown parameters are ignored; with strict=1, or if a catalogue gets more than it can name, they are an *UnknownError.
func ParseRequest(escapedPath, rawQuery string) (Query, error) {
	q, err := parsePath(escapedPath)
	if err != nil {
		return Query{}, err
	}
	values, unknown, err := parseValues(q.Route, rawQuery)
	if err != nil {
		return Query{}, err
	}
	if q.isJSON() {
		q.Unknown = newUnknownParams(q.Route, unknown)
		// A catalogue names what it does not apply; more than it can name is refused.
		if len(unknown) > 0 && values[paramStrict] == "1" || q.Unknown.More && q.Route != nil && q.Route.IsCatalogue() {
			return Query{}, &UnknownError{Params: q.Unknown}
		}
	}
	q.Snapshot, q.Strict = values[paramSnapshot], values[paramStrict] == "1"
	if id, _, _ := strings.Cut(values[paramCursor], "."); id != "" {
		if q.Snapshot != "" && q.Snapshot != id {
			return Query{}, &ParamError{paramCursor, "names another snapshot than the parameter snapshot"}
		}
		q.Snapshot = id
	}
	for i := range Common {
		delete(values, Common[i].Name)
	}
	if len(values) > 0 {
		q.Bare, q.value = false, values
	}
	return q, nil
}

// parsePath parses the path of a request.
func parsePath(escaped string) (Query, error) {
	path, err := url.PathUnescape(escaped)
	if err != nil || !utf8.ValidString(path) || strings.ContainsRune(path, 0) {
		return Query{}, site.ErrNotFound
	}
	if rest, ok := strings.CutPrefix(path, "/api/v1/"); ok {
		path = "/v1/" + rest
	}
	if q, ok := parseLookup(path); ok {
		return q, nil
	}
	route, slug := findRoute(path)
	isName := slug == "" || route.validSegment(slug)
	if file, ok := parseFile(path); ok && (route == nil || strings.HasSuffix(path, route.Ext) ||
		!isName && strings.HasSuffix(path, ".md")) { // a page as Markdown: /sources/index.md names no source
		return Query{file: file, Bare: true}, nil
	}
	if route == nil || !isName {
		return Query{}, site.ErrNotFound
	}
	return Query{Route: route, Slug: slug, Bare: true}, nil
}

// parseValues parses the query string: the parameters of a route (nil for a file) and the common ones. It also returns
// the names of unknown parameters with a value, at most one more than MaxUnknown. A name that does not decode is
// returned as it is.
func parseValues(route *Route, rawQuery string) (values map[string]string, unknown []string, err error) {
	if rawQuery == "" {
		return nil, nil, nil
	}
	if len(rawQuery) > maxQuery {
		field := Common[0].Name
		if route != nil && len(route.Params) > 0 {
			field = route.Params[0].Name
		}
		return nil, nil, &ParamError{field, fmt.Sprintf("the query string must have at most %d bytes", maxQuery)}
	}
	values = map[string]string{}
	for pair := range strings.SplitSeq(rawQuery, "&") {
		rawName, rawValue, _ := strings.Cut(pair, "=")
		if rawValue == "" {
			continue
		}
		name, err := url.QueryUnescape(rawName)
		if err != nil || !utf8.ValidString(name) {
			name = rawName
		}
		p := findParam(route, name)
		if p == nil && name != "" && len(unknown) <= MaxUnknown && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
		if p == nil || values[name] != "" {
			continue
		}
		value, err := url.QueryUnescape(rawValue)
		if err != nil || !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
			return nil, nil,
				&ParamError{name, fmt.Sprintf("must be percent-encoded UTF-8; got %s", quoteShort(rawValue))}
		}
		if value, err = p.check(value); err != nil {
			return nil, nil, err
		}
		if value != "" { // an empty set counts as absent
			values[name] = value
		}
	}
	return values, unknown, nil
}

// check returns the canonical form of a value.
func (p *Param) check(v string) (string, error) {
	switch p.Kind {
	case KindChoice:
		if slices.Contains(p.Values, v) {
			return v, nil
		}
		if value, ok := spellings[p.Spellings][v]; ok {
			return value, nil
		}
		message := fmt.Sprintf("must be one of %s; got %s", strings.Join(p.Accepted(), ", "), quoteShort(v))
		if path := p.Elsewhere[v]; path != "" {
			message += "; " + path + " accepts it"
		}
		return "", &ParamError{p.Name, message}
	case KindBoolean:
		if v != "true" && v != "false" {
			return "", &ParamError{p.Name, "must be true or false; got " + quoteShort(v)}
		}
		return v, nil
	case KindDecimal:
		return p.checkDecimal(v)
	case KindCursor:
		return v, p.checkCursor(v)
	case KindAddress:
		return site.NormalAddress(v), p.checkLength(v, p.Max)
	case KindInteger:
		n, err := strconv.Atoi(v)
		if err != nil || strings.Trim(v, "0123456789") != "" || n < p.Min || n > p.Max {
			return "", &ParamError{p.Name, fmt.Sprintf("must be an integer from %d to %d; got %s", p.Min, p.Max,
				quoteShort(v))}
		}
		return strconv.Itoa(n), nil
	case KindSet:
		return p.checkSet(v)
	case KindSnapshot:
		return p.checkSnapshot(v)
	default:
		return p.Spell(v), p.checkLength(v, cmp.Or(p.Max, MaxText))
	}
}

// checkLength returns an error for a text of more than limit characters.
func (p *Param) checkLength(v string, limit int) error {
	if n := utf8.RuneCountInString(v); n > limit {
		return &ParamError{p.Name, fmt.Sprintf("must have at most %d characters; got %d", limit, n)}
	}
	return nil
}

// maxDigits is the maximum number of digits of a decimal, before and after the point.
const maxDigits = 18

// checkDecimal returns the canonical form of a decimal.
func (p *Param) checkDecimal(v string) (string, error) {
	d, err := site.ParseDecimal(v)
	whole, frac, _ := strings.Cut(v, ".")
	if p.Max > 0 && err == nil && d.Compare(site.Decimal(strconv.Itoa(p.Max))) > 0 {
		return "", &ParamError{p.Name, fmt.Sprintf("must be a number from 0 to %d; got %s", p.Max, quoteShort(v))}
	}
	if err != nil || len(whole) > maxDigits || len(frac) > maxDigits {
		return "", &ParamError{p.Name, fmt.Sprintf("must be a number such as 0.01, from 0 and with at most %d digits "+
			"before and after the point; got %s", maxDigits, quoteShort(v))}
	}
	return string(d), nil
}

// checkSet sorts a list of values and removes duplicates and empty ones.
func (p *Param) checkSet(v string) (string, error) {
	var set []string
	for part := range strings.SplitSeq(v, ",") {
		if part != "" && !slices.Contains(p.Values, part) {
			return "",
				&ParamError{p.Name, fmt.Sprintf("must be any of %s, separated by commas; got %s",
					strings.Join(p.Values, ", "), quoteShort(part))}
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

// Text returns the effective value of a parameter: the value of the request, or the default; "" for an absent filter.
func (q Query) Text(name string) string {
	if v := q.value[name]; v != "" {
		return v
	}
	return q.Route.Param(name).Default
}

// Int returns the effective value of an integer parameter.
func (q Query) Int(name string) int {
	n, _ := strconv.Atoi(q.Text(name)) // always valid: check accepted it, or it is a default of the table
	return n
}

// Rule returns the rule that produces the response if no file has q's key.
func (q Query) Rule() Rule {
	for i := range q.Route.Params {
		p := &q.Route.Params[i]
		v := q.value[p.Name]
		if p.Rule != "" && v != "" && (len(p.RuleValues) == 0 || slices.Contains(p.RuleValues, v)) {
			return p.Rule
		}
	}
	return q.Route.Rule
}

// NeedsTrim reports whether q selects only a part of the file with its key.
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

// applies reports whether a parameter has an effect in q.
func (q Query) applies(p *Param) bool {
	name, value, needs := strings.Cut(p.Needs, "=")
	return !needs || q.Has(name, value)
}

// Untrimmed returns q with every trimmed parameter at its largest value. Its key names the file that the response is
// cut from.
func (q Query) Untrimmed() Query {
	for i := range q.Route.Params {
		if p := &q.Route.Params[i]; p.Trim {
			q = q.With(p.Name, p.largest())
		}
	}
	return q
}

// With returns q with another value of one parameter.
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

// validSegment reports whether s is valid as the variable segment of the route.
func (r *Route) validSegment(s string) bool {
	switch _, name, _ := r.splitPattern(); name {
	case segmentFacilitator:
		return ValidFacilitatorID(s)
	case segmentIncident:
		return ValidIncidentID(s)
	}
	return site.ValidSlug(s)
}

// ValidIncidentID reports whether s has the form of an incident's id, as site.IncidentID returns it.
func ValidIncidentID(s string) bool { return len(s) <= maxIncidentID && incidentForm.MatchString(s) }

const (
	incidentPattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?-[0-9]{8}-[0-9]{6}$"
	maxIncidentID   = site.MaxSlug + len("-20060102-150405")
)

var incidentForm = regexp.MustCompile(incidentPattern)

// MaxFacilitatorID is the maximum length of a facilitator's id.
const MaxFacilitatorID = 64

// ValidFacilitatorID reports whether s can be a facilitator's id: 1 to 64 letters, digits, dots, hyphens and
// underscores, of which the first is a letter or a digit.
func ValidFacilitatorID(s string) bool {
	if s == "" || len(s) > MaxFacilitatorID || strings.IndexByte("._-", s[0]) >= 0 {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

// HeaderUnknown is the header that names the unknown parameters of a request.
const HeaderUnknown = "X-Unknown-Parameters"

// Limits of UnknownParams.
const (
	MaxUnknown     = 8  // names
	MaxUnknownName = 40 // bytes of a name, before escaping
)

// OtherPaging names the parameter that a route has in place of another one, because some lists have pages and others a
// limit and an offset.
var OtherPaging = map[string]string{"per_page": "limit", "page": "offset", "limit": "per_page", "offset": "page"}

// UnknownParams are the parameters of a request that its path does not have.
type UnknownParams struct {
	Params []UnknownParam // at most MaxUnknown, in the order of the request
	More   bool           // there were others
}

// UnknownParam is a parameter of a request that its path does not have.
type UnknownParam struct {
	// Name is safe in a header and in a text: bytes outside [A-Za-z0-9._-] are percent-encoded, and a name of more than
	// MaxUnknownName bytes is cut and ends in "...".
	Name    string
	Nearest string // the parameter of the path that was probably meant, or ""
}

// newUnknownParams returns the unknown parameters with these names. A nil route stands for a file, which has only the
// common parameters.
func newUnknownParams(route *Route, names []string) UnknownParams {
	if len(names) == 0 {
		return UnknownParams{}
	}
	var params []string
	if route != nil {
		for i := range route.Params {
			params = append(params, route.Params[i].Name)
		}
	}
	for i := range Common {
		params = append(params, Common[i].Name)
	}
	list := UnknownParams{More: len(names) > MaxUnknown}
	for _, name := range names[:min(len(names), MaxUnknown)] {
		p := UnknownParam{Name: escapeName(name)}
		if len(name) <= MaxUnknownName {
			p.Nearest = display.Nearest(site.LowerASCII(name), params)
		}
		if other := OtherPaging[name]; slices.Contains(params, other) {
			p.Nearest = other
		}
		list.Params = append(list.Params, p)
	}
	return list
}

// Unapplied returns the names of the parameters that a response of a catalogue does not apply. Other routes name them in
// HeaderUnknown alone.
func (q Query) Unapplied() []string {
	if q.Route == nil || !q.Route.IsCatalogue() {
		return nil
	}
	var names []string
	for _, p := range q.Unknown.Params {
		names = append(names, p.Name)
	}
	return names
}

// IsCatalogue reports whether the route answers as a facilitator's catalogue does, which must not ignore a filter in
// silence (x402 specs/extensions/bazaar_discovery_conformance.md).
func (r *Route) IsCatalogue() bool {
	return r.Framing == site.Catalogue || r.Framing == site.CatalogueSearch
}

// escapeName returns the Name of an UnknownParam.
func escapeName(name string) string {
	const upperDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range min(len(name), MaxUnknownName) {
		c := name[i]
		if isPlain(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(upperDigits[c>>4])
		b.WriteByte(upperDigits[c&15])
	}
	if len(name) > MaxUnknownName {
		b.WriteString("...")
	}
	return b.String()
}

// String returns the value of HeaderUnknown, such as "verifed (did you mean verified?), utm_source", or "" for none.
func (u UnknownParams) String() string {
	parts := make([]string, 0, MaxUnknown+1)
	for _, p := range u.Params {
		if p.Nearest != "" {
			p.Name += " (did you mean " + p.Nearest + "?)"
		}
		parts = append(parts, p.Name)
	}
	if u.More {
		parts = append(parts, "and more")
	}
	return strings.Join(parts, ", ")
}

// UnknownError is the error for unknown parameters in a request with strict=1. The response is a 400 that contains
// them.
type UnknownError struct{ Params UnknownParams }

func (e *UnknownError) Error() string { return "unknown parameters: " + e.Params.String() }

// Fields returns the fields of the response.
func (e *UnknownError) Fields() []site.ErrorField {
	var fields []site.ErrorField
	for _, p := range e.Params.Params {
		message := "is not a parameter of this path"
		if p.Nearest != "" {
			message += "; did you mean " + p.Nearest + "?"
		}
		fields = append(fields, site.ErrorField{Field: p.Name, Message: message})
	}
	return fields
}
