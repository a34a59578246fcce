package facts

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fill repeats a part of a document until it is as large as a fetcher returns.
func fill(head, part, tail string) string {
	return head + strings.Repeat(part, (maxJSON-len(head)-len(tail))/len(part)) + tail
}

// numbered repeats a part with a number in it, n times.
func numbered(head, part, tail string, n int) string {
	var b strings.Builder
	b.WriteString(head)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(part, "@", fmt.Sprint(i)))
	}
	return b.String() + tail
}

// TestHostileDocuments checks that each reader reads any document in a bounded time and memory. The bounds are wide: a
// reader that takes more than linear time exceeds them many times over.
func TestHostileDocuments(t *testing.T) {
	const (
		maxTime   = 30 * time.Second // a slow machine that runs other tests
		maxMemory = 64 * maxJSON     // allocated, most of it garbage at once
	)
	operation := `"/o/@/{id}": {"get": {"parameters": [{"$ref": "#/components/parameters/Id"}], "responses": {"402": {}}}}`
	deep := strings.Repeat(`{"properties": {"a":`, 4000)
	for _, c := range []struct {
		name, doc string
		want      string // endpoints and skipped entries of OpenAPI and manifest
	}{
		{"10,000 operations", numbered(`{"openapi": "3.1.0", "paths": {`, operation, `}, "components": {"parameters": `+
			`{"Id": {"name": "id", "in": "path", "example": "7"}}}}`, 10_000), "200 [{over_limit 9800}] 0 []"},
		{"10,000 references of their own", numbered(`{"openapi": "3.1.0", "paths": {`, strings.Replace(operation,
			"parameters/Id", "p@/q@", 1), `}}`, 10_000), "200 [{over_limit 9800}] 0 []"},
		{"references in a circle", `{"openapi": "3.1.0", "paths": {"/a": {"$ref": "#/paths/~1b"}, "/b": {"$ref": ` +
			`"#/paths/~1a"}, "/c": {"get": {"x-payment-info": {"$ref": "#/paths/~1c/get/x-payment-info"}}}}}`,
			"1 [] 0 []"},
		{"references through the whole document", fill(`{"openapi": "3.1.0", "paths": {"/c/{id}": {"get": {"responses": `+
			`{"402": {}}, "parameters": [`+numbered("", `{"$ref": "#`+strings.Repeat("/a", 3)+`/x@"}`, "", 200)+
			`]}}}, "a": {"a": {"a": {"x": [`, "{},", "{}]}}}}"), "1 [] 0 []"},
		{"nested schemas", `{"openapi": "3.1.0", "paths": {"/a": {"get": {"responses": {"402": {}}}}}, "components": ` +
			`{"schemas": {"A": ` + deep + `"` + strings.Repeat("x", maxJSON/2) + `"` + strings.Repeat("}}", 4000) + `}}}`,
			"1 [] 0 []"},
		{"many servers", fill(`{"openapi": "3.1.0", "paths": {"/a": {"get": {"responses": {"402": {}}}}}, "servers": [`,
			`{"url": "{a}.{b}", "variables": {"a": {"enum": ["1", "2"]}, "b": {"enum": ["1", "2"]}}},`, `{}]}`),
			"1 [] 0 []"},
		{"many parameters", fill(`{"openapi": "3.1.0", "paths": {"/{a}": {"get": {"responses": {"402": {}}, "parameters": [`,
			`{"in": "path", "name": "b", "example": "1"},`, `{}]}}}}`), "1 [] 0 []"},
		{"many members", fill(`{"openapi": "3.1.0", "paths": {`, `"/":0,`, `"/x": {"get": {"responses": {"402": {}}}}}}`),
			"0 [{over_limit 1348090}] 0 []"},
		{"many entries", fill(`{"resources": [`, `"/a",`, `"/b"]}`), ""},
		{"many lists", fill(`{"resources": [`, `{"resources": []},`, `{}]}`), ""},
		{"entries of other hosts", numbered(`{"resources": [`, `"https://other@.example.org/a"`, `, "/own"]}`, 19_999),
			"0 [] 1 [{elsewhere 19999}]"},
		{"one large entry", fill(`{"resources": [{"url": "/a"`, `,"price":0,"accepts":[]`, `}]}`), ""},
		{"nested lists", strings.Repeat(`{"resources": [`, 5000) + strings.Repeat("]}", 5000), ""},
		{"brackets", fill("", "[", ""), "0 [] 0 []"},
		{"YAML with a bomb of aliases", "openapi: 3.1.0\n" + bombYAML(12), "0 [] 0 []"},
		{"YAML in a circle", "openapi: 3.1.0\npaths: &p\n  /a: *p\n", "0 [] 0 []"},
		{"YAML of many paths", "openapi: 3.1.0\npaths:\n" + strings.Repeat("  /x: {get: {responses: {402: {}}}}\n", 50_000),
			"1 [] 0 []"},
		{"YAML that is too long", "openapi: 3.1.0\nx: " + strings.Repeat("x", 3<<20), "0 [] 0 []"},
		{"YAML of brackets", "openapi: 3.1.0\nx: " + strings.Repeat("[", 1<<20), "0 [] 0 []"},
		{"an endless text", fill(`{"resources": "`, "x", ""), "0 [] 0 []"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		const base = "https://api.example.com"
		api, _ := ReadOpenAPI([]byte(c.doc), mustParse(base+"/openapi.json"), base)
		list, _ := ReadManifest([]byte(c.doc), mustParse(base+wellKnownX402), base)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		_, _ = ReadAgentCard([]byte(c.doc), mustParse(base+wellKnownAgent))
		_, _ = ReadAPICatalog([]byte(c.doc), mustParse(base+wellKnownAPICatalog))
		allocated := after.TotalAlloc - before.TotalAlloc
		t.Logf("%-40s %5.1f MB: %6.3f s, %4d MB allocated", c.name, float64(len(c.doc))/1e6, took.Seconds(), allocated/1e6)
		if took > maxTime || allocated > maxMemory {
			t.Errorf("%s: %s and %d MB", c.name, took, allocated/1e6)
		}
		got := fmt.Sprint(len(api.Endpoints), api.Skipped, len(list.Endpoints), list.Skipped)
		if diff := cmp.Diff(c.want, got); c.want != "" && diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// bombYAML returns lists that each contain the list before ten times.
func bombYAML(levels int) string {
	text := "b0: &b0 [x]\n"
	for i := range levels {
		text += fmt.Sprintf("b%d: &b%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*b%d, ", i), 10))
	}
	return text
}
