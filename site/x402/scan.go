package x402

import (
	"encoding/json"

	"tollbook/site/jsontext"
)

// Limits of the JSON that is read. Real envelopes with a bazaar schema have about 15 levels, and no object with more
// than some dozens of members.
const (
	maxDepth   = 64
	maxMembers = 2048
)

// member is one key and its value in a JSON object, in the order received.
type member = jsontext.Member

// members splits a valid JSON object into its members, at most maxMembers. It returns false for anything that is not
// an object.
func members(text json.RawMessage) (list []member, ok bool) {
	o := jsontext.ReadObject(text, maxMembers)
	return o, o != nil
}

// elements splits a valid JSON array into at most limit elements. It returns false for anything that is not an array.
// more is true if it left out elements.
func elements(text json.RawMessage, limit int) (list []json.RawMessage, more, ok bool) {
	if jsontext.Kind(text) != '[' {
		return nil, false, false
	}
	for value := range jsontext.Elements(text) {
		if len(list) == limit {
			return list, true, true
		}
		list = append(list, value)
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
func (o object) get(key string) json.RawMessage { return jsontext.Object(o).Get(key) }

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

// The names of package jsontext that this package uses everywhere.
func depth(text []byte) int            { return jsontext.Depth(text) }
func kind(text json.RawMessage) byte   { return jsontext.Kind(text) }
func absent(text json.RawMessage) bool { return jsontext.IsAbsent(text) }
func unquote(quoted []byte) string     { return jsontext.Unquote(quoted) }
