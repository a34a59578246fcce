package listing

import (
	"testing"
	"unicode"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		limit int
		want  string
		whole bool
	}{
		{"", 3, "", true},
		{" a \t\n b ", 3, "a b", true},
		{"ab", 2, "ab", true},
		{"abc", 2, "ab", false},
		{"ab c", 3, "ab", false}, // no blank at the end
		{"ab ", 2, "ab", true},
		{"a\u202eb\x00c", 3, "abc", true},
		{"e\u0301\u0301\u0301\u0301\u0301x", 5, "e\u0301\u0301\u0301x", true},
		{"é\xff世", 3, "é\ufffd世", true},
		{"a", 0, "", false},
	} {
		got, whole := Line(tt.text, tt.limit, func(r rune) bool { return !unicode.IsGraphic(r) })
		if got != tt.want || whole != tt.whole {
			t.Errorf("Line(%q, %d) = %q, %v, want %q, %v", tt.text, tt.limit, got, whole, tt.want, tt.whole)
		}
	}
}
