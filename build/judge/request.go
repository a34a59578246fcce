// This file reads which fields the request of an endpoint has. Services declare them in the bazaar extension of
// version 2 of the protocol, in outputSchema of version 1, or in the schema of an MCP tool.
//
// It must never know a page. All that it reads was written by strangers: it keeps names of a plain form, and limits
// how many fields there are and how long their texts are.

package judge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/invisible"
)

// Limits of what is kept.
const (
	maxFields  = 24
	maxChoices = 20
	maxText    = 500  // bytes of a description
	maxValue   = 64   // bytes of an example or a choice
	maxJSON    = 800  // bytes of an example as JSON
	maxInput   = 3000 // bytes of all examples of a request
)

var (
	nameForm = regexp.MustCompile(`^_?[A-Za-z0-9.$\[\]-][A-Za-z0-9_.$\[\]-]{0,62}$`)
	pathName = regexp.MustCompile(`\{([^{}/]+)\}|/:([A-Za-z0-9_.-]+)`)

	jsonTypes = []string{"string", "number", "integer", "boolean", "object", "array"}
)

// object is a JSON object; other JSON is read as an empty one.
type object map[string]json.RawMessage

func (o *object) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) == nil {
		*o = members
	}
	return nil
}

func (o object) child(name string) (c object) {
	_ = json.Unmarshal(o[name], &c)
	return c
}

func (o object) text(name string) (s string) {
	_ = json.Unmarshal(o[name], &s)
	return s
}

func (o object) list(name string) (items []json.RawMessage) {
	_ = json.Unmarshal(o[name], &items)
	return items
}

// RequestFields returns the fields of an endpoint's request: those of its path, its query, and its JSON body or a
// tool's arguments. Required fields come before others, and equal ones are in the order of names. more counts fields
// that are left out. The envelope is the newest terms of the endpoint, nil without any.
func RequestFields(envelope json.RawMessage, toolSchema, path string) (fields []site.RequestField, more int) {
	r := reader{path: pathFields(path)}
	if toolSchema != "" {
		var schema object
		_ = json.Unmarshal([]byte(toolSchema), &schema)
		r.addSchema(site.InArguments, schema)
	} else {
		r.addEnvelope(envelope)
	}
	for _, name := range r.path {
		if r.index(site.InPath, name) < 0 {
			r.add(site.RequestField{Name: name, In: site.InPath, Required: true})
		}
	}
	slices.SortFunc(r.fields, func(a, b site.RequestField) int {
		return cmp.Or(slices.Index(site.RequestPlaces, a.In)-slices.Index(site.RequestPlaces, b.In), byRequired(a, b),
			cmp.Compare(a.Name, b.Name))
	})
	first, size := r.fields[:min(len(r.fields), maxFields)], 0
	for i := range first {
		if size += len(first[i].Value); size > maxInput {
			first[i].Value = ""
		}
	}
	return first, r.refused + len(r.fields) - len(first)
}

func byRequired(a, b site.RequestField) int {
	switch {
	case a.Required == b.Required:
		return 0
	case a.Required:
		return -1
	}
	return 1
}

// pathFields returns the names of the variable parts of a path.
func pathFields(path string) (names []string) {
	for _, m := range pathName.FindAllStringSubmatch(path, -1) {
		names = append(names, m[1]+m[2])
	}
	return names
}

// reader collects the fields of one endpoint.
type reader struct {
	path    []string // variable parts of the path
	fields  []site.RequestField
	refused int // fields whose name has no plain form
}

// index returns the place of a field among those that were added, -1 if it is not one of them.
func (r *reader) index(in, name string) int {
	return slices.IndexFunc(r.fields, func(f site.RequestField) bool { return f.In == in && f.Name == name })
}

// addEnvelope adds what an envelope declares: the bazaar extension, else the input of outputSchema.
func (r *reader) addEnvelope(envelope json.RawMessage) {
	var top object
	_ = json.Unmarshal(envelope, &top)
	declared := top.child("extensions").child("bazaar")
	var input object
	for _, raw := range top.list("accepts") {
		var row object
		_ = json.Unmarshal(raw, &row)
		if declared == nil {
			declared = row.child("extensions").child("bazaar")
		}
		if input == nil {
			input = row.child("outputSchema").child("input")
		}
	}
	if declared != nil {
		r.addBazaar(declared)
		return
	}
	r.addNamed(site.InPath, input.child("pathParams"))
	r.addNamed(site.InQuery, input.child("queryParams"))
	if kind := input.text("bodyType"); kind == "" || kind == "json" {
		r.addNamed(site.InBody, input.child("bodyFields"))
	}
}

