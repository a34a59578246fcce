package build_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"tollbook/build"
	"tollbook/output"
	"tollbook/site/routes"
	"tollbook/site/serve"
	"tollbook/site/testgate"
)

// openapiTest is a published sample directory with its OpenAPI document.
type openapiTest struct {
	root    string
	report  build.Report
	files   map[string][]byte
	index   routes.Index
	source  *output.Source
	handler http.Handler
	errors  map[int][]string // bodies of errors, by status
	doc     *openapi3.T
	schemas *jsonschema.Compiler
}

// TestOpenAPI compares the OpenAPI document in a snapshot with all files and responses, and passes it to the tools of
// its readers.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	d := buildOpenAPITest(t)
	t.Run("document", d.testDocument)
	t.Run("files", d.testFiles)
	t.Run("answers", d.testAnswers)
	t.Run("HTTP policy", d.testHTTPPolicy)
	t.Run("walk", d.testWalk)
	t.Run("addresses", d.testAddresses)
	t.Run("verifying", d.testVerifying)
	t.Run("errors", d.testErrors)
	t.Run("linters", d.testLinters)
	t.Run("client", d.testClient)
	t.Run("generators", d.testGenerators)
}

func buildOpenAPITest(t *testing.T) *openapiTest {
	t.Helper()
	db := openSample(t)
	storeSettlements(t, db)
	d := &openapiTest{root: tempDir(t), files: map[string][]byte{}}
	o := options(moment)
	o.Expand = output.ExpandAll
	d.report = run(t, db, d.root, o)
	source, err := output.OpenSource(d.root, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	snap, err := source.Current()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	for _, name := range snap.Names() {
		if strings.HasSuffix(name, ".json") {
			if d.files[name], err = snap.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := json.Unmarshal(d.files[routes.IndexFile], &d.index); err != nil {
		t.Fatal(err)
	}
	d.source, d.errors = source, map[int][]string{}
	d.handler = serve.NewHandler(serve.Options{Source: source})
	strict := forbidUnknown(t, d.files[routes.OpenAPIFile])
	if d.doc, err = openapi3.NewLoader().LoadFromData(strict); err != nil {
		t.Fatal(err)
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(strict))
	if err != nil {
		t.Fatal(err)
	}
	d.schemas = jsonschema.NewCompiler()
	d.schemas.AssertFormat()
	if err := d.schemas.AddResource(documentURL, tree); err != nil {
		t.Fatal(err)
	}
	return d
}

const documentURL = "https://tollbook.example/v1/openapi.json"

// forbidUnknown returns the document without room for unknown members. The published document has that room for later
// versions, but this version must not use it.
func forbidUnknown(t *testing.T, document []byte) []byte {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(document, &doc); err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if _, object := v["properties"].(map[string]any); object && v["type"] == "object" {
				v["additionalProperties"] = false
			}
			for name, inner := range v {
				if name != "example" {
					walk(inner)
				}
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(doc)
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// testDocument checks that the document is valid OpenAPI 3.1 and that its examples match their schemas.
func (d *openapiTest) testDocument(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(d.files[routes.OpenAPIFile])
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
		t.Errorf("the description is invalid: %v", err)
	}
	var without []string // paths without an example
	for path, item := range d.doc.Paths.Map() {
		for method, op := range item.Operations() {
			words := strings.FieldsFunc(camel.ReplaceAllString(op.OperationID, " $0"), unicode.IsSpace)
			if len(slices.Compact(slices.Clone(words))) != len(words) {
				t.Errorf("%s repeats a word", op.OperationID)
			}
			described := false
			for status, response := range op.Responses.Map() {
				if !strings.HasPrefix(status, "2") {
					continue
				}
				for kind, body := range response.Value.Content {
					described = true
					if kind == "application/json" && body.Schema.Ref == "" && path != "/openapi.json" &&
						path != "/data/datapackage.json" {
						t.Errorf("the response of %s %s has no name", method, path)
					}
					if body.Example == nil {
						without = append(without, path)
					}
				}
			}
			if !described {
				t.Errorf("%s %s describes no response", method, path)
			}
		}
	}
	if len(without) > 0 {
		t.Errorf("operations without an example: %s", strings.Join(without, ", "))
	}
}

var camel = regexp.MustCompile(`[A-Z][a-z0-9]*`)

// findPath returns the path of the document that describes a file: that of the route whose request its key spells, or
// the file's own.
func findPath(key string) (string, bool) {
	path, query, err := routes.Request(key)
	if err == nil {
		if q, err := routes.ParseRequest(path, query); err == nil && q.Route != nil {
			return strings.TrimPrefix(q.Route.Pattern, "/v1"), true
		}
	}
	for _, f := range routes.Files {
		if filePattern(f.Pattern).MatchString("/" + key) {
			return strings.TrimPrefix(f.Pattern, "/v1"), true
		}
	}
	return "", false
}

var variable = regexp.MustCompile(`\\\{[a-z0-9]+\\\}`)

// filePattern returns an expression for the file names of a pattern. The variable parts are those of routes.Segments.
func filePattern(pattern string) *regexp.Regexp {
	return regexp.MustCompile("^" + variable.ReplaceAllStringFunc(regexp.QuoteMeta(pattern), func(s string) string {
		segment := routes.SegmentByName(strings.Trim(s, `\{}`))
		return "(?:" + strings.Trim(segment.Pattern, "^$") + ")"
	}) + "$")
}

// testFiles checks that the document describes every JSON file of the snapshot.
func (d *openapiTest) testFiles(t *testing.T) {
	compiled := map[string]*jsonschema.Schema{}
	seen := map[string]int{}
	for name, data := range d.files {
		path, ok := findPath(name)
		if !ok {
			t.Errorf("%s is no response of a route and not in site.Files", name)
			continue
		}
		seen[path]++
		if compiled[path] == nil {
			compiled[path] = d.compileSchema(t, path)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := compiled[path].Validate(value); err != nil {
			t.Errorf("%s is not as %s is described: %v", name, path, err)
		}
		if t.Failed() && len(seen) > 5 {
			break
		}
	}
	for _, r := range routes.All {
		// without a file
		answered := []routes.Rule{routes.RuleLookup, routes.RuleRank, routes.RuleCatalogue, routes.RuleFind}
		if r.Ext == ".json" && !slices.Contains(answered, r.Rule) && r.Name != "source" && // the sample follows none
			seen[strings.TrimPrefix(r.Pattern, "/v1")] == 0 {
			t.Errorf("no file of the snapshot belongs to route %s", r.Name)
		}
	}
	d.testRefusals(t)
}

// testRefusals checks that the document refuses wrong files. Each row breaks one file.
func (d *openapiTest) testRefusals(t *testing.T) {
	for _, c := range []struct{ name, old, new string }{
		{"v1/stats.json", `"total_services":`, `"services_total":1,"total_services":`},
		{"v1/stats.json", `"total_services":`, `"total_service":`},
		{"v1/services.json", `"verified":false`, `"verified":null`},
		{"v1/services.json", `"status":"online"`, `"status":"fine"`},
		{"v1/services.json", `"created_at":"2026`, `"created_at":"on 2026`},
		{"v1/services.json", `"min_price_usd":0.`, `"min_price_usd":-1.`},
		{"v1/services.json", `"networks":["`, `"networks":[7,"`},
		{"v1/checks.json", `"total":`, `"total":"1","x":`},
		{"v1/changes.json", `"summary":{"p`, `"summary":{"q`},
	} {
		data := d.files[c.name]
		spoilt := bytes.Replace(data, []byte(c.old), []byte(c.new), 1)
		if bytes.Equal(spoilt, data) {
			t.Errorf("%s has no %s to replace", c.name, c.old)
			continue
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(spoilt))
		if err != nil {
			t.Fatal(err)
		}
		path, _ := findPath(c.name)
		if d.compileSchema(t, path).Validate(value) == nil {
			t.Errorf("%s with %s in place of %s is accepted", c.name, c.new, c.old)
		}
	}
}

// compileSchema returns the schema of a path's response.
func (d *openapiTest) compileSchema(t *testing.T, path string) *jsonschema.Schema {
	t.Helper()
	escaped := strings.ReplaceAll(strings.ReplaceAll(path, "~", "~0"), "/", "~1")
	at := (&url.URL{Path: "/paths/" + escaped + "/get/responses/200/content/application~1json/schema"}).EscapedPath()
	s, err := d.schemas.Compile(documentURL + "#" + at)
	if err != nil {
		t.Fatalf("schema of %s: %v", path, err)
	}
	return s
}

// checkResponse sends a request to the handler and checks the response against the document.
func (d *openapiTest) checkResponse(path string, r *http.Request) (*httptest.ResponseRecorder, error) {
	return d.checkResponseOf(d.handler, path, r)
}

func (d *openapiTest) checkResponseOf(h http.Handler, path string, r *http.Request) (*httptest.ResponseRecorder,
	error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	item := d.doc.Paths.Value(path)
	if item == nil {
		return w, fmt.Errorf("%s is not described", path)
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: r, Route: &routers.Route{Spec: d.doc, Path: path, PathItem: item, Method: http.MethodGet,
				Operation: item.Get},
		},
		Status: w.Code, Header: w.Header(), Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	return w, openapi3filter.ValidateResponse(r.Context(), input.SetBodyBytes(w.Body.Bytes()))
}

// testAnswers sends random valid and invalid requests to every route. Each response must match the document, and none
// may be a server error.
func (d *openapiTest) testAnswers(t *testing.T) {
	var sampled []*routes.Route
	for i := range routes.All {
		if r := &routes.All[i]; r.Ext == ".json" {
			sampled = append(sampled, r)
		}
	}
	statuses := map[int]int{}
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			statuses[d.request(t, rapid.SampledFrom(sampled).Draw(t, "route"))]++
		}
	})
	if statuses[http.StatusOK] == 0 || statuses[http.StatusBadRequest] == 0 {
		t.Errorf("responses by status: %v", statuses)
	}
}

// request sends a random request for a route and returns the status.
func (d *openapiTest) request(t *rapid.T, route *routes.Route) int {
	path := variable.ReplaceAllStringFunc(regexp.QuoteMeta(route.Pattern), func(s string) string {
		return d.drawSegment(t, strings.Trim(s, `\{}`))
	})
	path = strings.ReplaceAll(path, `\`, "")
	valid, query := true, url.Values{}
	for i := range route.Params {
		p := &route.Params[i]
		if rapid.Bool().Draw(t, "has "+p.Name) {
			value, ok := d.drawValue(t, route, p)
			valid = valid && ok
			query.Set(p.Name, value)
		}
	}
	target := path + "?" + query.Encode()
	w, err := d.checkResponse(strings.TrimPrefix(route.Pattern, "/v1"),
		httptest.NewRequest(http.MethodGet, target, nil))
	if err != nil {
		t.Fatalf("GET %s: %d: %v", target, w.Code, err)
	}
	if isExpected := w.Code == http.StatusOK || w.Code == http.StatusNotFound; valid != isExpected || w.Code >= 500 {
		t.Fatalf("GET %s answers %d: %s", target, w.Code, w.Body)
	}
	return w.Code
}

// drawSegment draws a variable part of a path that the route accepts. A path that no route accepts is a 404 whatever
// its parameters are.
func (d *openapiTest) drawSegment(t *rapid.T, name string) string {
	const recipient = "0x209693bc6afc0c5328ba36faf03c514ef312287c"
	switch name {
	case "slug":
		return rapid.OneOf(rapid.SampledFrom(d.index.Slugs), rapid.Just("not-there")).Draw(t, name)
	case "facilitator":
		return rapid.OneOf(rapid.SampledFrom(d.index.Facilitators), rapid.Just("not-there")).Draw(t, name)
	case "caip2":
		return rapid.SampledFrom([]string{"eip155:8453", "eip155:1"}).Draw(t, name)
	case "sha256":
		return rapid.SampledFrom([]string{strings.Repeat("0f", 32), strings.Repeat("3f", 32)}).Draw(t, name)
	}
	return rapid.SampledFrom([]string{"eip155:8453", recipient, strings.Repeat("0f", 32)}).Draw(t, name)
}

// drawValue draws a value of a parameter and reports whether it is valid.
func (d *openapiTest) drawValue(t *rapid.T, route *routes.Route, p *routes.Param) (string, bool) {
	switch p.Kind {
	case routes.KindInteger:
		n := rapid.OneOf(rapid.IntRange(p.Min-1, min(p.Max+1, p.Min+120)), rapid.Just(p.Max)).Draw(t, p.Name)
		return strconv.Itoa(n), n >= p.Min && n <= p.Max
	case routes.KindBoolean:
		v := rapid.SampledFrom([]string{"true", "false", "yes"}).Draw(t, p.Name)
		return v, v != "yes"
	case routes.KindDecimal:
		v := rapid.SampledFrom([]string{"0", "0.01", "99.5", "-1"}).Draw(t, p.Name)
		return v, v != "-1"
	case routes.KindCursor:
		return "20", false
	case routes.KindChoice, routes.KindSet:
		v := rapid.SampledFrom(append([]string{"nothing"}, p.Values...)).Draw(t, p.Name)
		return v, v != "nothing"
	default:
		if p.Spellings != "" && !route.Lenient { // whether another name is valid depends on the services that are listed
			return rapid.SampledFrom(p.Spelled()).Draw(t, p.Name), true
		}
		v := rapid.OneOf(rapid.SampledFrom([]string{"AI", "BSE", "a", "quote", d.index.Slugs[0]}),
			rapid.StringN(1, 101, -1)).Draw(t, p.Name)
		return v, len([]rune(v)) <= cmp.Or(p.Max, routes.MaxText) && !strings.ContainsRune(v, 0)
	}
}
