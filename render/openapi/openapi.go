// Package openapi describes the JSON API: the OpenAPI document, examples from a snapshot, the HTTP policy as text, and
// the same as data for a reference page. It must never know a page, a template or where files are stored.
package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/schema"
)

// openAPI is an OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1.html), as far as the contract needs it.
type openAPI struct {
	OpenAPI    string                   `json:"openapi"`
	Info       apiInfo                  `json:"info"`
	Servers    []apiServer              `json:"servers"`
	Security   []struct{}               `json:"security"` // empty: reading needs no key
	Tags       []apiTag                 `json:"tags"`
	Paths      schema.Object[*pathItem] `json:"paths"`
	Components apiComponents            `json:"components"`
}

type apiInfo struct {
	Title       string     `json:"title"`
	Version     string     `json:"version"`
	Summary     string     `json:"summary"`
	Description string     `json:"description"`
	Contact     apiContact `json:"contact"`
	License     apiLicense `json:"license"`
}

type apiContact struct {
	Name  string `json:"name"`
	URL   string `json:"url,omitempty"`
	Email string `json:"email,omitempty"`
}

type apiLicense struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"`
}

type apiServer struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

type apiTag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type apiComponents struct {
	Schemas    schema.Object[*jsonschema.Schema] `json:"schemas"`
	Parameters schema.Object[parameter]          `json:"parameters"`
	Responses  schema.Object[*apiResponse]       `json:"responses"`
	Headers    schema.Object[*apiHeader]         `json:"headers"`
}

type pathItem struct {
	Servers []apiServer `json:"servers,omitempty"` // if the path is not under /v1
	Get     *operation  `json:"get,omitempty"`
	Post    *operation  `json:"post,omitempty"`
}

// operation returns the operation of a path, which has only one.
func (p *pathItem) operation() *operation { return cmp.Or(p.Get, p.Post) }

type operation struct {
	ID          string                      `json:"operationId"`
	Summary     string                      `json:"summary"`
	Description string                      `json:"description"`
	Tags        []string                    `json:"tags"`
	Parameters  []parameter                 `json:"parameters,omitempty"`
	RequestBody *requestBody                `json:"requestBody,omitempty"`
	Responses   schema.Object[*apiResponse] `json:"responses"`

	pattern string
	route   *routes.Route // nil for a file and a call
	call    *routes.Call  // nil for a route and a file
	example json.RawMessage
}

type requestBody struct {
	Required bool                     `json:"required"`
	Content  schema.Object[mediaType] `json:"content"`
}

type parameter struct {
	Ref         string             `json:"$ref,omitempty"`
	Name        string             `json:"name,omitempty"`
	In          string             `json:"in,omitempty"`
	Description string             `json:"description,omitempty"`
	Required    bool               `json:"required,omitempty"`
	Style       string             `json:"style,omitempty"`
	Explode     *bool              `json:"explode,omitempty"`
	Schema      *jsonschema.Schema `json:"schema,omitempty"`
	Example     any                `json:"example,omitempty"`
}

type apiResponse struct {
	Ref         string                    `json:"$ref,omitempty"`
	Description string                    `json:"description,omitempty"`
	Headers     schema.Object[*apiHeader] `json:"headers,omitempty"`
	Content     schema.Object[mediaType]  `json:"content,omitempty"`
}

type mediaType struct {
	Schema  *jsonschema.Schema `json:"schema"`
	Example json.RawMessage    `json:"example,omitempty"`
}

type apiHeader struct {
	Ref         string             `json:"$ref,omitempty"`
	Description string             `json:"description,omitempty"`
	Schema      *jsonschema.Schema `json:"schema,omitempty"`
}

// Tags of operations.
const (
	tagServices  = "Services"
	tagDirectory = "Directory"
	tagSubmit    = "Submissions"
	tagFiles     = "Files"
)

// Directory contains the settings of a directory that its description shows.
type Directory struct {
	Title, BaseURL string
	Contact        string // an e-mail address or an http(s) address; "" without
	Sample         bool   // the data is made up
}

