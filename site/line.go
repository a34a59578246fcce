package site

import (
	"strings"
	"unicode"
)

// MaxMarks is how many combining marks may follow one letter; more of them are drawn over the lines around.
const MaxMarks = 3

// Line is a stranger's text in one line of at most limit characters: space is one blank, hidden characters are left
// out, and so are marks beyond MaxMarks. Of bytes that are no UTF-8 it has U+FFFD. whole is false where the limit cut
// it.
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
