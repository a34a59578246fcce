package schema

import (
	"encoding/json"
	"fmt"
	"reflect"

	"tollbook/site"
)

// definitionPath is where a schema that stands by itself keeps its components.
const definitionPath = "#/$defs/"

// BodySchema is the JSON Schema of a body by itself, for those who get one without the OpenAPI document: of a value as
// site.Responses has them, of which the type alone counts.
func BodySchema(body any) (json.RawMessage, error) {
	t := reflect.TypeOf(body)
	s := NewComponents()
	s.path = definitionPath
	root, err := s.Of(t)
	if err != nil {
		return nil, err
	}
	if root.Ref != "" {
		root.Type = "object" // beside the reference, for readers that look no further
	}
	if root.Type != "object" {
		return nil, fmt.Errorf("schema of %s: it stands for no object", t)
	}
	return site.Row(struct {
		*Schema
		Defs Object[*Schema] `json:"$defs,omitempty"`
	}{root, s.Named()})
}