// Document is the description of the API: the OpenAPI document and the reference made from it.
type Document struct {
	directory Directory
	examples  Examples
	schemas   *schema.Components
	named     map[reflect.Type]string // component of each type of a response without a name of its own
	parts     map[string]string       // of the reference of types, by component
	doc       openAPI
}

// New describes the JSON routes and files of the tables in package site, with examples of a snapshot. The schema of a
// route without a response type allows anything; a test lists such routes. New returns an error for a type that it
// cannot describe.
func New(d Directory, x Examples) (*Document, error) {
	a := &Document{directory: d, examples: x, schemas: schema.NewComponents(), named: map[reflect.Type]string{}}
	a.doc = openAPI{
		OpenAPI: "3.1.0", Info: d.info(), Servers: d.servers(), Security: []struct{}{},
		Tags: []apiTag{
			{tagServices, "Listed services, their uptime and checks."},
			{tagDirectory, "Figures and lists over all services."},
			{tagSubmit,
				"Submissions of services, suggestions and re-checks, if this server accepts them. No snapshot " +
					"contains these responses."},
			{tagFiles, "Other files of a snapshot: the inputs of the rules, and the descriptions of the API."},
		},
	}
	for i := range routes.All {
		if r := &routes.All[i]; r.Ext == ".json" {
			if err := a.addRoute(r); err != nil {
				return nil, fmt.Errorf("describe route %s: %w", r.Name, err)
			}
		}
	}
	for i := range routes.Calls {
		if err := a.addCall(&routes.Calls[i]); err != nil {
			return nil, fmt.Errorf("describe call %s: %w", routes.Calls[i].Name, err)
		}
	}
	for _, f := range routes.Files {
		if err := a.addFile(f); err != nil {
			return nil, fmt.Errorf("describe file %s: %w", f.Name, err)
		}
	}
	for _, t := range routes.CSVs {
		if err := a.addTable(t); err != nil {
			return nil, fmt.Errorf("describe table %s: %w", t.Name, err)
		}
	}
	for _, of := range []reflect.Type{reflect.TypeFor[site.ErrorBody](), reflect.TypeFor[site.CatalogueErrorBody]()} {
		if _, err := a.schemas.Of(of); err != nil {
			return nil, err
		}
	}
	a.doc.Components = apiComponents{Schemas: a.schemas.Named(), Headers: apiHeaders}
	for i := range routes.Common {
		p := &routes.Common[i]
		a.doc.Components.Parameters = append(a.doc.Components.Parameters,
			schema.Member[parameter]{Name: p.Name, Value: Examples{}.parameter(p)})
	}
	a.parts = a.partTypes()
	a.markDollars()
	var err error
	a.doc.Components.Responses, err = errorResponses()
	return a, err
}

// OpenAPI returns the document as JSON.
func (a *Document) OpenAPI() ([]byte, error) { return schema.Line(a.doc) }

func (d *Directory) info() apiInfo {
	contact := apiContact{Name: d.Title, URL: d.BaseURL + "/"}
	if at := strings.IndexByte(d.Contact, '@'); at > 0 && display.Link(d.Contact) == "" {
		contact.Email = d.Contact
	}
	var text strings.Builder
	fmt.Fprintf(&text,
		"%s is a directory of network services that charge per request over HTTP 402, using the x402 protocol. "+
			"Every response to a reader is a file of a snapshot, or an extract of such files. Reading needs no key. "+
			"The API is under the MIT license. The data is under CC BY 4.0; `provenance`, the last member of every "+
			"response with data, contains the source to name.", d.Title)
	if d.Sample {
		text.WriteString("\n\n**Sample data.** Every service, price and check is made up.")
	}
	text.WriteString("\n\n## Rules for requests\n")
	for _, m := range httpPolicy() {
		fmt.Fprintf(&text, "\n- **%s**: %s", m.Term, m.Text)
	}
	text.WriteString("\n")
	return apiInfo{
		Title: d.Title, Version: site.APIVersion,
		Summary:     "Services that charge per request over HTTP 402: prices, uptime and changes.",
		Description: text.String(), Contact: contact, License: apiLicense{Name: "MIT", Identifier: "MIT"},
	}
}

