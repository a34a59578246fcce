package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"tollbook/render/guide"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/schema"
)

// Reference is the description as the reference page shows it.
type Reference struct {
	Base       string
	Version    string
	HTTPPolicy []policyRule
	Common     []referenceParam
	Groups     []referenceGroup
	Failures   []referenceFailure
	BadJSON    string // the body of a 400
	Headers    schema.Object[*apiHeader]
	Rules      []routes.RuleText
	Verify     string // commands
	Calls      []quickCall
}

// quickCall is a call of the quickstart in four languages, with members of its response.
type quickCall struct {
	ID, Title, About string
	Samples          []guide.Sample
	Answer           string // "" without one
}

type referenceGroup struct {
	apiTag
	Operations []referenceOperation
}

type referenceOperation struct {
	ID, Path, Summary string
	Method            string
	Takes             typeText // body of the request
	Rule              routes.Rule
	Params            []referenceParam
	Answer            typeText
	Plain, WithParams string // commands
	Example           string
	Try               string // path of a request that a reader can send from the page; "" without one
}

type referenceParam struct {
	Name, Allowed, Default, About string
	Field                         inputField
}

// inputField is the field with which a reader gives a parameter a value.
type inputField struct {
	Part, Value string   // of a variable part of the path: its name and an example
	Values      []string // that the parameter may have; nil for any
	Min, Max    *int     // of a number
	Length      int      // of a text
}

type referenceFailure struct {
	Code int
	Type string
	Text string
}

type referenceType struct {
	Name, About string
	Fields      []referenceField
}

type referenceField struct {
	Name, About string
	Type        typeText
}

// typeText is a type as text. Ref is the component in its middle, "" without one, and Part the part of the page of types
// that describes it.
type typeText struct{ Before, Ref, After, Part string }

// TypesPart is a part of the reference of types: those that the operations of a tag use and no operation of a tag before
// it.
type TypesPart struct {
	Tag, Name string // Name in an address
	Types     []referenceType
}

// FilesTag is the tag of files at paths of their own.
const FilesTag = tagFiles

// PageData returns the value of the template of the reference page.
func (a *Document) PageData() (Reference, error) {
	base := a.directory.BaseURL
	calls, err := a.quickstart()
	if err != nil {
		return Reference{}, err
	}
	body := Reference{
		Base: base + apiPrefix, Version: a.doc.Info.Version, HTTPPolicy: httpPolicy(), Headers: apiHeaders,
		Rules: usedRules(), Verify: verifyCommands(base),
		Calls: calls,
	}
	for i := range routes.Common {
		body.Common = append(body.Common, paramText(&routes.Common[i]))
	}
	for _, tag := range a.doc.Tags {
		g := referenceGroup{apiTag: tag}
		for _, p := range a.doc.Paths {
			if op := p.Value.operation(); op.Tags[0] == tag.Name {
				g.Operations = append(g.Operations, a.operation(op))
			}
		}
		body.Groups = append(body.Groups, g)
	}
	for _, f := range slices.Concat(failures, submitFailures, []failure{unvisitedFailure}) {
		if f.example == nil {
			continue
		}
		e := f.example()
		text := f.text
		if f.name == otherError {
			text = "The path does not support this method; Allow lists the methods that it supports."
		}
		body.Failures = append(body.Failures, referenceFailure{e.Code, e.Type, text})
	}
	slices.SortFunc(body.Failures, func(a, b referenceFailure) int { return a.Code - b.Code })
	bad, err := encode.Row(site.ErrorBody{Error: exampleBadRequest()})
	if err != nil {
		return Reference{}, err
	}
	body.BadJSON = indent(bad)
	return body, nil
}

