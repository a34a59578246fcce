// Package schema derives JSON Schemas from the contract's Go types. Package jsonschema knows how Go types look in JSON.
// This package adds what the contract adds to the types: references to named types, and the comments and tags beside
// the fields.
//
//	// Percentage of counted checks that were up; null if there were none.
//	Uptime24h *float64 `json:"uptime_24h" max:"100"`
//
// The first paragraph of the comment is the description. The tags are format (of a string), enum (the name of a list in
// site.Enums), max (of a number whose minimum is 0) and anyOf (ChangeSummaries).
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// Object is a JSON object whose members are written in order.
type Object[T any] []Member[T]

type Member[T any] struct {
	Name  string
	Value T
}

// MarshalJSON implements json.Marshaler.
func (o Object[T]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := encode.Row(m.Name)
		if err != nil {
			return nil, err
		}
		value, err := encode.Row(m.Value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Line returns a value with schemas as JSON on one line with a newline, like encode.Line. Package jsonschema escapes <, >
// and &, and writes true for a schema that allows anything. Line writes the characters and {}, as clients know them.
func Line(v any) ([]byte, error) {
	b, err := encode.Line(v)
	return []byte(plain.Replace(string(b))), err
}

// plain leaves an escaped backslash and the character after it as they are.
var plain = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&",
	`"items":true`, `"items":{}`, `"additionalProperties":true`, `"additionalProperties":{}`)

// Components derives schemas from Go types. Named structs become components that other schemas refer to.
type Components struct {
	components map[string]*jsonschema.Schema
	path       string // JSON pointer of the components in the document
}

// NewComponents returns an empty set of components for ComponentPath.
func NewComponents() *Components {
	return &Components{components: map[string]*jsonschema.Schema{}, path: ComponentPath}
}

// Named returns the components in the order of their names.
func (c *Components) Named() Object[*jsonschema.Schema] {
	var out Object[*jsonschema.Schema]
	for _, name := range slices.Sorted(maps.Keys(c.components)) {
		out = append(out, Member[*jsonschema.Schema]{name, c.components[name]})
	}
	return out
}

// Add adds a component with a name, and returns a reference to it.
func (c *Components) Add(name string, s *jsonschema.Schema) (*jsonschema.Schema, error) {
	if c.components[name] != nil {
		return nil, fmt.Errorf("two components are named %s", name)
	}
	c.components[name] = s
	return &jsonschema.Schema{Ref: c.path + name}, nil
}

// Component returns the component that a reference names, or nil.
func (c *Components) Component(ref string) *jsonschema.Schema {
	return c.components[strings.TrimPrefix(ref, c.path)]
}

// ComponentPath is the JSON pointer of the schemas in an OpenAPI document.
const ComponentPath = "#/components/schemas/"

// known contains the schemas of the types that write their own JSON.
var known = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[site.Time]():       {Type: "string", Format: "date-time"},
	reflect.TypeFor[site.Decimal]():    {Type: "number", Minimum: new(float64)},
	reflect.TypeFor[json.RawMessage](): {},
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// elementOf returns the type of the values in pointers, lists and maps.
func elementOf(t reflect.Type) reflect.Type {
	for known[t] == nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
		t = t.Elem()
	}
	return t
}

// isNamed reports whether a struct has a plain name. site.One[T] has none.
func isNamed(t reflect.Type) bool { return t.Name() != "" && !strings.Contains(t.Name(), "[") }

// isMember reports whether a field is a member in JSON by itself.
func isMember(f field) bool { return f.IsExported() && f.name() != "" && f.name() != "-" }

