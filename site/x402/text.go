package x402

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// maxText and maxURL bound what is kept of a service's words and addresses, in characters.
const (
	maxText = 500
	maxURL  = 2048
)

// cleanText makes a service's words fit to be shown: entities decoded once, doubly encoded UTF-8 repaired, control,
// invisible and direction characters out, blanks collapsed. Markup stays: whoever prints the text escapes it.
func cleanText(s string) string {
	if len(s) > 16*maxText { // the rest would be clipped anyway; entities and repairs only shorten
		s = s[:16*maxText]
	}
	s = dropInvisible(repairMojibake(html.UnescapeString(strings.ToValidUTF8(s, "\ufffd"))))
	s = dropInvisible(repairMojibake(s)) // an invisible character may have kept the first repair from working
	return strings.Join(strings.Fields(s), " ")
}

// isPrinted says whether s is of characters that ASCII prints.
func isPrinted(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// dropInvisible takes out what shows nothing and makes every blank a plain one.
func dropInvisible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case invisible(r):
			return -1
		}
		return r
	}, s)
}

// invisible says whether a character shows nothing but changes how text is read: controls, direction marks, joiners
// (except the one that emoji need), private and unassigned ones.
func invisible(r rune) bool {
	if r >= ' ' && r <= '~' || r == '\u200d' {
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs) || r == '\ufeff' ||
		r == '\u2028' || r == '\u2029'
}

// repairMojibake undoes one round of UTF-8 read as Windows-1252 ("USDâ‚®0"), where the whole text says so.
func repairMojibake(s string) string {
	if !strings.ContainsAny(s, "ÂÃâðÅÐ") {
		return s
	}
	original, err := charmap.Windows1252.NewEncoder().String(s)
	if err != nil || !utf8.ValidString(original) {
		return s
	}
	return original
}

// cleanURL keeps an address as it is written but for characters that no address holds.
func cleanURL(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == utf8.RuneError || invisible(r) {
			return -1
		}
		return r
	}, s)
	return clip(s, maxURL)
}

// clip cuts s to at most n characters, with an ellipsis as the last where something was cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	count := 0
	for i := range s {
		if count++; count == n && utf8.RuneCountInString(s[i:]) > 1 {
			return s[:i] + "…"
		}
	}
	return s
}