// addBazaar adds the fields of the extension's schema, and those that only its example has.
func (r *reader) addBazaar(declared object) {
	input := declared.child("info").child("input")
	schema := declared.child("schema").child("properties").child("input").child("properties")
	for _, part := range []struct{ in, name string }{
		{site.InPath, "pathParams"}, {site.InQuery, "queryParams"}, {site.InBody, "body"},
	} {
		if kind := input.text("bodyType"); part.in == site.InBody && kind != "" && kind != "json" {
			continue
		}
		r.addSchema(part.in, schema.child(part.name))
		for name, example := range input.child(part.name) {
			at := r.index(part.in, name)
			if at < 0 {
				f := site.RequestField{Name: name, In: part.in, Type: typeOf(example)}
				setExample(&f, example)
				r.add(f)
				continue
			}
			setExample(&r.fields[at], example)
		}
	}
}

// addSchema adds the properties of a JSON schema.
func (r *reader) addSchema(in string, schema object) {
	var required []string
	for _, raw := range schema.list("required") {
		var name string
		if json.Unmarshal(raw, &name) == nil {
			required = append(required, name)
		}
	}
	for name, raw := range schema.child("properties") {
		f := describe(raw, in == site.InPath || slices.Contains(required, name))
		f.Name, f.In = name, in
		r.add(f)
	}
}

// addNamed adds version 1's fields, a map of names to a type word, a small schema or an example.
func (r *reader) addNamed(in string, fields object) {
	for name, raw := range fields {
		var f site.RequestField
		var word string
		switch isText := json.Unmarshal(raw, &word) == nil; {
		case isText && slices.Contains(jsonTypes, word):
			f.Type = word
		case typeOf(raw) == "object":
			var schema object
			_ = json.Unmarshal(raw, &schema)
			var required bool
			_ = json.Unmarshal(schema["required"], &required)
			f = describe(raw, required)
		case isText && strings.Contains(word, " "):
			f.Type, f.Description = "string", invisible.Clip(word, maxText)
		default:
			f.Type = typeOf(raw)
			setExample(&f, raw)
		}
		f.Name, f.In = name, in
		r.add(f)
	}
}

// add adds a field unless its name has no plain form. A field of a path must be in it, and is required.
func (r *reader) add(f site.RequestField) {
	if f.In == site.InPath {
		if !slices.Contains(r.path, f.Name) {
			return
		}
		f.Required = true
	}
	if !nameForm.MatchString(f.Name) {
		r.refused++
		return
	}
	r.fields = append(r.fields, f)
}

// describe returns what a schema says of a field. A required field without an example gets its first choice.
func describe(raw json.RawMessage, required bool) (f site.RequestField) {
	var schema object
	_ = json.Unmarshal(raw, &schema)
	f.Required = required
	f.Description = invisible.Clip(schema.text("description"), maxText)
	types := []string{schema.text("type")}
	for _, raw := range schema.list("type") {
		var name string
		_ = json.Unmarshal(raw, &name)
		types = append(types, name)
	}
	for _, t := range types {
		if slices.Contains(jsonTypes, t) && f.Type == "" {
			f.Type = t
		}
	}
	choices := schema.list("enum")
	for _, raw := range choices {
		if c := scalar(raw); c != "" && len(choices) <= maxChoices && !slices.Contains(f.Choices, c) {
			f.Choices = append(f.Choices, c)
		}
	}
	if len(f.Choices) < len(choices) {
		f.Choices = nil // all or none: a list that lacks some is wrong
	}
	examples := append([]json.RawMessage{schema["const"], schema["example"], schema["default"]},
		schema.list("examples")...)
	if required && len(f.Choices) > 0 {
		examples = append(examples, choices[0])
	}
	for _, raw := range examples {
		if setExample(&f, raw) {
			break
		}
	}
	return f
}

// setExample sets the example of a field, and returns false if the value is null or too long.
func setExample(f *site.RequestField, raw json.RawMessage) bool {
	var b bytes.Buffer
	if typeOf(raw) == "" || len(raw) > maxJSON || json.Compact(&b, raw) != nil {
		return false
	}
	f.Value, f.Example = strings.ToValidUTF8(string(invisible.EscapeJSON(b.Bytes())), "\ufffd"), scalar(raw)
	return true
}

// typeOf returns the type of a JSON value, "" for null and for what is no JSON.
func typeOf(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return ""
	}
	switch c := raw[0]; c {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return ""
	}
	return "number"
}

// scalar returns a short text, number or boolean as text, and "" for any other value.
func scalar(raw json.RawMessage) string {
	switch typeOf(raw) {
	case "string":
		var s string
		if json.Unmarshal(raw, &s) == nil && len(s) <= maxValue {
			return s
		}
	case "number", "boolean":
		if raw = bytes.TrimSpace(raw); len(raw) <= maxValue {
			return string(raw)
		}
	}
	return ""
}
