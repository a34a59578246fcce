// Package invisible says which characters are not displayed or change how others are displayed, and how each output
// writes them: JSON escapes them, lines of text drop them, and evidence shows U+FFFD instead. Strangers can hide words
// or reverse addresses with them. It must never know what a text is about.
package invisible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Is reports whether a character is invisible: a control, direction, zero-width, tag or private character, a separator
// of lines, or a filler. It returns false for the joiners that emoji and Indic scripts need. Line breaks and tabs are
// controls too.
func Is(r rune) bool {
	switch {
	case isASCII(r), r == 0x200c, r == 0x200d:
		return false
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
		return true
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp)
}

// isASCII reports whether a character is printable ASCII.
func isASCII(r rune) bool { return r >= ' ' && r <= '~' }

// isSpace reports whether a character is a line break or a tab, which texts of several lines keep.
func isSpace(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }

// Drop returns a text without invisible characters, except line breaks and tabs.
func Drop(s string) string { return replace(s, -1) }

// Replace returns a text with U+FFFD in place of each invisible character, except line breaks and tabs.
func Replace(s string) string { return replace(s, utf8.RuneError) }

func replace(s string, by rune) string {
	plain := true // most texts are, and the Unicode tables are slow
	for i := 0; i < len(s) && plain; i++ {
		plain = isASCII(rune(s[i])) || isSpace(rune(s[i]))
	}
	if plain {
		return s
	}
	return strings.Map(func(r rune) rune {
		if !isSpace(r) && Is(r) {
			return by
		}
		return r
	}, s)
}

// Clip returns the first bytes of a text, at most size, whole characters only.
func Clip(s string, size int) string { return strings.ToValidUTF8(s[:min(len(s), size)], "") }

// ReplaceOrNull is Replace for a text that is published as null if it is empty.
func ReplaceOrNull(s string) *string {
	if s == "" {
		return nil
	}
	s = Replace(s)
	return &s
}

// EscapeJSON returns JSON of the same value with \uXXXX in place of each invisible character. It may change the memory
// of b. Encoders escape controls of ASCII already; outside of strings they are white space.
func EscapeJSON(b []byte) []byte { return EscapeEnd(b, 0) }

// EscapeEnd is EscapeJSON for what b contains from a place on. It returns all of b.
func EscapeEnd(b []byte, from int) []byte {
	for i := from; i < len(b); {
		if b[i] < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if Is(r) {
			return appendEscaped(b[:i], string(b[i:]))
		}
		i += size
	}
	return b
}

// appendEscaped appends JSON that begins with an invisible character.
func appendEscaped(b []byte, rest string) []byte {
	for i, r := range rest {
		switch {
		case r < 0x7f:
			b = append(b, byte(r))
		case !Is(r):
			_, size := utf8.DecodeRuneInString(rest[i:])
			b = append(b, rest[i:i+size]...)
		case r > 0xffff:
			r -= 0x10000
			b = fmt.Appendf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}
