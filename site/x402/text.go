package x402

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"tollbook/site/invisible"
)

// maxText and maxURL are the largest lengths of a service's texts and URLs, in characters.
const (
	maxText = 500
	maxURL  = 2048
)

// cleanText prepares a service's text for display. It decodes entities once, repairs doubly encoded UTF-8, removes
// control, invisible and direction characters, and collapses spaces. It keeps markup: the caller escapes the text.
func cleanText(s string) string {
	if len(s) > 16*maxText { // decoding only shortens the text, so the rest would be clipped
		s = s[:16*maxText]
	}
	s = dropInvisible(repairMojibake(html.UnescapeString(strings.ToValidUTF8(s, "\ufffd"))))
	s = dropInvisible(repairMojibake(s)) // an invisible character may have prevented the first repair
	return strings.Join(strings.Fields(s), " ")
}

// isPrinted reports whether all characters of s are printable ASCII.
func isPrinted(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// dropInvisible removes invisible characters and replaces all white space by plain spaces.
func dropInvisible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case invisible.Is(r):
			return -1
		}
		return r
	}, s)
}

// repairMojibake reverses one misreading of UTF-8 as Windows-1252 ("USDâ‚®0"), if the whole text shows it.
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

// cleanURL returns a URL unchanged except for characters that no URL contains.
func cleanURL(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == utf8.RuneError || invisible.Is(r) {
			return -1
		}
		return r
	}, s)
	return clip(s, maxURL)
}

// clip cuts s to at most n characters, of which the last is an ellipsis if s was longer.
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