func (a *Document) operation(op *operation) referenceOperation {
	out := referenceOperation{ID: op.ID, Path: op.pattern, Summary: op.Summary + ".", Method: http.MethodGet}
	for _, p := range op.Parameters {
		switch p.In {
		case "path":
			out.Params = append(out.Params, referenceParam{Name: "{" + p.Name + "}", Allowed: "part of the path",
				About: p.Description, Field: inputField{Part: p.Name, Value: a.examples.segment(op.pattern, p.Name)}})
		case "header":
			out.Params = append(out.Params, referenceParam{Name: p.Name, Allowed: "header", About: p.Description})
		}
	}
	if op.call != nil {
		out.Method = op.call.Method
	}
	if op.RequestBody != nil {
		out.Takes = a.textOf(op.RequestBody.Content[0].Value.Schema)
	}
	if op.route == nil {
		out.Summary = op.Description
	} else {
		out.Rule = op.route.Rule
		for i := range op.route.Params {
			out.Params = append(out.Params, paramText(&op.route.Params[i]))
		}
	}
	out.Plain, out.WithParams = a.commands(op)
	if path, ok := a.examples.path(op.pattern); ok && op.call == nil && out.Plain != "" {
		out.Try = path
	}
	if op.example != nil {
		out.Example = indent(op.example)
	}
	out.Answer = a.textOf(a.answerOf(op.Responses[0].Value.Content[0].Value.Schema))
	return out
}

// answerOf returns the type of the data of a response, or of the response if it has no data.
func (a *Document) answerOf(s *jsonschema.Schema) *jsonschema.Schema {
	if body := a.schemas.Component(s.Ref); body != nil {
		return cmp.Or(body.Properties["data"], s)
	}
	return s
}

func paramText(p *routes.Param) referenceParam {
	out := referenceParam{Name: p.Name, Default: p.Default, About: schema.Sentence(p.About)}
	out.Field = inputField{Length: cmp.Or(p.Max, routes.MaxText)}
	switch p.Kind {
	case routes.KindInteger:
		out.Allowed = display.Number(int64(p.Min)) + " to " + display.Number(int64(p.Max))
		out.Field = inputField{Min: &p.Min, Max: &p.Max}
	case routes.KindChoice:
		out.Allowed = strings.Join(p.Accepted(), ", ")
		out.Field = inputField{Values: p.Values}
	case routes.KindBoolean:
		out.Allowed = "true or false"
		out.Field = inputField{Values: []string{"true", "false"}}
	case routes.KindDecimal:
		out.Allowed = "a number from 0, such as 0.01"
		if p.Max > 0 {
			out.Allowed = "a number from 0 to " + display.Number(int64(p.Max))
		}
	case routes.KindSnapshot:
		out.Allowed = "id of a snapshot"
	case routes.KindSet:
		out.Allowed = "any of " + strings.Join(p.Values, ", ") + ", separated by commas"
		out.Field = inputField{Length: routes.MaxText}
	case routes.KindAddress:
		out.Allowed = fmt.Sprintf("address up to %d characters", p.Max)
	case routes.KindCursor:
		out.Allowed = "cursor of a response"
	default:
		out.Allowed = fmt.Sprintf("text up to %d characters", cmp.Or(p.Max, routes.MaxText))
	}
	return out
}

// usedRules returns the rules that a route of the table has.
func usedRules() []routes.RuleText {
	var out []routes.RuleText
	for _, r := range routes.Rules {
		for i := range routes.All {
			used := func(p routes.Param) bool { return p.Rule == r.Name }
			if routes.All[i].Rule == r.Name || slices.ContainsFunc(routes.All[i].Params, used) {
				out = append(out, r)
				break
			}
		}
	}
	return out
}

// Types returns the parts of the reference of types, each in the order of names.
func (a *Document) Types() []TypesPart {
	parts := make([]TypesPart, len(a.doc.Tags))
	for i, tag := range a.doc.Tags {
		parts[i] = TypesPart{Tag: tag.Name, Name: strings.ToLower(tag.Name)}
	}
	for _, c := range a.doc.Components.Schemas {
		t := referenceType{Name: c.Name, About: c.Value.Description}
		for _, name := range c.Value.PropertyOrder {
			p := c.Value.Properties[name]
			t.Fields = append(t.Fields, referenceField{name, p.Description, a.textOf(p)})
		}
		i := slices.IndexFunc(parts, func(p TypesPart) bool { return p.Name == a.parts[c.Name] })
		parts[i].Types = append(parts[i].Types, t)
	}
	return parts
}

