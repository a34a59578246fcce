package site

import (
	"strings"
	"unicode"
)

// MaxMarks is how many combining marks may follow one letter; more of them are drawn over the lines around.
const MaxMarks = 3

// Line is a stranger's text in one line of at most limit characters: space is one blank, hidden characters are left out, and
// so are marks beyond MaxMarks. Of bytes that are no UTF-8 it has U+FFFD. whole is false where the limit cut it. hidden is not
// asked of what ASCII prints.
func Line(s string, limit int, hidden func(rune) bool) (line string, whole bool) {
	if isLine(s, limit) {
		return s, true
	}
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

// isLine says at a glance that Line has nothing to do: s is short, and of ASCII's letters with single blanks between.
func isLine(s string, limit int) bool {
	before := byte(' ')
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == ' ' && before == ' ' {
			return false
		}
		before = s[i]
	}
	return len(s) <= limit && (before != ' ' || s == "")
}
