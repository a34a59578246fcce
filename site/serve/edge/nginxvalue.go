package edge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tollbook/site/routes"
)

// valid returns the pattern of a parameter's values that need no decoding.
func valid(p *routes.Param) string {
	switch {
	case p.Kind == routes.KindChoice:
		return strings.Join(fileValues(p), "|")
	// keys do not contain it, so a missing file would not reveal a bad value
	case p.Kind == routes.KindInteger && p.Trim:
		var all []string
		for n := p.Min; n <= p.Max; n++ {
			all = append(all, strconv.Itoa(n))
		}
		return strings.Join(all, "|")
	case p.Kind == routes.KindInteger:
		return `[1-9][0-9]{0,9}`
	case p.Spellings != "": // serve reads all other spellings
		return strings.Join(p.Spelled(), "|")
	}
	return fmt.Sprintf(`[A-Za-z0-9._-]{1,%d}`, routes.MaxText)
}

// fileValues returns the values of a parameter that are in the keys of files.
func fileValues(p *routes.Param) []string {
	return slices.DeleteFunc(slices.Clone(p.Values), func(v string) bool { return slices.Contains(p.RuleValues, v) })
}

// largest returns the value of a trimmed parameter in a key.
func largest(p *routes.Param) string {
	if p.Kind == routes.KindInteger {
		return strconv.Itoa(p.Max)
	}
	return p.Values[len(p.Values)-1]
}

// permutations returns all orders of a list.
func permutations(list []string) [][]string {
	if len(list) < 2 {
		return [][]string{list}
	}
	var all [][]string
	for i, v := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		for _, p := range permutations(rest) {
			all = append(all, append([]string{v}, p...))
		}
	}
	return all
}

func quote(s string) string { return `"` + s + `"` }

// variable returns a name in the form of an nginx variable.
func variable(name string) string { return strings.ReplaceAll(name, "-", "_") }