func (d *Directory) servers() []apiServer {
	base := d.BaseURL
	servers := []apiServer{{base + apiPrefix, "This directory"}}
	for _, alias := range routes.Table().Aliases {
		servers = append(servers, apiServer{base + strings.TrimSuffix(alias.From, "/"),
			"The same, for clients that use this prefix"})
	}
	return servers
}

const apiPrefix = "/v1"

// addRoute adds the operation of a route.
func (a *Document) addRoute(r *routes.Route) error {
	tag := tagDirectory
	if strings.HasPrefix(r.Pattern, "/v1/services") {
		tag = tagServices
	}
	op := &operation{ID: operationID(r.Name), Summary: strings.TrimSuffix(r.About, "."), Description: describeRoute(r),
		Tags: []string{tag}, pattern: r.Pattern, route: r}
	for i := range r.Params {
		op.Parameters = append(op.Parameters, a.examples.parameter(&r.Params[i]))
	}
	return a.add(op, routes.Responses[r.Name])
}

// describeRoute returns what a route returns and how its responses are cut from files.
func describeRoute(r *routes.Route) string {
	text := r.About
	for _, rule := range routes.Rules {
		if rule.Name == r.Rule && r.Rule != routes.RuleLiteral {
			text += " " + rule.About
		}
	}
	return text
}

func (a *Document) addFile(f routes.File) error {
	return a.add(&operation{ID: operationID(f.Name + "-file"), Summary: strings.TrimSuffix(f.About, "."),
		Description: f.About, Tags: []string{tagFiles}, pattern: f.Pattern}, f.Body)
}

// add completes an operation with what its path and the type of its body define.
func (a *Document) add(op *operation, body any) error {
	segments := a.pathParameters(op.pattern)
	op.Parameters = append(segments, op.Parameters...)
	for _, p := range routes.Common {
		op.Parameters = append(op.Parameters, parameter{Ref: "#/components/parameters/" + p.Name})
	}
	content, err := a.response(op, body)
	if err != nil {
		return err
	}
	if op.example, err = a.exampleOf(op); err != nil {
		return err
	}
	op.Responses = responses(op.pattern, jsonType, content, op.example)
	item := &pathItem{Get: op}
	path, under := strings.CutPrefix(op.pattern, apiPrefix)
	if !under {
		item.Servers = []apiServer{{a.directory.BaseURL, "This directory"}}
	}
	a.doc.Paths = append(a.doc.Paths, schema.Member[*pathItem]{Name: path, Value: item})
	return nil
}

// response returns the schema of a response. It refers to a component: that of a type with a plain name, or else one
// that is named after the first operation with this type, such as ServicesResponse.
func (a *Document) response(op *operation, body any) (*jsonschema.Schema, error) {
	if body == nil {
		return &jsonschema.Schema{}, nil
	}
	of := reflect.TypeOf(body)
	if name := a.named[of]; name != "" {
		return &jsonschema.Schema{Ref: schema.ComponentPath + name}, nil
	}
	s, err := a.schemas.Of(of)
	if err != nil || s.Ref != "" || s.Type != "object" || len(s.Properties) == 0 {
		return s, err
	}
	name := strings.TrimPrefix(strings.TrimPrefix(op.ID, "get"), "post") + "Response"
	s.Description = "The response of " + op.ID + "."
	for _, m := range responseMembers {
		if p := s.Properties[m.Name]; p != nil && p.Description == "" {
			p.Description = m.Value
		}
	}
	a.named[of] = name
	return a.schemas.Add(name, s)
}

// responseMembers describes the members of responses whose types have no plain name.
var responseMembers = schema.Object[string]{
	{Name: "data", Value: "The requested data."},
	{Name: "meta", Value: "Counts and position of the list."},
	{Name: "caveat", Value: "What the figures leave out."},
	{Name: "provenance", Value: "The licence of the data, and the source to name."},
}

// exampleOf returns the example of an operation, nil without one. The document itself is an example by its beginning.
func (a *Document) exampleOf(op *operation) (json.RawMessage, error) {
	if op.pattern != "/"+routes.OpenAPIFile {
		return a.examples.of(op)
	}
	beginning, err := encode.Row(schema.Object[any]{{Name: "openapi", Value: a.doc.OpenAPI},
		{Name: "info", Value: a.doc.Info}})
	if err != nil {
		return nil, err
	}
	return clip(beginning)
}

