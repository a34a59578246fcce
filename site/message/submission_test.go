package message_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/message"
)

// rules refuses hosts that begin with "10.", as the crawler's guard refuses private addresses.
var rules = message.SubmissionRules{Categories: []string{"AI", "Data"}, Address: func(u *url.URL) (*url.URL, error) {
	if strings.HasPrefix(u.Hostname(), "10.") {
		return nil, errors.New("refused: 10.0.0.1 is a private address")
	}
	return u, nil
}}

// good returns the fields of a submission without faults, each as JSON.
func good() map[string]string {
	return map[string]string{
		"url": `"https://API.acme.example:443/v1/"`, "email": `"o'neil+x402@acme.example"`,
		"service_name": `" Acme Quotes "`,
		"description":  `"Share prices,\na call at a time."`, "website_url": `"https://acme.example/?from=here"`,
		"category":  `"Data"`,
		"endpoints": `["/quote","POST /search?x={y}"]`, "notes": `"first line\nsecond"`,
	}
}

func object(values map[string]string) []byte {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, fmt.Sprintf("%q:%s", name, values[name]))
	}
	return []byte("{" + strings.Join(parts, ",") + "}")
}

// faultsOf returns the faults in a *Error, one line each.
func faultsOf(err error) []string {
	var wrong *message.Error
	if !errors.As(err, &wrong) {
		return nil
	}
	var lines []string
	for _, f := range wrong.Fields {
		lines = append(lines, f.Field+": "+f.Message)
	}
	return lines
}

func TestReadSubmission(t *testing.T) {
	t.Parallel()
	want := site.Submission{
		URL: "https://api.acme.example/v1", Email: "o'neil+x402@acme.example", ServiceName: "Acme Quotes",
		Description: "Share prices, a call at a time.",
		WebsiteURL:  "https://acme.example/?from=here", Category: "Data",
		Endpoints: []string{"/quote", "POST /search?x={y}"}, Notes: "first line\nsecond",
	}
	got, err := message.ReadSubmission(object(good()), rules)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("submission, error %v (-want +got):\n%s", err, diff)
	}
	form := url.Values{"endpoints": {" /quote\r\n\r\nPOST /search?x={y}\r\n"}}
	for name, value := range good() {
		if name != "endpoints" {
			var text string
			if err := json.Unmarshal([]byte(value), &text); err != nil {
				t.Fatal(err)
			}
			form.Set(name, text)
		}
	}
	got, err = message.ReadSubmissionForm(form, rules)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("from a form, error %v (-want +got):\n%s", err, diff)
	}
	without := good()
	delete(without, "notes")
	if got, err := message.ReadSubmission(object(without), rules); err != nil || got.Notes != "" {
		t.Errorf("without notes: %+v, %v", got, err)
	}
}

// TestSubmissionTypes sends each field with each wrong type, and expects one fault that names the field and the type.
func TestSubmissionTypes(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{"null": "null", "true": "a boolean", "12": "a number", "-1e999": "a number",
		"{}": "an object", `{"a":[1]}`: "an object", `"x"`: "a string", "[]": "a list", `["/a"]`: "a list"}
	for field := range good() {
		for value, kind := range kinds {
			want := fmt.Sprintf("%s: must be a string; got %s", field, kind)
			if field == "endpoints" {
				want = fmt.Sprintf("endpoints: must be a list of strings; got %s", kind)
				if kind == "a list" {
					continue
				}
			} else if kind == "a string" {
				continue
			}
			body := good()
			body[field] = value
			_, err := message.ReadSubmission(object(body), rules)
			if diff := cmp.Diff([]string{want}, faultsOf(err)); diff != "" {
				t.Errorf("%s is %s (-want +got):\n%s", field, value, diff)
			}
		}
	}
	for _, item := range []string{"null", "1", "{}", "[]", "false"} {
		body := good()
		body["endpoints"] = `["/a",` + item + `]`
		_, err := message.ReadSubmission(object(body), rules)
		if got := faultsOf(err); len(got) != 1 || !strings.HasPrefix(got[0],
			"endpoints: must be a list of strings; it contains ") {
			t.Errorf("endpoints with %s: %q", item, got)
		}
	}
}