// Of returns the schema of a type. It fails for a type with its own MarshalJSON, for kinds that JSON does not have, and
// for a field without a description.
func (c *Components) Of(t reflect.Type) (*jsonschema.Schema, error) {
	types := maps.Clone(known)
	element := elementOf(t)
	switch {
	case known[element] != nil || element.Kind() == reflect.Interface:
	case element.Implements(marshaler):
		return nil, fmt.Errorf("schema of %s: the type has its own MarshalJSON; add it to known", element)
	case element.Kind() == reflect.Struct:
		s, err := c.ofStruct(element)
		if err != nil {
			return nil, err
		}
		types[element] = s
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	return nullable(s, t), nil
}

// nullable changes a schema of package jsonschema to what the contract says: only a pointer can be null, a list never
// is, and null comes last.
func nullable(s *jsonschema.Schema, t reflect.Type) *jsonschema.Schema {
	isPointer := t.Kind() == reflect.Pointer
	if isPointer {
		t = t.Elem()
	}
	s.Types = slices.DeleteFunc(s.Types, func(name string) bool { return name == "null" })
	if len(s.Types) > 0 {
		s.Type, s.Types = s.Types[0], nil
	}
	s.Types = nil
	if known[t] == nil {
		switch t.Kind() {
		case reflect.Slice:
			s.Items = nullable(s.Items, t.Elem())
		case reflect.Map:
			s.AdditionalProperties = nullable(s.AdditionalProperties, t.Elem())
		}
	}
	switch {
	case !isPointer:
		return s
	case s.Type == "":
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	}
	s.Types, s.Type = []string{s.Type, "null"}, ""
	return s
}

// ofStruct adds a struct to the components and returns a reference to it. A struct without a plain name is written in
// place.
func (c *Components) ofStruct(t reflect.Type) (*jsonschema.Schema, error) {
	out := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	if !isNamed(t) {
		return out, c.addFields(out, t)
	}
	if c.components[t.Name()] == nil {
		c.components[t.Name()] = out // before the fields, because one of them may be of this type
		if isContract(t) {
			var err error
			if out.Description, err = describeType(t); err != nil {
				return nil, err
			}
		}
		if err := c.addFields(out, t); err != nil {
			return nil, err
		}
	}
	return &jsonschema.Schema{Ref: c.path + t.Name()}, nil
}

// addFields adds the fields of t that are members in JSON, in the order of the struct. Fields of embedded structs are
// added as fields of t.
func (c *Components) addFields(out *jsonschema.Schema, t reflect.Type) error {
	for i := range t.NumField() {
		f := field{t.Field(i), t}
		if f.Anonymous && f.name() == "" {
			if err := c.addFields(out, f.Type); err != nil {
				return err
			}
			continue
		}
		if !isMember(f) {
			continue
		}
		s, err := c.ofField(f)
		if err != nil {
			return err
		}
		name := f.name()
		if out.Properties[name] != nil { // of an embedded struct, which this field hides
			isName := func(n string) bool { return n == name }
			out.PropertyOrder = slices.DeleteFunc(out.PropertyOrder, isName)
			out.Required = slices.DeleteFunc(out.Required, isName)
		}
		out.Properties[name] = s
		out.PropertyOrder = append(out.PropertyOrder, name)
		if !strings.Contains(f.Tag.Get("json"), ",omit") {
			out.Required = append(out.Required, name)
		}
	}
	return nil
}

// ofField returns the schema of a field: that of its type with the field's description and tags.
func (c *Components) ofField(f field) (*jsonschema.Schema, error) {
	s, err := c.Of(f.Type)
	if err != nil || !isNamed(f.owner) || !isContract(f.owner) {
		return s, err
	}
	text, described, err := describe(f)
	if err != nil {
		return nil, err
	}
	s.Description = text
	kind := f.Type.Kind()
	if kind == reflect.Pointer {
		kind = f.Type.Elem().Kind()
	}
	tag := described.Tag
	switch {
	case tag.Get("anyOf") != "":
		for _, v := range site.ChangeSummaries {
			one, err := c.Of(reflect.TypeOf(v))
			if err != nil {
				return nil, err
			}
			s.AnyOf = append(s.AnyOf, one)
		}
	case known[f.Type] == nil && kind == reflect.String:
		if tag.Get("format") != "" {
			s.Format = tag.Get("format")
		}
		s.Enum, err = enumOf(tag.Get("enum"), s.Types != nil)
	case tag.Get("max") != "" && kind == reflect.Float64:
		most, err := strconv.ParseFloat(tag.Get("max"), 64)
		if err != nil {
			return nil, fmt.Errorf("field %s: parse the tag max: %w", described, err)
		}
		s.Minimum, s.Maximum = new(float64), &most
	}
	if err != nil {
		return nil, fmt.Errorf("field %s: %w", described, err)
	}
	return s, nil
}

// enumOf returns the values of the list with a name, nil for no name.
func enumOf(name string, isNullable bool) (values []any, err error) {
	if name == "" {
		return nil, nil
	}
	list := append(site.Enums[name], routes.Enums[name]...)
	if list == nil {
		return nil, fmt.Errorf("the tag enum names %s, which is not in site.Enums", name)
	}
	for _, v := range list {
		values = append(values, v)
	}
	if isNullable {
		values = append(values, nil)
	}
	return values, nil
}

// Sentence returns a phrase with a capital letter at its start and a full stop at its end.
func Sentence(s string) string {
	if s == "" {
		return ""
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if last := s[len(s)-1]; last != '.' && last != '?' && last != '!' {
		s += "."
	}
	return s
}
