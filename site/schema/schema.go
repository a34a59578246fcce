// Package schema derives JSON Schemas from the contract's Go types by reflection, with the descriptions of package
// vocabulary. It does not depend on a snapshot or a server.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/vocabulary"
)

// Schema is a JSON Schema of draft 2020-12 with the keywords that the contract needs.
type Schema struct {
	Ref                  string          `json:"$ref,omitempty"`
	Description          string          `json:"description,omitempty"`
	Type                 any             `json:"type,omitempty"` // a name, or a list of them
	Format               string          `json:"format,omitempty"`
	Pattern              string          `json:"pattern,omitempty"`
	Enum                 []any           `json:"enum,omitempty"`
	Minimum              *int            `json:"minimum,omitempty"`
	Maximum              *int            `json:"maximum,omitempty"`
	MinLength            int             `json:"minLength,omitempty"`
	MaxLength            int             `json:"maxLength,omitempty"`
	Default              any             `json:"default,omitempty"`
	Items                *Schema         `json:"items,omitempty"`
	UniqueItems          bool            `json:"uniqueItems,omitempty"`
	Required             []string        `json:"required,omitempty"`
	Properties           Object[*Schema] `json:"properties,omitempty"`
	AdditionalProperties *Schema         `json:"additionalProperties,omitempty"`
	AnyOf                []*Schema       `json:"anyOf,omitempty"`
}

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

// Components derives schemas from Go types. Named structs become components that other schemas refer to.
type Components struct {
	components map[string]*Schema
	path       string // JSON pointer of the components in the document
}

// NewComponents returns an empty set of components for ComponentPath.
func NewComponents() *Components {
	return &Components{components: map[string]*Schema{}, path: ComponentPath}
}

// Named returns the components in the order of their names.
func (s *Components) Named() Object[*Schema] {
	var out Object[*Schema]
	for _, name := range slices.Sorted(maps.Keys(s.components)) {
		out = append(out, Member[*Schema]{name, s.components[name]})
	}
	return out
}

// ComponentPath is the JSON pointer of the schemas in an OpenAPI document.
const ComponentPath = "#/components/schemas/"

var (
	timeType    = reflect.TypeFor[site.Time]()
	decimalType = reflect.TypeFor[site.Decimal]()
	rawType     = reflect.TypeFor[json.RawMessage]()
	marshaler   = reflect.TypeFor[json.Marshaler]()
)

// Of returns the schema of a type. It fails for a type with its own MarshalJSON and for kinds that the contract does
// not use.
func (s *Components) Of(t reflect.Type) (*Schema, error) {
	switch t {
	case timeType:
		return &Schema{Type: "string", Format: "date-time"}, nil
	case decimalType:
		return &Schema{Type: "number", Minimum: new(0)}, nil
	case rawType:
		return &Schema{}, nil
	}
	if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && t.Implements(marshaler) {
		return nil, fmt.Errorf("schema of %s: the type has its own MarshalJSON; add a case for it", t)
	}
	switch t.Kind() {
	case reflect.Bool:
		return &Schema{Type: "boolean"}, nil
	case reflect.Int, reflect.Int64:
		return &Schema{Type: "integer"}, nil
	case reflect.Float64:
		return &Schema{Type: "number"}, nil
	case reflect.String:
		return &Schema{Type: "string"}, nil
	case reflect.Interface:
		return &Schema{}, nil
	case reflect.Pointer:
		inner, err := s.Of(t.Elem())
		if err != nil {
			return nil, err
		}
		return inner.orNull(), nil
	case reflect.Slice:
		items, err := s.Of(t.Elem())
		return &Schema{Type: "array", Items: items}, err
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("schema of %s: map keys must be strings", t)
		}
		values, err := s.Of(t.Elem())
		return &Schema{Type: "object", AdditionalProperties: values}, err
	case reflect.Struct:
		return s.ofStruct(t)
	default:
		return nil, fmt.Errorf("schema of %s: the contract does not use this kind of type", t)
	}
}

// orNull returns a schema that also allows null.
func (s *Schema) orNull() *Schema {
	if name, ok := s.Type.(string); ok {
		s.Type = []string{name, "null"}
		return s
	}
	return &Schema{AnyOf: []*Schema{s, {Type: "null"}}}
}

// ofStruct adds a struct to the components and returns a reference to it. A struct without a plain name, such as
// site.One[T], is written in place.
func (s *Components) ofStruct(t reflect.Type) (*Schema, error) {
	name := t.Name()
	if name == "" || strings.Contains(name, "[") {
		out := &Schema{Type: "object"}
		return out, s.addFields(out, t, "")
	}
	if s.components[name] == nil {
		out := &Schema{Type: "object", Description: Sentence(vocabulary.TypeAbout(name))}
		s.components[name] = out // before the fields, because one of them may be of this type
		if err := s.addFields(out, t, name); err != nil {
			return nil, err
		}
	}
	return &Schema{Ref: s.path + name}, nil
}

// addFields adds the fields of t that have a json tag, in the order of the struct. Fields of embedded structs are added
// as fields of t.
func (s *Components) addFields(out *Schema, t reflect.Type, typeName string) error {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			if err := s.addFields(out, f.Type, typeName); err != nil {
				return err
			}
			continue
		}
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		field, err := s.ofField(f.Type, typeName, name)
		if err != nil {
			return fmt.Errorf("field %s of %s: %w", f.Name, t, err)
		}
		out.remove(name) // of an embedded struct, which this field hides
		out.Properties = append(out.Properties, Member[*Schema]{name, field})
		if !strings.Contains(options, "omit") {
			out.Required = append(out.Required, name)
		}
	}
	return nil
}

// remove removes a property.
func (s *Schema) remove(name string) {
	s.Properties = slices.DeleteFunc(s.Properties, func(m Member[*Schema]) bool { return m.Name == name })
	s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
}

// ofField returns the schema of a field: that of its type with the field's description from package vocabulary.
func (s *Components) ofField(t reflect.Type, typeName, name string) (*Schema, error) {
	out, err := s.Of(t)
	if err != nil {
		return nil, err
	}
	field, ok := vocabulary.FieldOf(typeName, name)
	if !ok || typeName == "" {
		return out, nil
	}
	out.Description = Sentence(field.About)
	switch {
	case len(field.OneOf) > 0:
		for _, v := range field.OneOf {
			one, err := s.Of(reflect.TypeOf(v))
			if err != nil {
				return nil, err
			}
			out.AnyOf = append(out.AnyOf, one)
		}
	case kindOf(t) == reflect.String && t != timeType:
		out.restrictText(field)
	case kindOf(t) == reflect.Float64 && field.Max > 0:
		out.Minimum, out.Maximum = new(0), &field.Max
	}
	return out, nil
}

// restrictText adds the format and the permitted values of a string.
func (s *Schema) restrictText(field vocabulary.Field) {
	s.Format = field.Format
	for _, v := range field.Values {
		s.Enum = append(s.Enum, v)
	}
	if _, nullable := s.Type.([]string); nullable && len(s.Enum) > 0 {
		s.Enum = append(s.Enum, nil)
	}
}

// kindOf returns the kind of a type, or of the type that a pointer points to.
func kindOf(t reflect.Type) reflect.Kind {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == decimalType {
		return reflect.Invalid // a string in Go, but a number in JSON
	}
	return t.Kind()
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
