// This file finds the name that somebody probably meant. It must never know what the names stand for.

package display

import (
	"cmp"
	"fmt"
	"slices"
)

// Hint returns "; did you mean …?" with the nearest name, or "" if there is none.
func Hint(name string, names []string) string {
	if best := Nearest(name, names); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// Nearest returns the first name of NearestAll, or "" if there is none.
func Nearest(name string, names []string) string {
	if all := NearestAll(name, names); len(all) > 0 {
		return all[0]
	}
	return ""
}

// NearestAll returns the names that are a few edits away: at most two, or a third of the bytes of a longer name, and
// fewer than all of them. Those with the fewest edits are first, and names with as many are in their given order.
func NearestAll(name string, names []string) []string {
	type near struct {
		name  string
		edits int
	}
	var all []near
	limit := min(len(name), max(2, len(name)/3)+1)
	for _, n := range names {
		if len(n)-len(name) >= limit || len(name)-len(n) >= limit {
			continue // each byte more or less is an edit
		}
		if d := editDistance(name, n); d < limit {
			all = append(all, near{n, d})
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(a.edits, b.edits) })
	list := make([]string, len(all))
	for i, n := range all {
		list[i] = n.name
	}
	return list
}

// editDistance returns how many bytes to insert, delete or replace to turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
