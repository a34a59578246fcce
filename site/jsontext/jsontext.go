// Package jsontext reads JSON text in place: the members of an object and the elements of an array, as parts of the
// text, in the order received. It is for JSON of strangers, of which a reader needs a few values and which may be wrong
// anywhere else. It must never know what a value means.
//
// Members and Elements expect valid JSON, which json.Valid checks. Of other text they return some parts; they never
// panic.
package jsontext

import (
	"bytes"
	"encoding/json"
	"iter"
)

// Depth returns the number of levels of objects and arrays in text, which need not be valid JSON.
func Depth(text []byte) int {
	now, deepest := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = skipString(text, i) - 1
		case '{', '[':
			now++
			deepest = max(deepest, now)
		case '}', ']':
			now--
		}
	}
	return deepest
}

// Members returns the keys of a JSON object, as quoted in the text, and their values. It returns none for anything that
// is not an object.
func Members(text []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		i := skipSpace(text, 0)
		if i >= len(text) || text[i] != '{' {
			return
		}
		for i++; i < len(text); i++ {
			i = skipSpace(text, i)
			if i >= len(text) || text[i] != '"' {
				return // '}' of an empty object, or an end that valid JSON cannot have
			}
			end := skipString(text, i)
			key := text[i:end]
			i = skipSpace(text, end)
			if i >= len(text) || text[i] != ':' {
				return
			}
			i = skipSpace(text, i+1)
			end = skipValue(text, i)
			if !yield(key, json.RawMessage(text[i:end:end])) {
				return
			}
			i = skipSpace(text, end)
			if i >= len(text) || text[i] != ',' {
				return
			}
		}
	}
}

// Elements returns the elements of a JSON array. It returns none for anything that is not an array.
func Elements(text []byte) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		i := skipSpace(text, 0)
		if i >= len(text) || text[i] != '[' {
			return
		}
		for i++; i < len(text); i++ {
			i = skipSpace(text, i)
			if i >= len(text) || text[i] == ']' {
				return
			}
			end := skipValue(text, i)
			if !yield(json.RawMessage(text[i:end:end])) {
				return
			}
			i = skipSpace(text, end)
			if i >= len(text) || text[i] != ',' {
				return
			}
		}
	}
}

// First returns the JSON value that text begins with, without the spaces around it.
func First(text []byte) json.RawMessage {
	i := skipSpace(text, 0)
	return text[i:skipValue(text, i)]
}

// Kind returns what sort of JSON value text is: '{', '[', '"', 'n'ull, 't'rue, 'f'alse, '0' for a number, and 0 for
// none.
func Kind(text []byte) byte {
	i := skipSpace(text, 0)
	if i >= len(text) {
		return 0
	}
	switch c := text[i]; {
	case c == '-' || c >= '0' && c <= '9':
		return '0'
	default:
		return c
	}
}

// IsAbsent reports whether a value is missing or null.
func IsAbsent(text []byte) bool { return len(text) == 0 || Kind(text) == 'n' }

// Unquote decodes a JSON string, "" for anything else. Invalid UTF-8 becomes U+FFFD.
func Unquote(quoted []byte) string {
	if plain, ok := plainString(quoted); ok {
		return string(plain)
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return ""
	}
	return s
}

// plainString returns the content of a quoted string of ASCII without escapes.
func plainString(quoted []byte) ([]byte, bool) {
	if len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
		return nil, false
	}
	content := quoted[1 : len(quoted)-1]
	for _, c := range content {
		if c < ' ' || c > '~' || c == '\\' || c == '"' {
			return nil, false
		}
	}
	return content, true
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at text[i].
func skipString(text []byte, i int) int {
	for i++; i < len(text); {
		end := bytes.IndexByte(text[i:], '"')
		if end < 0 {
			return len(text)
		}
		end += i
		slashes := 0
		for end-slashes > i && text[end-1-slashes] == '\\' {
			slashes++
		}
		if i = end + 1; slashes%2 == 0 {
			return i
		}
	}
	return len(text)
}

// skipValue returns the index after the JSON value that begins at text[i].
func skipValue(text []byte, i int) int {
	for level := 0; i < len(text); {
		switch text[i] {
		case '"':
			i = skipString(text, i)
		case '{', '[':
			level++
			i++
			continue
		case '}', ']':
			if level == 0 {
				return i
			}
			level--
			i++
		case ',', ' ', '\t', '\n', '\r':
			if level == 0 {
				return i
			}
			i++
			continue
		default:
			i++
			if level == 0 {
				for i < len(text) && !endsScalar(text[i]) {
					i++
				}
				return i
			}
			continue
		}
		if level == 0 {
			return i
		}
	}
	return len(text)
}

func endsScalar(c byte) bool {
	switch c {
	case ',', '}', ']', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}
