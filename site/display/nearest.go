// This file finds the name that somebody probably meant. It must never know what the names stand for.

package display

import "fmt"

// Hint returns "; did you mean …?" with the nearest name, or "" if there is none.
func Hint(name string, names []string) string {
	if best := Nearest(name, names); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// Nearest returns the name that is the fewest edits away: at most two, or a third of the bytes of a longer name, and
// fewer than all of them. Of two such names it returns the first, and "" if there is none.
func Nearest(name string, names []string) string {
	best, edits := "", min(len(name), max(2, len(name)/3)+1)
	for _, n := range names {
		if d := editDistance(name, n); d < edits {
			best, edits = n, d
		}
	}
	return best
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
