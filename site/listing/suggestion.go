package listing

import "fmt"

// Suggestion returns "; did you mean …?" with the name that is the fewest edits away, or "" if that is far away. Of two
// such names it takes the first.
func Suggestion(name string, names []string) string {
	best, edits := "", max(2, len(name)/3)+1
	for _, n := range names {
		if d := editDistance(name, n); d < edits {
			best, edits = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
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