func TestSubmissionFaults(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return `"` + strings.Repeat("é", n) + `"` }
	paths := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`"/%d"`, i)
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	free := "is on a free-hosting or tunnel domain; list the service under a domain of its own"
	email := "email: must be an e-mail address such as you@acme.example"
	for _, tt := range []struct{ field, value, want string }{
		{"url", `""`, "url: is missing"},
		{"url", `"acme"`, `url: must start with https:// or http:// and a host; got "acme"`},
		{"url", `"ftp://acme.example"`,
			`url: must start with https:// or http:// and a host; got "ftp://acme.example"`},
		{"url", `"https://a:b@acme.example"`, "url: must not contain a user name or password"},
		{"url", `"https://acme.example?x"`, `url: must not contain a query or fragment; got "https://acme.example?x"`},
		{"url", `"http://10.0.0.1/"`, "url: refused: 10.0.0.1 is a private address"},
		{"url", `"https://acme.vercel.app"`, "url: " + free},
		{"url", `"https://x.NGROK-free.app/a"`, "url: " + free},
		{"url", `"https://acme.example\u0000"`,
			`url: must be a URL of at most 2048 bytes; got "https://acme.example\x00"`},
		{"website_url", `""`, "website_url: is missing"},
		{"website_url", `"javascript:alert(1)"`,
			`website_url: must start with https:// or http:// and a host; got "javascript:alert(1)"`},
		{"website_url", `"https://acme.github.io"`, "website_url: " + free},
		{"website_url", `"http://10.1.1.1"`, "website_url: refused: 10.0.0.1 is a private address"},
		{"email", `"a@b"`, email}, {"email", `"Acme <a@acme.example>"`, email}, {"email", `"a@[10.0.0.1]"`, email},
		{"email", `"a@acme.example\nBcc: b@c.d"`, email},
		{"email", `"` + strings.Repeat("a", 250) + `@acme.example"`, email}, {"email", `"a"`, email},
		{"email", `""`, "email: is missing"},
		{"service_name", `"  "`, "service_name: is missing"},
		{"service_name", `"a\u0000b"`, "service_name: must not contain control characters"},
		{"service_name", long(101), "service_name: must have at most 100 characters; got 101"},
		{"service_name", long(100), ""},
		{"description", long(2001), "description: must have at most 2000 characters; got 2001"},
		{"description", long(2000), ""},
		{"notes", long(2001), "notes: must have at most 2000 characters; got 2001"}, {"notes", long(2000), ""},
		{"notes", `"\u0001"`, "notes: must not contain control characters"}, {"notes", `""`, ""},
		{"category", `"data"`, "category: must be one of AI, Data"}, {"category", `""`, "category: is missing"},
		{"endpoints", "[]", "endpoints: must be a list of 1 to 25 paths; got 0"},
		{"endpoints", paths(26), "endpoints: must be a list of 1 to 25 paths; got 26"}, {"endpoints", paths(25), ""},
		{"endpoints", `["quote"]`, `endpoints: "quote": must be like "/path" or "POST /path"`},
		{"endpoints", `["//evil.example/x"]`, `endpoints: "//evil.example/x": must be like "/path" or "POST /path"`},
		{"endpoints", `["TRACE /a"]`, `endpoints: "TRACE /a": the method must be GET, POST, PUT, PATCH or DELETE`},
		{"endpoints", `["/a","/a"]`, `endpoints: "/a" appears twice`},
		{"endpoints", `["/` + strings.Repeat("a", 499) + `"]`, ""},
		{"endpoints", `["/` + strings.Repeat("a", 500) + `"]`,
			`endpoints: "/` + strings.Repeat("a", 59) +
				`": a path must have at most 500 bytes, without spaces and control characters`},
		{"slug", `"mine"`, "slug: is not a known field"},
		{"URL", `"https://acme.example"`, "URL: is not a known field"},
		{strings.Repeat("k", 99), "1", strings.Repeat("k", 60) + "…: is not a known field"},
	} {
		body := good()
		body[tt.field] = tt.value
		_, err := message.ReadSubmission(object(body), rules)
		want := []string{tt.want}
		if tt.want == "" {
			want = nil
		}
		if diff := cmp.Diff(want, faultsOf(err)); diff != "" || tt.want == "" && err != nil {
			t.Errorf("%s is %.60s: %v (-want +got):\n%s", tt.field, tt.value, err, diff)
		}
	}
}

