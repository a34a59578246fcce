package x402

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCheckBazaar checks the rules of the bazaar extension, field by field.
func TestCheckBazaar(t *testing.T) {
	t.Parallel()
	const (
		schema = `{"type":"object","required":["input"],"properties":{"input":{"type":"object",
			"properties":{"type":{"type":"string"}}}}}`
		get = `{"type":"http","method":"GET","queryParams":{"city":"Oslo"},"headers":{"x":"y"}}`
	)
	extension := func(input string) string { return `{"info":{"input":` + input + `},"schema":` + schema + `}` }
	ofSchema := func(s string) string { return `{"info":{"input":` + get + `},"schema":` + s + `}` }
	for _, tt := range []struct {
		name, bazaar, resource string // resource has further members
		want                   []string
	}{
		{"a query", extension(get), ``, nil},
		{"a body", extension(`{"type":"http","method":"POST","bodyType":"json","body":{"q":"x"}}`), ``, nil},
		{"text", extension(`{"type":"http","method":"PUT","bodyType":"text","body":"x"}`), ``, nil},
		{"a tool", extension(`{"type":"mcp","toolName":"quote","inputSchema":{"type":"object"},"transport":"sse"}`), ``, nil},
		{"no object", `"yes"`, ``, []string{`extensions.bazaar must be an object; got the string "yes"`}},
		{"no info", `{"schema":` + schema + `}`, ``, []string{"info must be an object; got nothing"}},
		{"no schema", `{"info":{"input":` + get + `}}`, ``, []string{"schema must be an object; got nothing"}},
		{"another type", extension(`{"type":"grpc"}`), ``, []string{`info.input.type must be http or mcp; got the string "grpc"`}},
		{"no method", extension(`{"type":"http"}`), ``,
			[]string{"info.input.method must be GET, HEAD, DELETE, POST, PUT or PATCH; got nothing"}},
		{"a lower-case method", extension(`{"type":"http","method":"get"}`), ``,
			[]string{`info.input.method must be GET, HEAD, DELETE, POST, PUT or PATCH; got the string "get"`}},
		{"a body of GET", extension(`{"type":"http","method":"GET","body":{}}`), ``,
			[]string{"info.input.body does not belong to the method GET"}},
		{"no body", extension(`{"type":"http","method":"POST"}`), ``, []string{
			"info.input.bodyType must be json, form-data or text; got nothing",
			"info.input.body must be an object or a string; got nothing"}},
		{"another body", extension(`{"type":"http","method":"POST","bodyType":"xml","body":1}`), ``, []string{
			`info.input.bodyType must be json, form-data or text; got the string "xml"`,
			"info.input.body must be an object or a string; got the number 1"}},
		{"parameters as a list", extension(`{"type":"http","method":"GET","queryParams":["city"]}`), ``,
			[]string{"info.input.queryParams must be an object; got the list [\"city\"]"}},
		{"a tool without its schema", extension(`{"type":"mcp","toolName":""}`), ``, []string{
			`info.input.toolName must be a string that is not empty; got the string ""`,
			"info.input.inputSchema must be an object; got nothing"}},
		{"another transport", extension(`{"type":"mcp","toolName":"q","inputSchema":{"type":"object"},"transport":"stdio"}`), ``,
			[]string{`info.input.transport must be streamable-http or sse; got the string "stdio"`}},
		{"an output without type", `{"info":{"input":` + get + `,"output":{"example":1}},"schema":` + schema + `}`, ``,
			[]string{"info.output.type must be a string; got nothing"}},
		{"the schema of the body", ofSchema(`{"type":"object","properties":{"q":{"type":"string"}}}`), ``,
			[]string{"schema describes no input: schema.properties.input is missing"}},
		{"input not required", ofSchema(strings.Replace(schema, `"required":["input"],`, "", 1)), ``,
			[]string{"schema.required does not name input"}},
		{"an old draft", ofSchema(strings.Replace(schema, `{`, `{"$schema":"http://json-schema.org/draft-07/schema#",`, 1)), ``,
			[]string{`schema.$schema must be that of the draft 2020-12; got "http://json-schema.org/draft-07/schema#"`}},
		{"another document", ofSchema(strings.Replace(schema, `"type":"object",`, `"$ref":"https://evil.test/s",`, 1)), ``,
			[]string{"schema refers to another document: https://evil.test/s"}},
		{"a schema in a circle", ofSchema(strings.Replace(schema, `"type":"object",`, `"$ref":"#",`, 1)), ``, nil},
		{"a template", strings.TrimSuffix(extension(get), "}") + `,"routeTemplate":"/users/../:id"}`, ``,
			[]string{`soft: routeTemplate is not a path such as /users/:id: "/users/../:id"`}},
		{"metadata", extension(get), `,"serviceName":"Acme Quotes","tags":["a","b"],"iconUrl":"https://acme.test/i.png"`, nil},
		{"bad metadata", extension(get), `,"serviceName":"Ärzte","tags":["a","A"],"iconUrl":"https://127.0.0.1/i.png"`, []string{
			`soft: resource.serviceName must be 1 to 32 characters of printable ASCII; got the string "Ärzte"`,
			"soft: resource.tags must be at most 5 different texts of 1 to 32 characters of printable ASCII; got the list [\"a\",\"A\"]",
			`soft: resource.iconUrl must be an https or http URL with a public name; got the string "https://127.0.0.1/i.png"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := &Envelope{Raw: []byte(`{"x402Version":2,"resource":{"url":"https://acme.test/q"` + tt.resource +
				`},"accepts":[],"extensions":{"bazaar":` + tt.bazaar + `}}`)}
			var got []string
			for _, f := range CheckBazaar(e) {
				if f.Soft {
					f.Detail = "soft: " + f.Detail
				}
				got = append(got, f.Detail)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// TestInfoAgainstSchema checks that info which its own schema refuses is a fault.
func TestInfoAgainstSchema(t *testing.T) {
	t.Parallel()
	e := &Envelope{Raw: []byte(`{"x402Version":2,"accepts":[],"extensions":{"bazaar":{"info":{"input":{"type":"http",
		"method":"GET"}},"schema":{"type":"object","required":["input"],"properties":{"input":{"type":"object",
		"required":["domain"],"properties":{"type":{"type":"string"}}}}}}}}`)}
	got := CheckBazaar(e)
	if len(got) != 1 || !strings.HasPrefix(got[0].Detail, "info does not match schema: ") ||
		!strings.Contains(got[0].Detail, "domain") {
		t.Errorf("faults: %+v", got)
	}
}

// TestIconURL checks which icons catalogues take.
func TestIconURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"https://acme.test/i.png": true, "http://bücher.test/i": true,
		"data:image/png;base64,AA": false, "https://user@acme.test/": false, "https://localhost/": false,
		"https://%6cocalhost/": false, "https://2130706433/": false, "https://0x7f000001/": false, "https://[::1]/": false,
		"/i.png": false, "https://acme.test/\n": false, "https://acme.test/" + strings.Repeat("x", 2048): false,
	} {
		if got := isIconURL(text); got != want {
			t.Errorf("%.60q: %t, want %t", text, got, want)
		}
	}
}

// FuzzCheckBazaar checks that no extension takes long or stops the program.
func FuzzCheckBazaar(f *testing.F) {
	for _, s := range []string{`{"info":{"input":{"type":"http","method":"GET"}},"schema":{"properties":{"input":{}}}}`,
		`{"schema":{"$ref":"#"}}`, `{"info":{},"schema":{"anyOf":[{"not":{"allOf":[{}]}}]}}`,
		`{"info":{"input":1},"schema":{"pattern":"(a+)+$","properties":{"input":{"pattern":"(?=x)"}}}}`,
		`{"schema":` + strings.Repeat(`{"not":`, 100) + `{}` + strings.Repeat(`}`, 100) + `}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, extension string) {
		began := time.Now()
		CheckBazaar(&Envelope{Raw: []byte(`{"x402Version":2,"accepts":[],"extensions":{"bazaar":` + extension + `}}`)})
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it takes %v", took)
		}
	})
}
