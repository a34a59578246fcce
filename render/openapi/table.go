package openapi

import (
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"tollbook/site/encode"
	"tollbook/site/invisible"
	"tollbook/site/routes"
	"tollbook/site/schema"
)

const csvType = "text/csv"

// addTable describes a CSV file.
func (a *Document) addTable(t routes.CSV) error {
	op := &operation{ID: operationID(t.Name + "-table"), Summary: strings.TrimSuffix(t.About, "."), Description: t.About,
		Tags: []string{tagFiles}, pattern: t.Pattern, Parameters: a.pathParameters(t.Pattern)}
	body, err := a.examples.body(op)
	if err != nil {
		return err
	}
	if body != nil {
		if op.example, err = encode.Row(firstLines(string(body))); err != nil {
			return err
		}
	}
	op.Responses = responses("", csvType, &jsonschema.Schema{Type: "string"}, op.example)
	for _, p := range routes.Common {
		op.Parameters = append(op.Parameters, parameter{Ref: "#/components/parameters/" + p.Name})
	}
	a.doc.Paths = append(a.doc.Paths, schema.Member[*pathItem]{Name: strings.TrimPrefix(t.Pattern, apiPrefix),
		Value: &pathItem{Get: op}})
	return nil
}

// firstLines returns the head of a table and its first rows, without characters that cannot be seen.
func firstLines(table string) string {
	lines := strings.SplitAfterN(table, "\n", clipRows+2)
	text := strings.Join(lines[:min(len(lines), clipRows+1)], "")
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\r' && invisible.Is(r) {
			return -1
		}
		return r
	}, text)
}