// TestSubmissionBodies checks that a body that is not an object has one fault, and that an object gets the faults of
// all its fields at once, in the order of the fields.
func TestSubmissionBodies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body string
		want []string
	}{
		{"", []string{"body: is not valid JSON: byte 0: unexpected end of JSON input"}},
		{"{", []string{"body: is not valid JSON: byte 1: unexpected end of JSON input"}},
		{"{} {}", []string{"body: is not valid JSON: byte 4: invalid character '{' after top-level value"}},
		{`{"url":"a",}`,
			[]string{
				"body: is not valid JSON: byte 12: invalid character '}' looking for beginning of object key string"}},
		{"[]", []string{"body: must be a JSON object"}}, {"null", []string{"body: must be a JSON object"}},
		{`"url"`, []string{"body: must be a JSON object"}}, {"7", []string{"body: must be a JSON object"}},
		{"\"\xff\"", []string{"body: is not UTF-8"}},
		{"{}", []string{"url: is missing", "email: is missing", "service_name: is missing", "description: is missing",
			"website_url: is missing", "category: is missing", "endpoints: must be a list of 1 to 25 paths; got 0"}},
		{`{"zzz":1,"notes":3,"url":"x","url":"y","email":null}`,
			[]string{`url: appears twice`, "email: must be a string; got null", "service_name: is missing",
				"description: is missing",
				"website_url: is missing", "category: is missing", "endpoints: must be a list of 1 to 25 paths; got 0",
				"notes: must be a string; got a number", "zzz: is not a known field"}},
	} {
		_, err := message.ReadSubmission([]byte(tt.body), rules)
		if diff := cmp.Diff(tt.want, faultsOf(err)); diff != "" {
			t.Errorf("%.40q (-want +got):\n%s", tt.body, diff)
		}
	}
	many := map[string]string{}
	for i := range 3000 {
		many[fmt.Sprintf("a%d", i)] = "1"
	}
	_, err := message.ReadSubmission(object(many), rules)
	if got := faultsOf(err); len(got) > 60 || !slices.Contains(got,
		"endpoints: must be a list of 1 to 25 paths; got 0") {
		t.Errorf("3000 unknown fields return %d faults: %q", len(got), got)
	}
	_, err = message.ReadSubmissionForm(url.Values{"url": {"https://a.example", "https://b.example"}, "zz": {""}, "yy": {""},
		"notes": {"\xff"}}, rules)
	if diff := cmp.Diff([]string{"url: appears twice", "email: is missing", "service_name: is missing",
		"description: is missing", "website_url: is missing", "category: is missing",
		"endpoints: must be a list of 1 to 25 paths; got 0", "notes: must not contain control characters",
		"yy: is not a known field", "zz: is not a known field"},
		faultsOf(err)); diff != "" {
		t.Errorf("faults of a form (-want +got):\n%s", diff)
	}
}

// FuzzReadSubmission checks that no body makes Read panic and that every refusal names a fault. An accepted submission
// must be valid UTF-8 without NUL, and reading it again must return the same.
func FuzzReadSubmission(f *testing.F) {
	f.Add(object(good()))
	f.Add([]byte(`{"url":"https://a.example","url":1}`))
	f.Add([]byte(`{"endpoints":["/a",["/b"]],"notes":"\ud800"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := message.ReadSubmission(body, rules)
		if err != nil {
			if len(faultsOf(err)) == 0 {
				t.Fatalf("an error without a fault: %v", err)
			}
			return
		}
		data, err := json.Marshal(s)
		if err != nil || !utf8.Valid(data) || strings.ContainsRune(s.URL+s.Email+s.ServiceName+s.Description+
			s.WebsiteURL+s.Notes+strings.Join(s.Endpoints, ""), 0) {
			t.Fatalf("can't be kept: %q, %v", data, err)
		}
		again, err := message.ReadSubmission(data, rules)
		if diff := cmp.Diff(s, again); diff != "" || err != nil {
			t.Fatalf("read again, error %v (-first +second):\n%s", err, diff)
		}
	})
}

// FuzzReadSubmissionForm checks the same for forms.
func FuzzReadSubmissionForm(f *testing.F) {
	f.Add(
		"url=https%3A%2F%2Fa.example&email=a%40a.example&service_name=A&description=d&website_url=https%3A%2F%2Fa.example&category=AI&endpoints=%2Fa%0D%0APOST+%2Fb&notes=%ff")
	f.Add("url=&url=&%ff=1")
	f.Fuzz(func(t *testing.T, body string) {
		form, err := url.ParseQuery(body)
		if err != nil {
			return
		}
		s, err := message.ReadSubmissionForm(form, rules)
		if err != nil {
			if len(faultsOf(err)) == 0 {
				t.Fatalf("an error without a fault: %v", err)
			}
			return
		}
		for _, text := range append(s.Endpoints, s.URL, s.Email, s.ServiceName, s.Description, s.WebsiteURL, s.Notes) {
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				t.Fatalf("can't be kept: %q", text)
			}
		}
	})
}
