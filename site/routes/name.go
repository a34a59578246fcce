package routes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tollbook/site/display"
)

// MaxNearest is the maximum number of names that an error about an unknown one suggests.
const MaxNearest = 3

// CheckNames returns a *ParamError for the first filter of a list of services by a network or a category that neither
// the table of spellings nor a listed service has. A lenient route refuses it with strict=1 alone. A list that includes
// services that are gone accepts all names.
func (i *Index) CheckNames(q Query) error {
	if q.Route == nil || q.Route.Omit == "" || q.Omit() == "" || q.Route.Lenient && !q.Strict {
		return nil
	}
	for j := range q.Route.Params {
		p := &q.Route.Params[j]
		value, known := q.value[p.Name], spellings[p.Spellings]
		if value == "" || p.Spellings == "" || known[strings.ToLower(value)] != "" {
			continue
		}
		of := Query{Route: ByName("services"), Bare: true}.With(p.Name, value)
		if _, listed := i.Lists[of.ListKey()]; !listed {
			return &ParamError{p.Name, fmt.Sprintf("must be a known %s; got %s%s", p.Name, quoteShort(value),
				suggest(value, known))}
		}
	}
	return nil
}

// suggest returns "; did you mean …?" with the spellings that are nearest to a text, each of another value, or "". A
// spelling that is the value in lower case is written as the value.
func suggest(text string, known map[string]string) string {
	var names, values []string
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
	if len(names) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(names, " or ") + "?"
}
