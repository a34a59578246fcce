package site

import (
	"slices"
	"strings"
)

// Sets are all values that a set parameter may have in a key, "" for absent among them, sorted.
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

// Has says whether the value in effect of a set parameter holds a name.
func (q Query) Has(param, name string) bool {
	for v := range strings.SplitSeq(q.Text(param), ",") {
		if v == name {
			return true
		}
	}
	return false
}
