package encode

import (
	"bytes"
	"encoding"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"tollbook/site/invisible"
)

// CSV returns a list as a table: a line of names, then a line for each element. A column is a member of the elements'
// JSON, or a member of an object in it: "cheapest.slug". A list in a field is its values with spaces between them. A
// list of objects has no place in a table and is left out. Null is an empty field. An invisible character is U+FFFD, and
// texts are what Cell returns.
func CSV[T any](list []T) ([]byte, error) {
	columns := columnsOf(reflect.TypeFor[T](), nil)
	line := make([]string, len(columns))
	for i, path := range columns {
		line[i] = strings.Join(path, ".")
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(line) // a buffer does not fail
	for i := range list {
		row, err := Row(&list[i])
		if err != nil {
			return nil, err
		}
		var members map[string]json.RawMessage
		err = json.Unmarshal(row, &members)
		for k, path := range columns {
			if err == nil {
				line[k], err = fieldAt(members, path)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read %.80q: %w", row, err)
		}
		_ = w.Write(line)
	}
	w.Flush()
	return b.Bytes(), nil
}

// columnsOf returns the paths of the members of a type that are columns.
func columnsOf(t reflect.Type, before []string) (columns [][]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		of := f.Type
		for of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		path := append(before[:len(before):len(before)], name)
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			columns = append(columns, columnsOf(of, before)...)
		case isObject(of):
			columns = append(columns, columnsOf(of, path)...)
		case of.Kind() == reflect.Map, of.Kind() == reflect.Slice && !isValue(of.Elem()):
		default:
			columns = append(columns, path)
		}
	}
	return columns
}

// isObject reports whether the JSON of a type is an object with fixed members.
func isObject(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !t.Implements(reflect.TypeFor[json.Marshaler]()) &&
		!t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// isValue reports whether the JSON of a type is neither an object nor a list.
func isValue(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return !isObject(t) && t.Kind() != reflect.Slice && t.Kind() != reflect.Map
}

// fieldAt returns the field of a member, or of a member of its objects.
func fieldAt(members map[string]json.RawMessage, path []string) (string, error) {
	value := members[path[0]]
	if value == nil || string(value) == "null" {
		return "", nil
	}
	if len(path) == 1 {
		return field(value)
	}
	var inner map[string]json.RawMessage
	if err := json.Unmarshal(value, &inner); err != nil {
		return "", err
	}
	return fieldAt(inner, path[1:])
}

// field returns a value as a field of a table.
func field(value json.RawMessage) (string, error) {
	text, err := textOf(value)
	if value[0] == '"' || value[0] == '[' {
		text = Cell(text)
	}
	return text, err
}

// textOf returns a value as text, a list as its values with spaces between them.
func textOf(value json.RawMessage) (string, error) {
	switch {
	case string(value) == "null":
		return "", nil
	case value[0] == '"':
		var text string
		err := json.Unmarshal(value, &text)
		return invisible.Replace(text), err
	case value[0] != '[':
		return string(value), nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil {
		return "", err
	}
	texts := make([]string, len(list))
	for i, v := range list {
		var err error
		if texts[i], err = textOf(v); err != nil {
			return "", err
		}
	}
	return strings.Join(texts, " "), nil
}

// Cell returns a text as a field of a table. A spreadsheet takes a text that begins with =, +, -, @, a tab or a line
// break for a formula, and strangers write texts. An apostrophe before it says that it is a text. (OWASP, CSV Injection)
func Cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}
