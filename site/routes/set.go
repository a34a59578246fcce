package routes

import (
	"slices"
	"strings"
)

// Sets returns every value that a set parameter can have in a key, sorted; "" means absent.
func (p *Param) Sets() []string {
	names := slices.Sorted(slices.Values(p.Values))
	sets := make([]string, 0, 1<<len(names))
	for bits := range 1 << len(names) {
		var in []string
		for i, name := range names {
			if bits&(1<<i) != 0 {
				in = append(in, name)
			}
		}
		sets = append(sets, strings.Join(in, ","))
	}
	slices.Sort(sets)
	return sets
}

// Has reports whether the effective value of a set parameter contains a name.
func (q Query) Has(param, name string) bool {
	for v := range strings.SplitSeq(q.Text(param), ",") {
		if v == name {
			return true
		}
	}
	return false
}
