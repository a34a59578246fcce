package routes

import (
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// HeaderUnknown is the header that names the unknown parameters of a request.
const HeaderUnknown = "X-Unknown-Parameters"

// Limits of UnknownParams.
const (
	MaxUnknown     = 8  // names
	MaxUnknownName = 40 // bytes of a name, before escaping
)

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
