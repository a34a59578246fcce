package list

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres"
)

const listJSON = `[
  {
    "service_name": "Acme Quotes",
    "description": "Share prices, a call at a time.",
    "url": "https://API.Acme.example/v1/",
    "website_url": "https://acme.example",
    "category": "Finance",
    "endpoints": ["/quote", "POST /search?deep=1"]
  },
  {"service_name": "Bolt", "description": "d", "url": "http://127.0.0.1:4021", "category": "AI",
   "endpoints": ["GET /x"], "slug": "b", "source": "imported:peer"}
]
`

const listTOML = `
[[service]]
service_name = "Acme Quotes"
description  = "Share prices, a call at a time."
url          = "https://API.Acme.example/v1/"
website_url  = "https://acme.example"
category     = "Finance"
endpoints    = ["/quote", "POST /search?deep=1"]

[[service]]
service_name = "Bolt"
description  = "d"
url          = "http://127.0.0.1:4021"
category     = "AI"
endpoints    = ["GET /x"]
slug         = "b"
source       = "imported:peer"
`

func TestRead(t *testing.T) {
	t.Parallel()
	want := []postgres.Listing{
		{
			Slug: "acme-quotes", Name: "Acme Quotes", Description: "Share prices, a call at a time.",
			BaseURL: "https://api.acme.example/v1", WebsiteURL: new("https://acme.example"), Category: "Finance",
			Source: "imported:file", CreatedAt: noon,
			Endpoints: []postgres.ListedEndpoint{{Path: "/quote"}, {Method: "POST", Path: "/search?deep=1"}},
		},
		{
			Slug: "b", Name: "Bolt", Description: "d", BaseURL: "http://127.0.0.1:4021", Category: "AI",
			Source: "imported:peer", CreatedAt: noon,
			Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/x"}},
		},
	}
	for name, text := range map[string]string{"list.json": listJSON, "list": listJSON, "list.toml": listTOML,
		"LIST.TOML": listTOML} {
		got, err := Read(strings.NewReader(text), Options{Name: name, Now: noon})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, listings(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, text := range map[string]string{"empty.json": " [ ] \n", "empty.toml": "# nothing yet\n"} {
		if got, err := Read(strings.NewReader(text), Options{Name: name, Now: noon}); err != nil || len(got) != 0 {
			t.Errorf("%s: %d listings, error %v", name, len(got), err)
		}
	}
}

func listings(entries []Entry) (list []postgres.Listing) {
	for _, e := range entries {
		list = append(list, e.Listing)
	}
	return list
}

// good returns a valid entry in JSON with one field replaced; value "" omits the field.
func good(field, value string) string {
	fields := []string{"service_name", `"Acme"`, "description", `"d"`, "url", `"https://acme.example"`, "category",
		`"AI"`, "endpoints", `["/x"]`}
	var out []string
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == field {
			fields[i+1], field = value, ""
		}
		if fields[i+1] != "" {
			out = append(out, fmt.Sprintf("%q: %s", fields[i], fields[i+1]))
		}
	}
	if field != "" {
		out = append(out, fmt.Sprintf("%q: %s", field, value))
	}
	return "{" + strings.Join(out, ", ") + "}"
}

// TestFaultsOfAnEntry puts each fault into the second entry of a list, which begins at line 3.
func TestFaultsOfAnEntry(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return `"` + strings.Repeat("ü", n) + `"` }
	for _, test := range []struct{ field, value, fault string }{
		{"service_name", "", "service_name is missing"},
		{"service_name", `" \u2003 "`, "service_name is missing"},
		{"service_name", long(101), "service_name must have at most 100 characters; got 101"},
		{"service_name", `"a\u0000b"`, "service_name must not contain control characters"},
		{"service_name", `"a\nb"`, "service_name must not contain control characters"},
		{"service_name", `"…"`, "slug is missing, and service_name has no letter to derive one from; add a slug"},
		{"description", `""`, "description is missing"},
		{"description", long(2001), "description must have at most 2000 characters; got 2001"},
		{"description", `"\u0007"`, "description must not contain control characters"},
		{"category", "", "category is missing"},
		{"category", long(101), "category must have at most 100 characters; got 101"},
		{"category", long(40),
			"category has 240 bytes percent-encoded, at most 200 are allowed: it becomes part of file names"},
		{"url", `"https://FIRST.example:443/"`, "url https://first.example is already at line 2"},
		{"url", "", "url is missing"},
		{"url", `"acme.example"`, `url must start with https:// or http:// and a host; got "acme.example"`},
		{"url", `"ftp://acme.example"`, `url must start with https:// or http:// and a host; got "ftp://acme.example"`},
		{"url", `"https://"`, `url must start with https:// or http:// and a host; got "https://"`},
		{"url", `"https://:443"`, `url must start with https:// or http:// and a host; got "https://:443"`},
		{"url", `"https://a b.example"`, `url must be a URL, but its host is no name and no address; got "https://a b.example"`},
		{"url", `"https://acme.example/%zz"`,
			`url must be a URL of at most 2048 bytes; got "https://acme.example/%zz"`},
		{"url", `"https://acme.example/\u0000"`,
			`url must be a URL of at most 2048 bytes; got "https://acme.example/\x00"`},
		{"url", `"https://acme.example:port"`,
			`url must be a URL, but its port is no number to 65535; got "https://acme.example:port"`},
		{"url", `"https://` + strings.Repeat("a", 2048) + `"`,
			`url must be a URL of at most 2048 bytes; got "https://` + strings.Repeat("a", 52) + `"`},
		{"url", `"https://me:secret@acme.example"`, "url must not contain a user name or password"},
		{"url", `"https://acme.example?key=1"`,
			`url must not contain a query or fragment; got "https://acme.example?key=1"`},
		{"url", `"https://acme.example#top"`,
			`url must not contain a query or fragment; got "https://acme.example#top"`},
		{"website_url", `"javascript:alert(1)"`,
			`website_url must start with https:// or http:// and a host; got "javascript:alert(1)"`},
		{"endpoints", "", "endpoints must be a list of 1 to 25 paths; got 0"},
		{"endpoints", "[]", "endpoints must be a list of 1 to 25 paths; got 0"},
		{"endpoints", "[" + strings.Repeat(`"/a",`, 25) + `"/a"]`, "endpoints must be a list of 1 to 25 paths; got 26"},
		{"endpoints", `["x"]`, `endpoints "x": must be like "/path" or "POST /path"`},
		{"endpoints", `[""]`, `endpoints "": must be like "/path" or "POST /path"`},
		{"endpoints", `["POST"]`, `endpoints "POST": must be like "/path" or "POST /path"`},
		{"endpoints", `["HEAD /x"]`, `endpoints "HEAD /x": the method must be GET, POST, PUT, PATCH or DELETE`},
		{"endpoints", `["get /x"]`, `endpoints "get /x": the method must be GET, POST, PUT, PATCH or DELETE`},
		{"endpoints", `[" /x"]`, `endpoints " /x": the method must be GET, POST, PUT, PATCH or DELETE`},
		{"endpoints", `["GET POST /x"]`, `endpoints "GET POST /x": must be like "/path" or "POST /path"`},
		{"endpoints", `["GET  /x"]`, `endpoints "GET  /x": must be like "/path" or "POST /path"`},
		{"endpoints", `["https://evil.example/x"]`,
			`endpoints "https://evil.example/x": must be like "/path" or "POST /path"`},
		{"endpoints", `["//evil.example/x"]`, `endpoints "//evil.example/x": must be like "/path" or "POST /path"`},
		{"endpoints", `["/x#y"]`, `endpoints "/x#y": must be like "/path" or "POST /path"`},
		{"endpoints", `["/%zz"]`, `endpoints "/%zz": must be like "/path" or "POST /path"`},
		{"endpoints", `["GET /x\u00a0y"]`,
			`endpoints "GET /x\u00a0y": a path must have at most 500 bytes, without spaces and control characters`},
		{"endpoints", `["/` + strings.Repeat("x", 500) + `"]`,
			`endpoints "/` + strings.Repeat("x", 59) +
				`": a path must have at most 500 bytes, without spaces and control characters`},
		{"endpoints", `["/x", "/y", "/x"]`, `endpoints "/x" appears twice`},
		{"slug", `"Acme"`, `slug "Acme" must be 1 to 80 of a-z, 0-9 and inner hyphens`},
		{"slug", `"` + strings.Repeat("a", 81) + `"`,
			`slug "` + strings.Repeat("a", 81) + `" must be 1 to 80 of a-z, 0-9 and inner hyphens`},
		{"source", `"submitted"`, `source "submitted" must begin with "imported:"`},
		{"source", `"imported:a\nb"`, `source "imported:a\nb" must begin with "imported:"`},
		{"x", "1", "unknown field x"},
		{"service_name", "7", "service_name: want a string, got number"},
		{"endpoints", `"/x"`, "endpoints: want a list of strings, got string"},
		{"endpoints", `[7]`, "endpoints: want a list of strings, got number"},
	} {
		list := "[\n" + `{"service_name": "First", "description": "d", "url": "https://first.example", "category": ` +
			`"AI", "endpoints": ["/x"]},` + "\n" + good(test.field, test.value) + "\n]\n"
		got, err := Read(strings.NewReader(list), Options{Name: "list.json", Now: noon})
		texts := faults(err)
		for i := range texts {
			texts[i] = column.ReplaceAllString(texts[i], "$1: ") // TestEveryFaultIsReported compares columns
		}
		if diff := cmp.Diff([]string{"list.json:3: " + test.fault}, texts); diff != "" || got != nil {
			t.Errorf("%s %.40s: %d listings, faults (-want +got):\n%s", test.field, test.value, len(got), diff)
		}
	}
}

