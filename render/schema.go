package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"tollbook/site"
)

// schema is a JSON Schema of the 2020-12 draft, as far as the contract needs it.
type schema struct {
	Ref                  string           `json:"$ref,omitempty"`
	Description          string           `json:"description,omitempty"`
	Type                 any              `json:"type,omitempty"` // a name, or a list of them
	Format               string           `json:"format,omitempty"`
	Pattern              string           `json:"pattern,omitempty"`
	Enum                 []any            `json:"enum,omitempty"`
	Minimum              *int             `json:"minimum,omitempty"`
	Maximum              *int             `json:"maximum,omitempty"`
	MinLength            int              `json:"minLength,omitempty"`
	MaxLength            int              `json:"maxLength,omitempty"`
	Default              any              `json:"default,omitempty"`
	Items                *schema          `json:"items,omitempty"`
	UniqueItems          bool             `json:"uniqueItems,omitempty"`
	Required             []string         `json:"required,omitempty"`
	Properties           ordered[*schema] `json:"properties,omitempty"`
	AdditionalProperties *schema          `json:"additionalProperties,omitempty"`
	AnyOf                []*schema        `json:"anyOf,omitempty"`
}

// ordered is an object whose members keep their order.
type ordered[T any] []member[T]

type member[T any] struct {
	Name  string
	Value T
}

// MarshalJSON writes the members in their order.
func (o ordered[T]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := Row(m.Name)
		if err != nil {
			return nil, err
		}
		value, err := Row(m.Value)
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

// schemas reads schemas off Go types. Structs with a name become components that others refer to.
type schemas struct {
	components map[string]*schema
	path       string // of the components in the document; componentPath unless it is given
}

// named are the components by name.
func (s *schemas) named() ordered[*schema] {
	var out ordered[*schema]
	for _, name := range slices.Sorted(maps.Keys(s.components)) {
		out = append(out, member[*schema]{name, s.components[name]})
	}
	return out
}

const componentPath = "#/components/schemas/"

var (
	timeType    = reflect.TypeFor[site.Time]()
	decimalType = reflect.TypeFor[site.Decimal]()
	rawType     = reflect.TypeFor[json.RawMessage]()
	marshaler   = reflect.TypeFor[json.Marshaler]()
)

// of is the schema of a type; it fails for a type of which it can't tell how it is written.
func (s *schemas) of(t reflect.Type) (*schema, error) {
	switch t {
	case timeType:
		return &schema{Type: "string", Format: "date-time"}, nil
	case decimalType:
		return &schema{Type: "number", Minimum: new(0)}, nil
	case rawType:
		return &schema{}, nil
	}
	if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && t.Implements(marshaler) {
		return nil, fmt.Errorf("schema of %s: it writes itself, and nothing here says how", t)
	}
	switch t.Kind() {
	case reflect.Bool:
		return &schema{Type: "boolean"}, nil
	case reflect.Int, reflect.Int64:
		return &schema{Type: "integer"}, nil
	case reflect.Float64:
		return &schema{Type: "number"}, nil
	case reflect.String:
		return &schema{Type: "string"}, nil
	case reflect.Interface:
		return &schema{}, nil
	case reflect.Pointer:
		inner, err := s.of(t.Elem())
		if err != nil {
			return nil, err
		}
		return inner.orNull(), nil
	case reflect.Slice:
		items, err := s.of(t.Elem())
		return &schema{Type: "array", Items: items}, err
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("schema of %s: its keys are no text", t)
		}
		values, err := s.of(t.Elem())
		return &schema{Type: "object", AdditionalProperties: values}, err
	case reflect.Struct:
		return s.ofStruct(t)
	default:
		return nil, fmt.Errorf("schema of %s: no type of the contract", t)
	}
}

// orNull allows null beside what a schema allows.
func (s *schema) orNull() *schema {
	if name, ok := s.Type.(string); ok {
		s.Type = []string{name, "null"}
		return s
	}
	return &schema{AnyOf: []*schema{s, {Type: "null"}}}
}

// ofStruct makes a component of a struct and refers to it. One without a plain name, such as site.One[T], stands where
// it is used.
func (s *schemas) ofStruct(t reflect.Type) (*schema, error) {
	name := t.Name()
	if name == "" || strings.Contains(name, "[") {
		out := &schema{Type: "object"}
		return out, s.addFields(out, t, "")
	}
	if s.components[name] == nil {
		out := &schema{Type: "object", Description: sentence(site.TypeAbout(name))}
		s.components[name] = out // before its fields, one of which may be of this type
		if err := s.addFields(out, t, name); err != nil {
			return nil, err
		}
	}
	return &schema{Ref: cmp.Or(s.path, componentPath) + name}, nil
}

// addFields adds what the json tags of t name, in the order of the struct; embedded structs as if their fields were t's.
func (s *schemas) addFields(out *schema, t reflect.Type, typeName string) error {
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
		out.Properties = append(out.Properties, member[*schema]{name, field})
		if !strings.Contains(options, "omit") {
			out.Required = append(out.Required, name)
		}
	}
	return nil
}

// ofField adds to a type's schema what the vocabulary says of the field.
func (s *schemas) ofField(t reflect.Type, typeName, name string) (*schema, error) {
	out, err := s.of(t)
	if err != nil {
		return nil, err
	}
	known, ok := site.FieldOf(typeName, name)
	if !ok || typeName == "" {
		return out, nil
	}
	out.Description = sentence(known.About)
	switch at := t; {
	case len(known.OneOf) > 0:
		for _, v := range known.OneOf {
			one, err := s.of(reflect.TypeOf(v))
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

func (s *schema) restrictText(known site.Field) {
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

// sentence makes a phrase of the vocabulary or of the route table one.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if last := s[len(s)-1]; last != '.' && last != '?' && last != '!' {
		s += "."
	}
	return s
}