// partTypes says which part of the reference of types describes each component. Types that only errors use belong to
// the part of submissions, which have the most errors.
func (a *Document) partTypes() map[string]string {
	parts := map[string]string{}
	for _, tag := range a.doc.Tags {
		part := strings.ToLower(tag.Name)
		var visit func(s *jsonschema.Schema)
		visit = func(s *jsonschema.Schema) {
			if s == nil {
				return
			}
			if c := a.schemas.Component(s.Ref); c != nil {
				if name := strings.TrimPrefix(s.Ref, schema.ComponentPath); parts[name] == "" {
					parts[name] = part
					visit(c)
				}
			}
			for _, p := range s.Properties {
				visit(p)
			}
			for _, one := range s.AnyOf {
				visit(one)
			}
			visit(s.Items)
			visit(s.AdditionalProperties)
		}
		for _, p := range a.doc.Paths {
			op := p.Value.operation()
			if op.Tags[0] != tag.Name {
				continue
			}
			visit(op.Responses[0].Value.Content[0].Value.Schema)
			if op.RequestBody != nil {
				visit(op.RequestBody.Content[0].Value.Schema)
			}
		}
	}
	for _, c := range a.doc.Components.Schemas {
		if parts[c.Name] == "" {
			parts[c.Name] = strings.ToLower(tagSubmit)
		}
	}
	return parts
}

// textOf returns a schema as text with the part of the reference that describes its component.
func (a *Document) textOf(s *jsonschema.Schema) typeText {
	t := textOf(s)
	t.Part = a.parts[t.Ref]
	return t
}

// textOf returns a schema as text: "array of Endpoint", "date-time or null".
func textOf(s *jsonschema.Schema) typeText {
	switch {
	case s.Ref != "":
		return typeText{Ref: strings.TrimPrefix(s.Ref, schema.ComponentPath)}
	case len(s.AnyOf) == 2 && s.AnyOf[1].Type == "null":
		t := textOf(s.AnyOf[0])
		t.After += " or null"
		return t
	case len(s.AnyOf) > 0:
		return typeText{Before: "object, by type"}
	}
	name, null := "any", ""
	switch {
	case s.Type != "":
		name = s.Type
	case len(s.Types) > 0:
		name, null = s.Types[0], " or null"
	}
	switch {
	case name == "array" && s.Items != nil:
		t := textOf(s.Items)
		t.Before = "array of " + t.Before
		return t
	case name == "object" && s.AdditionalProperties != nil:
		t := textOf(s.AdditionalProperties)
		t.Before = "object of " + t.Before
		return t
	case s.Format != "":
		name = s.Format
	case len(s.Enum) > 0:
		var values []string
		for _, v := range s.Enum {
			if text, ok := v.(string); ok {
				values = append(values, text)
			}
		}
		name = strings.Join(values, " | ")
	}
	return typeText{Before: name + null}
}

// exampleLines limits the lines of an example on the page.
const exampleLines = 60

// indent formats JSON with a member on each line, at most exampleLines lines.
func indent(data json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") != nil {
		return ""
	}
	lines := strings.Split(b.String(), "\n")
	if len(lines) > exampleLines {
		lines = append(lines[:exampleLines], "…")
	}
	return strings.Join(lines, "\n")
}

// verifyCommands contains the commands that check a file against the sums of its snapshot.
func verifyCommands(base string) string {
	file := routes.Query{Route: routes.ByName("services"), Bare: true}.Key()
	return "curl -s '" + display.EndpointURL(base, "/SHA256SUMS") + "' -o SHA256SUMS\n" +
		"curl -s --create-dirs '" + display.EndpointURL(base, "/"+file) + "' -o " + file + "\n" +
		"sha256sum -c --ignore-missing SHA256SUMS"
}
