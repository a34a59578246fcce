package x402

import (
	"encoding/json"
)

// Limits of the JSON that is read. Real envelopes with a bazaar schema have about 15 levels, and no object with more
// than some dozens of members.
const (
	maxDepth   = 64
	maxMembers = 2048
)

// member is one key and its value in a JSON object, in the order received. Value is a part of the text that was
// scanned, not a copy.
type member struct {
	Key   string
	Value json.RawMessage
}

// depth returns the number of levels of objects and arrays in text, which need not be valid JSON.
func depth(text []byte) int {
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

// members splits a valid JSON object into its members, at most maxMembers. It returns false for anything that is not
// an object.
func members(text json.RawMessage) (list []member, ok bool) {
	i := skipSpace(text, 0)
	if i >= len(text) || text[i] != '{' {
		return nil, false
	}
	for i++; i < len(text) && len(list) < maxMembers; i++ {
		i = skipSpace(text, i)
		if i >= len(text) || text[i] != '"' {
			break // '}' of an empty object, or an end that valid JSON cannot have
		}
		end := skipString(text, i)
		key := unquote(text[i:end])
		i = skipSpace(text, end)
		if i >= len(text) || text[i] != ':' {
			break
		}
		i = skipSpace(text, i+1)
		end = skipValue(text, i)
		list = append(list, member{Key: key, Value: json.RawMessage(text[i:end:end])})
		i = skipSpace(text, end)
		if i >= len(text) || text[i] != ',' {
			break
		}
	}
	return list, true
}

// elements splits a valid JSON array into at most limit elements. It returns false for anything that is not an array.
// more is true if it left out elements.
func elements(text json.RawMessage, limit int) (list []json.RawMessage, more, ok bool) {
	i := skipSpace(text, 0)
	if i >= len(text) || text[i] != '[' {
		return nil, false, false
	}
	for i++; i < len(text); i++ {
		i = skipSpace(text, i)
		if i >= len(text) || text[i] == ']' {
			break
		}
		if len(list) == limit {
			return list, true, true
		}
		end := skipValue(text, i)
		list = append(list, json.RawMessage(text[i:end:end]))
		i = skipSpace(text, end)
		if i >= len(text) || text[i] != ',' {
			break
		}
	}
	return list, false, true
}

// duplicateKey returns the first key that occurs twice in an object of valid JSON, up to levels deep, or "". Parsers
// disagree about which value counts; here, as in JavaScript, it is the last.
func duplicateKey(text json.RawMessage, levels int) string {
	if levels == 0 {
		return ""
	}
	if list, ok := members(text); ok {
		if key := repeated(list); key != "" {
			return key
		}
		for i := range list {
			if key := duplicateKey(list[i].Value, levels-1); key != "" {
				return key
			}
		}
		return ""
	}
	values, _, _ := elements(text, maxRows)
	for _, value := range values {
		if key := duplicateKey(value, levels-1); key != "" {
			return key
		}
	}
	return ""
}

// repeated returns the first key that an earlier member has too, or "".
func repeated(list []member) string {
	seen := make(map[string]bool, len(list))
	for _, m := range list {
		if seen[m.Key] {
			return m.Key
		}
		seen[m.Key] = true
	}
	return ""
}

// object is the members of a JSON object by key, the last of a repeated key.
type object []member

// get returns the value of a key, or nil if the object lacks the key.
func (o object) get(key string) json.RawMessage {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].Key == key {
			return o[i].Value
		}
	}
	return nil
}

// child returns the members of the object under key, nil when there is none.
func (o object) child(key string) object {
	list, _ := members(o.get(key))
	return list
}

// text returns the string under key, "" when it is absent or no string.
func (o object) text(key string) string {
	s, _ := stringValue(o.get(key))
	return s
}

// stringValue reads a JSON string; ok is false for any other value.
func stringValue(raw json.RawMessage) (s string, ok bool) {
	if kind(raw) != '"' {
		return "", false
	}
	return unquote(raw), true
}

// kind returns what sort of JSON value text is: '{', '[', '"', 'n'ull, 't'rue, 'f'alse, '0' for a number, and 0 for
// none.
func kind(text json.RawMessage) byte {
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

// absent reports whether a value is missing or null.
func absent(text json.RawMessage) bool { return len(text) == 0 || kind(text) == 'n' }

// unquote decodes a JSON string. Invalid UTF-8 becomes U+FFFD.
func unquote(quoted []byte) string {
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return ""
	}
	return s
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at text[i].
func skipString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
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