// operationID returns "getServiceChecks" for the route service-checks.
func operationID(name string) string { return "get" + pascal(name) }

// pascal returns "ServiceChecks" for service-checks.
func pascal(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// pathParameters returns the variable parts of a pattern.
func (a *Document) pathParameters(pattern string) []parameter {
	var out []parameter
	for rest := pattern; ; {
		_, after, ok := strings.Cut(rest, "{")
		if !ok {
			return out
		}
		name, tail, _ := strings.Cut(after, "}")
		p := parameter{Name: name, In: "path", Required: true,
			Schema: &jsonschema.Schema{Type: "string", MinLength: new(1)}}
		if s := routes.SegmentByName(name); s != nil {
			p.Description, p.Schema.Pattern = schema.Sentence(s.About), s.Pattern
			if s.MaxLength > 0 {
				p.Schema.MaxLength = &s.MaxLength
			}
		}
		if v := a.examples.segment(pattern, name); v != "" {
			p.Example = v
		}
		out, rest = append(out, p), tail
	}
}

// parameter returns a parameter of the route table.
func (x Examples) parameter(p *routes.Param) parameter {
	out := parameter{Name: p.Name, In: "query", Description: schema.Sentence(p.About),
		Schema: &jsonschema.Schema{Type: "string"}}
	values := make([]any, len(p.Values))
	for i, v := range p.Values {
		values[i] = v
	}
	example := x.value(p)
	switch p.Kind {
	case routes.KindInteger:
		out.Schema = &jsonschema.Schema{Type: "integer", Minimum: new(float64(p.Min)),
			Maximum: new(float64(p.Max))}
		if _, err := strconv.Atoi(p.Default); err == nil {
			out.Schema.Default = json.RawMessage(p.Default)
		}
		return out
	case routes.KindChoice:
		for _, word := range p.Accepted() {
			out.Schema.Enum = append(out.Schema.Enum, word)
		}
	case routes.KindBoolean:
		out.Schema = &jsonschema.Schema{Type: "boolean"}
		return out
	case routes.KindDecimal:
		out.Schema = &jsonschema.Schema{Type: "number", Minimum: new(float64)}
		if p.Max > 0 {
			out.Schema.Maximum = new(float64(p.Max))
		}
		return out
	case routes.KindSnapshot:
		out.Schema.Pattern = routes.SnapshotPattern
	case routes.KindAddress:
		out.Schema.MaxLength = &p.Max
	case routes.KindSet:
		out.Schema = &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string", Enum: values},
			UniqueItems: true}
		out.Style, out.Explode = "form", new(false)
		return out
	default:
		out.Schema.MaxLength = new(cmp.Or(p.Max, routes.MaxText))
	}
	if p.Default != "" {
		out.Schema.Default = json.RawMessage(strconv.Quote(p.Default))
	}
	if example != "" {
		out.Example = example
	}
	return out
}

const jsonType = "application/json"

// responses returns the possible responses of an operation at a path.
func responses(path, contentType string, content *jsonschema.Schema,
	example json.RawMessage) schema.Object[*apiResponse] {
	prefix := ""
	if strings.HasPrefix(path, site.CataloguePath+"/") {
		prefix = cataloguePrefix
	}
	ok := &apiResponse{Description: "The requested data.",
		Content: schema.Object[mediaType]{{Name: contentType, Value: mediaType{content, example}}}}
	for _, h := range apiHeaders {
		if h.Name != headerRequestID && h.Name != headerRetry {
			ok.Headers = append(ok.Headers, schema.Member[*apiHeader]{Name: h.Name,
				Value: &apiHeader{Ref: "#/components/headers/" + h.Name}})
		}
	}
	out := schema.Object[*apiResponse]{{Name: "200", Value: ok}}
	for _, f := range failures {
		status := strconv.Itoa(f.code)
		if f.name == otherError {
			status = "default"
		}
		name := prefix + f.name
		if f.example == nil { // it has no body
			name = f.name
		}
		out = append(out, schema.Member[*apiResponse]{Name: status,
			Value: &apiResponse{Ref: "#/components/responses/" + name}})
	}
	return out
}