var column = regexp.MustCompile(`^(list.json:3):\d+: `)

// faults returns the messages of the *Faults that err joins.
func faults(err error) []string {
	if err == nil {
		return nil
	}
	joined, several := err.(interface{ Unwrap() []error })
	if !several {
		joined = errors.Join(err).(interface{ Unwrap() []error })
	}
	var out []string
	for _, e := range joined.Unwrap() {
		var fault *Fault
		if !errors.As(e, &fault) {
			out = append(out, "not a Fault: "+e.Error())
			continue
		}
		out = append(out, fault.Error())
	}
	return out
}

// TestEveryFaultIsReported checks that one error lists all faults, so that a list can be repaired in one pass.
func TestEveryFaultIsReported(t *testing.T) {
	t.Parallel()
	first := good("url", `"HTTPS://Acme.example/"`)
	list := strings.Join([]string{"[", first + ",", good("slug", `"acme-2"`) + ",", "",
		good("url", `"https://other.example"`) + ",",
		good("category", `""`) + ",", `{"service_name": 1},`, `{"service_nam": "x"},`, `{"service_name": "Zed",`,
		`"url": "z", "category": "AI", "endpoints": []}`, "]"}, "\n")
	_, err := Read(strings.NewReader(list), Options{Name: "list.json", Now: noon})
	want := []string{
		"list.json:3:53: url https://acme.example is already at line 2",
		"list.json:5:18: slug acme is already at line 2",
		"list.json:6:89: category is missing",
		"list.json:7:1: url is missing",
		"list.json:7:1: description is missing",
		"list.json:7:1: category is missing",
		"list.json:7:1: endpoints must be a list of 1 to 25 paths; got 0",
		"list.json:7:18: service_name: want a string, got number",
		"list.json:8:1: url is missing",
		"list.json:8:1: service_name is missing",
		"list.json:8:1: description is missing",
		"list.json:8:1: category is missing",
		"list.json:8:1: endpoints must be a list of 1 to 25 paths; got 0",
		`list.json:8:2: unknown field service_nam; did you mean "service_name"?`,
		"list.json:9:1: description is missing",
		`list.json:10:8: url must start with https:// or http:// and a host; got "z"`,
		"list.json:10:44: endpoints must be a list of 1 to 25 paths; got 0",
	}
	if diff := cmp.Diff(want, faults(err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// missing returns the faults of some of the five required fields that an entry lacks.
func missing(at string, from, to int) string {
	faults := []string{"url is missing", "service_name is missing", "description is missing", "category is missing",
		"endpoints must be a list of 1 to 25 paths; got 0"}[from:to]
	return "a.toml:" + at + ": " + strings.Join(faults, "\na.toml:"+at+": ")
}

func TestFaultsOfAFile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, fault string }{
		{"a.json", "", "a.json:1:1: the list ends too early"},
		{"a.json", "\n\n  ", "a.json:1:1: the list ends too early"},
		{"a.json", "{}", "a.json:1:1: want a list of objects: [ {…}, … ]"},
		{"a.json", "\"x\"", "a.json:1:1: want a list of objects: [ {…}, … ]"},
		{"a.json", "null", "a.json:1:1: want a list of objects: [ {…}, … ]"},
		{"a.json", "[\n{}", "a.json:2:3: the list ends too early"},
		{"a.json", "[\n{\n\"url\":", "a.json:3:7: the list ends too early"},
		{"a.json", "[\n{\n\"url\": x}]", "a.json:3:8: invalid character 'x' looking for beginning of value"},
		{"a.json", "[\n" + good("", "") + "\n" + good("slug", `"b"`) + "]",
			"a.json:3:1: invalid character '{' after array element"},
		{"a.json", "[\n" + good("", "") + ",\n]", "a.json:3:1: invalid character ']' looking for beginning of value"},
		{"a.json", "[]\n[]", "a.json:2:1: invalid character '[' after top-level value"},
		{"a.json", "\ufeff[", "a.json:1:2: the list ends too early"},
		{"a.json", "[1]", "a.json:1:2: want an object, got number"},
		{"a.json", "[" + strings.Repeat("[", 20_000), "a.json:1:10001: invalid character '[' exceeded max depth"},
		{"a.toml", "[[service]]\nurl = 1\n", missing("1:3", 1, 5) + "\na.toml:2:7: url: want a string, got number"},
		{"a.toml", "[[service]]\nurl = \"x\n", "a.toml:2:9: basic strings cannot have new lines"},
		{"a.toml", "[[service]]\n\nprice = 1\n[[service]]\nmethod = 1\n",
			missing("1:3", 0, 5) + "\na.toml:3:1: unknown field price\n" + missing("4:3", 0, 5) +
				"\na.toml:5:1: unknown field method"},
		{"a.toml", "[[services]]\n", `a.toml:1:3: unknown table services; did you mean "service"?`},
		{"a.toml", "title = \"x\"\n", "a.toml:1:1: unknown field title; each service begins with [[service]]"},
		{"a.toml", "service = 3\n", "a.toml:1:11: want a list of tables, got number"},
		{"a.toml", "service = [3]\n", "a.toml:1:12: want a table, got number"},
		{"a.toml", "[[service]]\nurl = \"\xff\"\n", "a.toml:2:8: invalid UTF-8 character in basic string"},
		{"a.toml", "[[service]]\nslug = \"a\"\nslug = \"b\"\n", "a.toml:3:1: key slug is already defined"},
		{"a.toml", "\n[[service]]\nservice_name = \"A\"\n", missing("2:3", 0, 1) + "\n" + missing("2:3", 2, 5)},
		{"a.toml", "service = [ {service_name = \"A\"} ]\n", missing("1:13", 0, 1) + "\n" + missing("1:13", 2, 5)},
	} {
		got, err := Read(strings.NewReader(test.text), Options{Name: test.name, Now: noon})
		if diff := cmp.Diff(strings.Split(test.fault, "\n"), faults(err)); diff != "" || got != nil {
			t.Errorf("%.40q: %d listings, faults (-want +got):\n%s", test.text, len(got), diff)
		}
	}
}

// endless is a list of blanks that never ends.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.read += int64(len(p))
	return len(p), nil
}

func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	var r endless
	_, err := Read(&r, Options{Name: "list.json", Now: noon})
	if diff := cmp.Diff([]string{"list.json: is larger than 64 MiB"}, faults(err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if r.read > 2*MaxBytes {
		t.Errorf("%d bytes read of a list limited to %d", r.read, MaxBytes)
	}
	broken := errors.New("disk is gone")
	if _, err := Read(io.MultiReader(strings.NewReader("["), failing{broken}),
		Options{Name: "list.json", Now: noon}); !errors.Is(err, broken) {
		t.Errorf("list that can't be read: %v, want %v", err, broken)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
