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

// CheckNames returns a *ParamError for the first of UnknownValues. A lenient route refuses it with strict=1 alone, and
// otherwise names it in the response.
func (i *Index) CheckNames(q Query) error {
	if q.Route == nil || q.Route.Lenient && !q.Strict {
		return nil
	}
	if unknown := i.UnknownValues(q); len(unknown) > 0 {
		u := unknown[0]
		message := fmt.Sprintf("must be a known %s; got %s", u.Parameter, quoteShort(u.Value))
		if len(u.Nearest) > 0 {
			message += "; did you mean " + strings.Join(u.Nearest, " or ") + "?"
		}
		return &ParamError{u.Parameter, message}
	}
	return nil
}

// UnknownValues returns the networks and categories by which q filters a list of services, and which neither the table
// of spellings nor a listed service has. A list that includes services that are gone accepts all names.
func (i *Index) UnknownValues(q Query) []site.UnknownValue {
	if q.Route == nil || q.Route.Omit == "" || q.Omit() == "" {
		return nil
	}
	var unknown []site.UnknownValue
	for j := range q.Route.Params {
		p := &q.Route.Params[j]
		value, known := q.value[p.Name], spellings[p.Spellings]
		if value == "" || p.Spellings == "" || known[strings.ToLower(value)] != "" {
			continue
		}
		of := Query{Route: ByName("services"), Bare: true}.With(p.Name, value)
		if _, listed := i.Lists[of.ListKey()]; !listed {
			unknown = append(unknown, site.UnknownValue{Parameter: p.Name, Value: value, Nearest: nearestOf(value, known)})
		}
	}
	return unknown
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
