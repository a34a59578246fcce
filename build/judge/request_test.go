package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tollbook/site"
	"tollbook/site/postgres/checks"
	"tollbook/site/x402"
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
			fmt.Fprintf(&b, "%s %s %s %s %q %v %q %s\n", f.In, f.Name, kind, required, f.Example, f.Choices,
				f.Description, cmp.Or(f.Value, "-"))
		}
		fmt.Fprintf(&b, "more %d", more)
		if diff := gocmp.Diff(part["want"], b.String()); diff != "" {
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
	schema, err = json.Marshal(map[string]any{"properties": map[string]any{"list": map[string]any{
		"example": make([]int, maxJSON)}, "text": map[string]any{"example": strings.Repeat("x", maxJSON/2)}}})
	if err != nil {
		t.Fatal(err)
	}
	fields, _ = RequestFields(nil, string(schema), "/mcp#tool")
	if fields[0].Value != "" || len(fields[1].Value) != maxJSON/2+2 {
		t.Errorf("examples of %d and %d bytes, want none that is too long", len(fields[0].Value), len(fields[1].Value))
	}
}

// FuzzFields checks that every field is within the limits, and that the same input has the same fields.
func FuzzFields(f *testing.F) {
	f.Add(`{"extensions":{"bazaar":{"info":{"input":{"body":{"q":"x"}}}}}}`, "/a/{id}")
	f.Add(`{"accepts":[{"outputSchema":{"input":{"queryParams":{"q":"string"}}}}]}`, "/:id")
	f.Fuzz(func(t *testing.T, envelope, path string) {
		fields, more := RequestFields(json.RawMessage(envelope), "", path)
		again, _ := RequestFields(json.RawMessage(envelope), "", path)
		if diff := gocmp.Diff(fields, again); diff != "" || more < 0 || len(fields) > maxFields {
			t.Errorf("%d fields, %d more, again (-first +second):\n%s", len(fields), more, diff)
		}
		for _, field := range fields {
			if !nameForm.MatchString(field.Name) || strings.HasPrefix(field.Name, "__") ||
				!slices.Contains(site.RequestPlaces, field.In) || len(field.Description) > maxText ||
				len(field.Example) > maxValue || len(field.Value) > maxInput ||
				field.Value != "" && !json.Valid([]byte(field.Value)) || len(field.Choices) > maxChoices {
				t.Errorf("field %+v", field)
			}
		}
	})
}

func TestFirstName(t *testing.T) {
	t.Parallel()
	rows := []x402.Requirement{{Scheme: "exact", Network: "polygon", NetworkCAIP2: "eip155:137", Asset: "0x1"},
		{Scheme: "exact", Network: "base", NetworkCAIP2: "eip155:8453", Asset: "0x1"}}
	price := checks.Price{Scheme: "exact", NetworkCAIP2: new("eip155:8453"), Asset: "0x1"}
	other := price
	other.Asset = "0x2"
	for _, c := range []struct {
		name     string
		envelope *x402.Envelope
		price    checks.Price
		want     string
	}{
		{"version 1", &x402.Envelope{Version: 1, Accepts: rows}, price, "base"},
		{"version 2", &x402.Envelope{Version: 2, Accepts: rows}, price, ""},
		{"another asset", &x402.Envelope{Version: 1, Accepts: rows}, other, ""},
		{"no terms", nil, price, ""},
	} {
		if got := firstName(c.envelope, c.price); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
