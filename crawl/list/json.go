package list

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// jsonReader reads the tokens of a list with their places.
type jsonReader struct {
	*reader
	places
	*json.Decoder
}

// readJSON reads an array of objects. It goes on behind a wrong entry, so that all faults are found.
func (in *reader) readJSON(data []byte) []row {
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		in.faultSyntax(data, err)
		return nil
	}
	d := jsonReader{in, places{data: data}, json.NewDecoder(bytes.NewReader(data))}
	start := d.next()
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		in.fault(start, "want a list of objects: [ {…}, … ]")
		return nil
	}
	var rows []row
	for d.More() {
		at := d.next()
		f := d.value(func(open json.Delim) bool {
			if open != '{' {
				return false
			}
			rows = append(rows, d.row(at))
			return true
		})
		if f.kind != "object" {
			in.fault(at, "want an object, got %s", f.kind)
		}
	}
	return rows
}

func (in *reader) faultSyntax(data []byte, err error) {
	p := places{data: data}
	syntax := &json.SyntaxError{}
	switch {
	case !errors.As(err, &syntax):
		in.fault(position{}, "%s", err)
	case strings.HasPrefix(syntax.Error(), "unexpected end"):
		in.fault(p.at(len(bytes.TrimRight(data, " \t\r\n"))), "the list ends too early")
	default: // Offset is that of the character after the wrong one
		in.fault(p.at(int(syntax.Offset)-1), "%s", syntax)
	}
}

// next returns the place of the next token.
func (d *jsonReader) next() position {
	rest := d.data[d.InputOffset():]
	return d.at(len(d.data) - len(bytes.TrimLeft(rest, " \t\r\n,:")))
}

// row reads the fields of an object up to its end.
func (d *jsonReader) row(at position) row {
	r := row{at, map[string]field{}}
	for d.More() {
		at := d.next()
		name, _ := d.Token() // the syntax is valid
		d.set(&r, name.(string), at, d.value(nil))
	}
	d.Token()
	return r
}

// value reads a value. enter reads the inside of an object or list, or returns false.
func (d *jsonReader) value(enter func(json.Delim) bool) field {
	f := field{at: d.next()}
	token, _ := d.Token()
	switch v := token.(type) {
	case string:
		f.kind, f.text = "string", v
	case float64:
		f.kind = "number"
	case bool:
		f.kind = "boolean"
	case nil:
		f.kind = "null"
	case json.Delim:
		f.kind = map[json.Delim]string{'{': "object", '[': "list"}[v]
		if enter != nil && enter(v) {
			return f
		}
		for d.More() {
			f.list = append(f.list, d.value(nil))
		}
		d.Token()
	}
	return f
}
