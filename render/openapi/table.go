package openapi

import (
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"tollbook/site/routes"
	"tollbook/site/schema"
)

const csvType = "text/csv"

// addTable describes a CSV file.
func (a *Document) addTable(t routes.CSV) {
	summary, _, _ := strings.Cut(strings.TrimSuffix(t.About, "."), ": ")
	op := &operation{ID: operationID(t.Name + "-table"), Summary: summary, Description: t.About,
		Tags: []string{tagFiles}, pattern: t.Pattern, Parameters: a.pathParameters(t.Pattern),
		Responses: responses("", csvType, &jsonschema.Schema{Type: "string"}, nil)}
	for _, p := range routes.Common {
		op.Parameters = append(op.Parameters, parameter{Ref: "#/components/parameters/" + p.Name})
	}
	a.doc.Paths = append(a.doc.Paths, schema.Member[*pathItem]{Name: strings.TrimPrefix(t.Pattern, apiPrefix),
		Value: &pathItem{Get: op}})
}
