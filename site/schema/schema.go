// Package schema makes JSON Schemas of the contract's Go types: field by field by reflection, with what the vocabulary
// of package site says of each. It must never know a snapshot or a server.
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
	"tollbook/site/vocabulary"
)

// Schema is a JSON Schema of the 2020-12 draft, as far as the contract needs it.
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

// Object is an object whose members keep their order.
type Object[T any] []Member[T]

type Member[T any] struct {
	Name  string
	Value T
}

// MarshalJSON writes the members in their order.
func (o Object[T]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := site.Row(m.Name)
		if err != nil {
			return nil, err
		}
		value, err := site.Row(m.Value)
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

// Components reads schemas off Go types. Structs with a name become components that others refer to.
type Components struct {
	components map[string]*Schema
	path       string // of the components in the document
}

// NewComponents has no components yet; they will be at componentPath.
func NewComponents() *Components {
	return &Components{components: map[string]*Schema{}, path: ComponentPath}
}

// Named are the components by name.
func (s *Components) Named() Object[*Schema] {
	var out Object[*Schema]
	for _, name := range slices.Sorted(maps.Keys(s.components)) {
		out = append(out, Member[*Schema]{name, s.components[name]})
	}
	return out
}

// ComponentPath is where an OpenAPI document keeps components.
const ComponentPath = "#/components/schemas/"

var (
	timeType    = reflect.TypeFor[site.Time]()
	decimalType = reflect.TypeFor[site.Decimal]()
	rawType     = reflect.TypeFor[json.RawMessage]()
	marshaler   = reflect.TypeFor[json.Marshaler]()
)

// Of is the schema of a type; it fails for a type of which it can't tell how it is written.
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
		return nil, fmt.Errorf("schema of %s: it writes itself, and nothing here says how", t)
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
			return nil, fmt.Errorf("schema of %s: its keys are no text", t)
		}
		values, err := s.Of(t.Elem())
		return &Schema{Type: "object", AdditionalProperties: values}, err
	case reflect.Struct:
		return s.ofStruct(t)
	default:
		return nil, fmt.Errorf("schema of %s: no type of the contract", t)
	}
}

// orNull allows null beside what a schema allows.
func (s *Schema) orNull() *Schema {
	if name, ok := s.Type.(string); ok {
		s.Type = []string{name, "null"}
		return s
	}
	return &Schema{AnyOf: []*Schema{s, {Type: "null"}}}
}

// ofStruct makes a component of a struct and refers to it. One without a plain name, such as site.One[T], stands where
// it is used.
func (s *Components) ofStruct(t reflect.Type) (*Schema, error) {
	name := t.Name()
	if name == "" || strings.Contains(name, "[") {
		out := &Schema{Type: "object"}
		return out, s.addFields(out, t, "")
	}
	if s.components[name] == nil {
		out := &Schema{Type: "object", Description: Sentence(vocabulary.TypeAbout(name))}
		s.components[name] = out // before its fields, one of which may be of this type
		if err := s.addFields(out, t, name); err != nil {
			return nil, err
		}
	}
	return &Schema{Ref: s.path + name}, nil
}

// addFields adds what the json tags of t name, in the order of the struct; embedded structs as if their fields were
// t's.
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
		out.Properties = append(out.Properties, Member[*Schema]{name, field})
		if !strings.Contains(options, "omit") {
			out.Required = append(out.Required, name)
		}
	}
	return nil
}

// ofField adds to a type's schema what the vocabulary says of the field.
func (s *Components) ofField(t reflect.Type, typeName, name string) (*Schema, error) {
	out, err := s.Of(t)
	if err != nil {
		return nil, err
	}
	known, ok := vocabulary.FieldOf(typeName, name)
	if !ok || typeName == "" {
		return out, nil
	}
	out.Description = Sentence(known.About)
	switch at := t; {
	case len(known.OneOf) > 0:
		for _, v := range known.OneOf {
			one, err := s.Of(reflect.TypeOf(v))
			if err != nil {
				return nil, err
			}
			out.AnyOf = append(out.AnyOf, one)
		}
	case kindOf(at) == reflect.String && at != timeType:
		out.restrictText(known)
	case kindOf(at) == reflect.Float64 && known.Max > 0:
		out.Minimum, out.Maximum = new(0), &known.Max
	}
	return out, nil
}

func (s *Schema) restrictText(known vocabulary.Field) {
	s.Format = known.Format
	for _, v := range known.Values {
		s.Enum = append(s.Enum, v)
	}
	if _, nullable := s.Type.([]string); nullable && len(s.Enum) > 0 {
		s.Enum = append(s.Enum, nil)
	}
}

// kindOf is the kind of a type or of what it points to.
func kindOf(t reflect.Type) reflect.Kind {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == decimalType {
		return reflect.Invalid // written as a number
	}
	return t.Kind()
}

// Sentence makes a phrase of the vocabulary or of the route table one.
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
