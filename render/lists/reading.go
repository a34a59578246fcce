package lists

import (
	"net/url"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/routes"
)

// describe returns a filter in words, such as "at most $0.01".
func (s *Settings) describe(p *routes.Param, value string) string {
	if value == "true" && p.Words.True != "" {
		return p.Words.True
	}
	return strings.Replace(p.Words.Chip, "%s", s.valueText(p.Name, value), 1)
}

// withoutText returns the sentence about the services that match without a filter.
func withoutText(n int, p *routes.Param) string {
	verb := "match"
	if n == 1 {
		verb = "matches"
	}
	return display.Plural(int64(n), "service", "services") + " " + verb + " without the " + p.Words.Without
}

// reading is how words of a query were read, by the parameters that they stand for.
type reading map[string]site.FilterReading

// newReading returns the readings of a response that the values of the request do not name.
func newReading(filters []site.FilterReading, values url.Values) reading {
	r := reading{}
	for _, f := range filters {
		if values.Get(f.Name) == "" {
			r[f.Name] = f
		}
	}
	return r
}

// effective returns the values of the request with those that words of the query stand for.
func (r reading) effective(values url.Values) url.Values {
	all := url.Values{}
	for name := range values {
		all.Set(name, values.Get(name))
	}
	for name, f := range r {
		all.Set(name, f.Value)
	}
	return all
}

// without returns the URL of the search without a parameter, or without the words that stand for it.
func (r reading) without(s *Settings, values url.Values, name string) string {
	if f, ok := r[name]; ok {
		return with(s.Search, values, "q", f.Without)
	}
	return with(s.Search, values, name, "")
}

// asWords returns the URL of the search in which all words are text, "" if they are.
func (r reading) asWords(s *Settings, values url.Values) string {
	if len(r) == 0 {
		return ""
	}
	return with(s.Search, values, "q", `"`+strings.ReplaceAll(display.Line(values.Get("q"), 98), `"`, "")+`"`)
}
