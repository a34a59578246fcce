package mcp

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"tollbook/site/invisible"
	"tollbook/site/listing"
)

// replaceInvisible replaces invisible characters in the strings of a JSON document by U+FFFD, and combining marks
// beyond listing.MaxMarks on one letter. A model reads what people do not see, and such characters can carry
// instructions. They are not removed, because a URL could then become a different valid URL. Line breaks and tabs stay.
// The result replaced is the number of replaced characters; if it is 0, out is data.
func replaceInvisible(data []byte) (out []byte, replaced int) {
	if isPlain(data) {
		return data, 0
	}
	var b bytes.Buffer
	b.Grow(len(data))
	inText, marks := false, 0
	for i := 0; i < len(data); {
		r, size := textRune(data[i:], inText)
		source := data[i : i+size]
		i += size
		switch {
		case !inText || size == 1 && r == '"':
			if source[0] == '"' {
				inText, marks = !inText, 0
			}
			b.Write(source)
			continue
		case !unicode.Is(unicode.M, r):
			marks = 0
		default:
			marks++
		}
		if r != '\n' && r != '\r' && r != '\t' && invisible.Is(r) || marks > listing.MaxMarks {
			b.WriteString("\uFFFD")
			replaced++
			continue
		}
		b.Write(source)
	}
	if replaced == 0 {
		return data, 0
	}
	return b.Bytes(), replaced
}

// isPlain reports whether JSON certainly has nothing to replace: it is ASCII without \u, \b and \f escapes.
func isPlain(data []byte) bool {
	for i, c := range data {
		if c >= utf8.RuneSelf || c == 0x7f || c == '\\' && i+1 < len(data) &&
			bytes.IndexByte([]byte("ubf"), data[i+1]) >= 0 {
			return false
		}
	}
	return true
}

// textRune returns the first character of data and its length in bytes; inside a string it may be an escape.
func textRune(data []byte, inText bool) (rune, int) {
	if !inText || data[0] != '\\' || len(data) < 2 {
		return utf8.DecodeRune(data)
	}
	switch data[1] {
	case 'u':
		r, ok := escaped(data)
		if !ok {
			return utf8.RuneError, 2
		}
		if low, ok := escaped(data[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return r, 6
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	default:
		return rune(data[1]), 2
	}
}

// escaped parses \uXXXX.
func escaped(data []byte) (rune, bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(data[2:6]), 16, 32)
	return rune(v), err == nil
}
