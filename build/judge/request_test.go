package judge

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tollbook/site"
)

func TestFields(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		part := map[string]string{}
		for _, f := range archive.Files {
			part[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
		}
		fields, more := RequestFields(json.RawMessage(part["envelope"]), part["tool"], part["path"])
		var b strings.Builder
		for _, f := range fields {
			kind, required := f.Type, "-"
			if kind == "" {
				kind = "-"
			}
			if f.Required {
				required = "required"
			}
			fmt.Fprintf(&b, "%s %s %s %s %q %v %q\n", f.In, f.Name, kind, required, f.Example, f.Choices, f.Description)
		}
		fmt.Fprintf(&b, "more %d", more)
		if diff := cmp.Diff(part["want"], b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// TestFieldsLimit checks that required fields are kept when there are too many.
func TestFieldsLimit(t *testing.T) {
	t.Parallel()
	properties := map[string]any{"z": map[string]any{"type": "string"}}
	for i := range 2 * maxFields {
		properties[fmt.Sprintf("f%02d", i)] = map[string]any{"description": strings.Repeat("é", maxText)}
	}
	schema, err := json.Marshal(map[string]any{"properties": properties, "required": []string{"z"}})
	if err != nil {
		t.Fatal(err)
	}
	fields, more := RequestFields(nil, string(schema), "/mcp#tool")
	if len(fields) != maxFields || more != maxFields+1 || fields[0].Name != "z" {
		t.Fatalf("%d fields, %d more, first %s", len(fields), more, fields[0].Name)
	}
	if n := len(fields[1].Description); n != maxText {
		t.Errorf("a description of %d bytes", n)
	}
}

// FuzzFields checks that every field is within the limits, and that the same input has the same fields.
func FuzzFields(f *testing.F) {
	f.Add(`{"extensions":{"bazaar":{"info":{"input":{"body":{"q":"x"}}}}}}`, "/a/{id}")
	f.Add(`{"accepts":[{"outputSchema":{"input":{"queryParams":{"q":"string"}}}}]}`, "/:id")
	f.Fuzz(func(t *testing.T, envelope, path string) {
		fields, more := RequestFields(json.RawMessage(envelope), "", path)
		again, _ := RequestFields(json.RawMessage(envelope), "", path)
		if diff := cmp.Diff(fields, again); diff != "" || more < 0 || len(fields) > maxFields {
			t.Errorf("%d fields, %d more, again (-first +second):\n%s", len(fields), more, diff)
		}
		for _, field := range fields {
			if !nameForm.MatchString(field.Name) || strings.HasPrefix(field.Name, "__") ||
				!slices.Contains(site.RequestPlaces, field.In) || len(field.Description) > maxText ||
				len(field.Example) > maxValue || len(field.Choices) > maxChoices {
				t.Errorf("field %+v", field)
			}
		}
	})
}
