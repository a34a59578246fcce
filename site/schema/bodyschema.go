package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// definitionPath is the JSON pointer of the components in a schema outside an OpenAPI document.
const definitionPath = "#/$defs/"

// BodySchema returns the JSON Schema of a response body, complete without the OpenAPI document. The argument is a value
// as in routes.Responses; only its type matters.
func BodySchema(body any) (json.RawMessage, error) {
	t := reflect.TypeOf(body)
	c := NewComponents()
	c.path = definitionPath
	root, err := c.Of(t)
	if err != nil {
		return nil, err
	}
	if root.Ref != "" {
		root.Type = "object" // beside the reference, for clients that do not follow references
	}
	if root.Type != "object" {
		return nil, fmt.Errorf("schema of %s: a body must be an object", t)
	}
	root.Defs = c.components
	return Line(root)
}
