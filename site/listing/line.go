package listing

import (
	"strings"
	"unicode"
)

// MaxMarks is the maximum number of combining marks on one letter. More of them would be drawn over the lines above and
// below.
const MaxMarks = 3

// Line returns a text as one line of at most limit characters. Runs of white space become one space; hidden characters
// and marks beyond MaxMarks are removed; invalid UTF-8 becomes U+FFFD. whole is false if the text was shortened.
func Line(s string, limit int, hidden func(rune) bool) (line string, whole bool) {
	var b strings.Builder
	n, marks, space := 0, 0, false
	for _, r := range s {
		if unicode.IsSpace(r) {
			space = n > 0
			continue
		}
		if hidden(r) {
			continue
		}
		if marks++; !unicode.Is(unicode.M, r) {
			marks = 0
		}
		if marks > MaxMarks {
			continue
		}
		if n+1 > limit || space && n+2 > limit {
			return b.String(), false
		}
		if space {
			b.WriteByte(' ')
			n, space = n+1, false
		}
		b.WriteRune(r)
		n++
	}
	return b.String(), true
}
