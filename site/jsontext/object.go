package jsontext

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Object is the members of a JSON object in the order received. It is read leniently: a member of the wrong type does
// not affect the others.
type Object []Member

// Member is one key and its value. The value is a part of the text that was read, not a copy.
type Member struct {
	Key   string
	Value json.RawMessage
}

// ReadObject returns the first limit members of valid JSON, nil for anything that is no object. The Object of an empty
// object is not nil.
func ReadObject(text []byte, limit int) Object {
	if Kind(text) != '{' {
		return nil
	}
	o := Object{}
	for key, value := range Members(text) {
		if len(o) == limit {
			break
		}
		o = append(o, Member{Unquote(key), value})
	}
	return o
}

// Get returns the value of a key, the last of a repeated one, or nil if the object lacks it.
func (o Object) Get(key string) json.RawMessage {
	for _, m := range slices.Backward(o) {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// Has reports whether the object has a key.
func (o Object) Has(key string) bool {
	return slices.ContainsFunc(o, func(m Member) bool { return m.Key == key })
}

// List returns the elements of an array, nil for anything that is no array. The list of an empty array is not nil.
func List(text []byte) []json.RawMessage {
	if Kind(text) != '[' {
		return nil
	}
	list := []json.RawMessage{}
	for value := range Elements(text) {
		list = append(list, value)
	}
	return list
}

// Scalar returns a string decoded, or a number as it is written; "" for anything else.
func Scalar(text []byte) string {
	switch Kind(text) {
	case '"':
		return Unquote(text)
	case '0':
		return string(bytes.TrimSpace(text))
	}
	return ""
}
