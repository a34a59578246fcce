package routes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// MaxNearest is the maximum number of names that an error about an unknown one suggests.
const MaxNearest = 3

// HeaderUnknownValues is the header that names the unknown values of filters of a request.
const HeaderUnknownValues = "X-Unknown-Values"

// CheckNames returns a *ParamError for the first of UnknownValues that q's route refuses. Only strict=1 makes a lenient
// route refuse any, and any route refuse a value that must be among names of the index: the response names it instead.
func (i *Index) CheckNames(q Query) error {
	for _, u := range i.UnknownValues(q) {
		if !q.Strict && (q.Route.Lenient || q.Route.Param(u.Parameter).Among != "") {
			continue
		}
		message := fmt.Sprintf("must be a known %s; got %s", u.Parameter, quoteShort(u.Value))
		if len(u.Nearest) > 0 {
			message += "; did you mean " + strings.Join(u.Nearest, " or ") + "?"
		}
		return &ParamError{u.Parameter, message}
	}
	return nil
}

// NamesValues reports whether a response to q names its UnknownValues.
func (q Query) NamesValues() bool {
	return q.Route != nil && (q.Route.Lenient || slices.ContainsFunc(q.Route.Params, func(p Param) bool {
		return p.Among != "" && q.value[p.Name] != ""
	}))
}

// UnknownValues returns the values of filters of q that nothing has: services that are not in the index; and networks,
// categories, methods and sources by which q filters a list of services, and which neither a table nor a listed service
// has. A list that includes services that are gone accepts all names of networks and categories.
func (i *Index) UnknownValues(q Query) []site.UnknownValue {
	if q.Route == nil {
		return nil
	}
	isFiltered := q.Route.Omit != "" && q.Omit() != ""
	var unknown []site.UnknownValue
	for j := range q.Route.Params {
		p := &q.Route.Params[j]
		value, known := q.value[p.Name], spellings[p.Spellings]
		if names, isAmong := i.names(p); isAmong && value != "" && !slices.Contains(names, value) {
			known = make(map[string]string, len(names))
			for _, name := range names {
				known[strings.ToLower(name)] = name
			}
			unknown = append(unknown, site.UnknownValue{Parameter: p.Name, Value: value,
				Nearest: nearestOf(value, known)})
		}
		if value == "" || p.Spellings == "" || known[strings.ToLower(value)] != "" || !isFiltered {
			continue
		}
		of := Query{Route: ByName("services"), Bare: true}.With(p.Name, value)
		if _, listed := i.Lists[of.ListKey()]; !listed {
			unknown = append(unknown, site.UnknownValue{Parameter: p.Name, Value: value, Nearest: nearestOf(value, known)})
		}
	}
	return unknown
}

// names returns the names that the values of a parameter must be among, and false if it may have any value. Indexes of
// older snapshots have no values.
func (i *Index) names(p *Param) ([]string, bool) {
	switch {
	case p.Among == amongSlugs:
		return i.Slugs, true
	case p.Among == AmongValues && i.Values != nil:
		return slices.Concat(p.Known, i.Values[p.Name]), true
	}
	return nil, false
}

// nearestOf returns the spellings that are nearest to a text, each of another value. A spelling that is the value in
// lower case is written as the value.
func nearestOf(text string, known map[string]string) []string {
	var values []string
	names := []string{}
	for _, spelling := range display.NearestAll(strings.ToLower(text), slices.Sorted(maps.Keys(known))) {
		value := known[spelling]
		if slices.Contains(values, value) || len(values) == MaxNearest {
			continue
		}
		if values = append(values, value); strings.ToLower(value) == spelling {
			spelling = value
		}
		names = append(names, spelling)
	}
	return names
}

// UnknownValuesText returns the value of HeaderUnknownValues, such as "network=bas (did you mean base or BLS?)". Values
// are escaped and cut like names of unknown parameters.
func UnknownValuesText(unknown []site.UnknownValue) string {
	parts := make([]string, len(unknown))
	for i, u := range unknown {
		parts[i] = u.Parameter + "=" + escapeName(u.Value)
		if len(u.Nearest) > 0 {
			nearest := make([]string, len(u.Nearest))
			for j, name := range u.Nearest {
				nearest[j] = escapeName(name)
			}
			parts[i] += " (did you mean " + strings.Join(nearest, " or ") + "?)"
		}
	}
	return strings.Join(parts, ", ")
}
