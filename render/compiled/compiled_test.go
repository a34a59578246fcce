package compiled

import (
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// things is data of every kind that a template may meet.
type things struct {
	Text    string
	Named   named
	Markup  template.HTML
	Address template.URL
	Number  int
	Long    int64
	Share   float64
	Yes     bool
	None    *string
	Some    *string
	Any     any
	Nil     any
	Texts   []string
	Inner   inner
	Pointer *inner
	List    []inner
	Many    []any
	Map     map[string]any
	Part    *float64
	Sure    *bool
	Size    *int
	Own     marshaler
	Writes  appender
	Chart   Drawing
	NoChart Drawing
	Nobody  map[string]int
	Raw     []byte
	embedded
}

// marshaler says itself what it is in JSON.
type marshaler []string

func (m marshaler) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(m[0])
	return []byte(`{"</script>": ` + string(text) + `, " ": "<!--"}`), err
}

// appender says the same where it stands.
type appender []string

func (a appender) AppendJSON(b []byte) ([]byte, error) {
	text, err := json.Marshal(a[0])
	if a[0] == "" {
		return nil, errors.New("it fails")
	}
	return append(b, `["\u003c/script\u003e",`+string(text)+`]`...), err
}

func (a appender) MarshalJSON() ([]byte, error) { return a.AppendJSON(nil) }

func draw(text string) Drawing {
	return func(b []byte) []byte { return append(append(b, "<b>"...), template.HTMLEscapeString(text)...) }
}

type named string

type inner struct{ Name string }

func (i inner) HTML() template.HTML    { return template.HTML("<i>" + template.HTMLEscapeString(i.Name)) }
func (i inner) Shout() string          { return strings.ToUpper(i.Name) }
func (i *inner) Whisper() string       { return strings.ToLower(i.Name) }
func (i inner) Fails() (string, error) { return "", errors.New("it fails") }
func (i inner) Repeat(n int) string    { return strings.Repeat(i.Name, min(n, 64)) } // negative: panics
func (n named) String() string         { return "named " + string(n) }
func dataOf(text string, n int) *things {
	return &things{Text: text, Named: named(text), Markup: template.HTML("<b>" + template.HTMLEscapeString(text) + "</b>"), Address: "x:y", Number: n, Long: int64(n), Share: float64(n) / 8, Yes: n%2 == 0,
		Some: &text, Any: text, Texts: []string{text, "", "b"}, Inner: inner{text}, Pointer: &inner{text}, List: []inner{{text}, {"last"}}, Many: []any{text, n, nil, inner{text}},
		Map: map[string]any{"key": text, "inner": inner{text}, "nil": nil}, Part: new(float64(n) / 8), Sure: new(true), Size: &n, Own: marshaler{text}, Writes: appender{text}, Chart: draw(text), Raw: []byte(text), embedded: embedded{Deep: text}}
}

type embedded struct{ Deep string }

var funcs = template.FuncMap{
	"double": func(s string) string { return s + s }, "count": func(n int) string { return strings.Repeat("*", n&7) }, "count64": func(n int64) string { return strings.Repeat("+", int(n&7)) },
	"ptr":  func(s *string) string { return *s },
	"link": func(s string) string { return s }, "any": func(v any) (any, error) { return v, nil }, "nothing": func() string { return "nothing" },
	"fails": func(s string) (string, error) { return "", errors.New("it fails") }, "panics": func() string { panic("it does") },
	"plural": func(n int64, one, many string) string { return one + many },
	"few":    func(n int, one, many string) string { return strings.Repeat(one, n&3) + many }, "share": func(f *float64) string { return fmt.Sprint(*f) }, "three": func(b *bool) string { return fmt.Sprint(b != nil) },
	"size": func(n *int) string { return strings.Repeat("-", *n&7) }, "told": func(v any) (string, error) { return fmt.Sprint(v), nil }, "instant": func(v any) (any, error) { return (*inner)(nil), nil },
	"list": func(s ...string) []string { return s },
	"dict": func(pairs ...any) map[string]any { return map[string]any{pairs[0].(string): pairs[1]} },
}

// sources are templates that between them use all that is compiled, and what is not.
var sources = []string{
	`<p title="{{.Text}}">{{.Text}}</p>{{/* none */}} {{- .Number -}} x`,
	`<a href="{{.Text}}">{{link .Text}}</a><a href="/x?q={{.Text}}&amp;r={{.Number}}">{{.Address}}</a><a href="{{.Address}}">x</a><img src="/a/{{.Text}}.png">`,
	`<title>{{.Text}}{{.Markup}}</title><textarea>{{.Markup}}</textarea>{{.Markup}}<i title="{{.Markup}}">`,
	`<script>var x = {{.Text}}; var y = {{.Map}}</script><script type="application/ld+json">{{.List}}</script>`,
	`<script>var x = "{{.Text}}"</script><style>a { color: {{.Text}} }</style><a onclick="f({{.Text}})" style="{{.Text}}">`,
	`{{if .Text}}a{{else if .Number}}b{{else}}c{{end}}{{if not .Yes}}d{{end}}{{if and .Text .Number}}e{{end}}{{if or .None .Text}}f{{end}}`,
	`{{with .None}}a{{.}}{{else}}b{{end}}{{with .Some}}{{.}}{{end}}{{with $x := .Inner}}{{$x.Name}}{{.Shout}}{{end}}{{with .Map.key}}{{.}}{{end}}{{.Map.none}}`,
	`{{range .Texts}}<li>{{.}}</li>{{else}}none{{end}}{{range $i, $t := .Texts}}{{if $i}}, {{end}}{{$t}}{{end}}{{range $t := .List}}{{$t.Name}}{{$.Text}}{{end}}`,
	`{{range .List}}{{.Shout}}{{.Whisper}}{{.Name}}{{end}}{{.Pointer.Whisper}}{{.Inner.Shout}}{{(index .List 0).Name}}`,
	`{{range .Many}}[{{.}}]{{end}}{{.Named}}{{.Share}}{{.Long}}{{.Yes}}{{.None}}{{.Some}}{{.Any}}{{.Inner}}{{.Deep}}{{.Texts}}`,
	`{{$x := .Text}}{{$n := len .Texts}}{{if eq $n 3}}{{$x = "changed"}}{{end}}{{$x}}{{$n}}{{with .Inner}}{{$x := .Name}}{{$x}}{{end}}{{$x}}`,
	`{{define "part"}}<b>{{.}}</b>{{end}}{{define "rows"}}{{range .}}{{template "part" .}}{{end}}{{end}}{{template "rows" .Texts}}{{template "part" "constant"}}{{template "part"}}<a title="{{template "part" .Text}}">`,
	`{{eq .Text "a" "b"}}{{ne .Number 1}}{{lt .Number 2}}{{le .Number 2}}{{gt .Long 2}}{{ge .Number 2}}{{eq .Yes true}}{{eq .Named "a"}}{{len .Text}}{{eq .Text 1}}`,
	`{{double .Text}}{{.Text | double | double}}{{count .Number}}{{count64 .Long}}{{len .Texts | count}}{{ptr .Some}}{{any .Inner}}{{nothing}}{{plural 3 "a" "b"}}{{plural .Long .Text "x"}}`,
	`{{double .Some}}{{double .Any}}{{range list "a" .Text}}{{.}}{{end}}{{(dict "x" .Text).x}}{{with dict "y" 1}}{{.y}}{{end}}{{print .Text 1}}{{printf "%d %s" .Number .Text}}`,
	`a{{fails .Text}}b`, `a{{panics}}b`, `a{{.Missing}}b`, `a{{.None.Missing}}b`, `a{{.Inner.Fails}}b`, `a{{count .Text}}b`, `a{{ptr .None}}b`, `{{.Inner.Repeat 2}}`,
	`{{few 3 "a" .Text}}{{few .Number .Text "b"}}{{share .Part}}{{three .Sure}}{{size .Size}}{{told .Text}}{{told .Inner}}{{with instant .Text}}a{{else}}b{{end}}`, `a{{size .None}}b`, `a{{told nil}}b`, `a{{share nil}}b`,
	`<script>var x = {{.Texts}}/{{.Own}}/{{.Raw}}; y = {{.Nobody}}in{{.Any}}</script><script type="application/ld+json">{{.Own}}{{.Many}}</script><script type="application/ld+json">{{.Writes}}</script><p>{{.Writes}}</p><p title="{{.Own}}">{{.Own}}`,
	`{{.Chart.HTML}}{{with .Chart}}{{.HTML}}{{end}}{{$.Chart.HTML}}{{if .Chart.HTML}}a{{end}}<p title="{{.Named}}{{len .Chart.HTML}}">{{.Pointer.HTML}}`, `<p title="{{.Chart.HTML}}">`, `a{{.NoChart.HTML}}b`, `a{{.Chart}}`, `<title>{{.Chart.HTML}}</title><a href="{{.Chart.HTML}}">`,
	`{{range .Texts}}{{if eq . ""}}{{continue}}{{end}}{{.}}{{break}}{{end}}`, `{{range 3}}{{.}}{{end}}{{range $k, $v := .Map}}{{$k}}{{end}}`,
	`{{define "again"}}{{.}}{{if .}}{{template "again" ""}}{{end}}{{end}}{{template "again" .Text}}`, `{{define "ever"}}{{template "ever" .}}{{end}}{{if .Missing}}{{template "ever" 1}}{{end}}`,
	`a{{.Nil}}{{if .Nil}}b{{end}}{{with .Nil}}c{{else}}d{{end}}{{told .Nil}}{{.Nil | told}}{{(.Nil).Missing}}{{with $x := .Map}}{{$x.nil}}{{$x.none.more}}{{end}}{{len .Many}}{{eq .Nil .Nil}}`,
	`a{{.Nil.Missing}}b`, `a{{.Nil.Missing.More}}b`, `a{{.Map.nil.Missing}}b`, `a{{range .Many}}{{.Missing}}{{end}}b`, `a{{range $x := .Many}}{{$x}}{{with $y := $x}}{{$y}}{{end}}{{$x.Missing}}{{end}}b`, `a{{ptr .Nil}}b`, `a{{three .Nil}}b`,
	`a{{with $x := .Nil}}{{else}}{{$x.Missing}}{{end}}b`, `{{define "p"}}{{.Missing}}{{end}}a{{template "p" .Nil}}b`, `a{{range .Many}}{{template "q" .}}{{end}}b{{define "q"}}{{.}}{{end}}`, `a{{double .Nil}}b`, `a{{len .Nil}}b`, `a{{range .Nil}}c{{end}}b`, `a{{not .Nil}}{{and .Nil 1}}{{or .Nil 2}}b`,
	`{{html .Text}}{{.Text | urlquery}}{{js .Text}}{{block "b" .}}{{.Text}}{{end}}{{"a<b"}}{{1.5}}{{'x'}}{{0x10}}{{true}}`,
	`<{{.Text}}><a {{.Text}}="x" b={{.Text}}><!-- {{.Text}} --><img srcset="{{.Text}}">`, `<a title='{{.Text}}' href='{{.Text}}'>` + "`{{.Text}}`",
}

var called = regexp.MustCompile(`\{\{template ("(?:[^"\\]|\\.)*")`)

// recurses says whether a template may call itself, by others too.
func recurses(set *template.Template, name string, callers []string) bool {
	if slices.Contains(callers, name) {
		return true
	}
	t := set.Lookup(name)
	if t == nil || t.Tree == nil {
		return false
	}
	for _, call := range called.FindAllStringSubmatch(t.Tree.Root.String(), -1) {
		callee, err := strconv.Unquote(call[1])
		if err != nil || recurses(set, callee, append(callers, name)) {
			return true
		}
	}
	return false
}

// FuzzCompiled runs templates both ways: what html/template makes is made, and what it refuses is refused.
func FuzzCompiled(f *testing.F) {
	texts := []string{"", "a", "<b>&'\"+\x00\xff` \u2028", "javascript:alert(1)", "https://a.example/?b=c d&e='%41%zz'", "mailto:x", "//host/ä"}
	for i, source := range sources {
		for j, text := range texts {
			f.Add(source, text, i+j)
		}
	}
	f.Fuzz(func(t *testing.T, source, text string, n int) {
		if strings.Contains(source, "range") && strings.ContainsAny(source, "0123456789N") && strings.Count(source, "range") > 3 || len(source) > 2000 {
			t.Skip("loops over numbers within loops take long")
		}
		parsed, err := template.New("t").Funcs(funcs).Parse(source)
		if err != nil {
			t.Skip()
		}
		if recurses(parsed, "t", nil) && !slices.Contains(sources, source) {
			t.Skip("html/template calls itself a hundred thousand times before it gives up")
		}
		compiled, err := Compile(parsed, "t", funcs)
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range []any{dataOf(text, n), *dataOf(text, n), map[string]any{"Text": text, "Number": n}, text, nil} {
			want, wantErr := compiled.Interpreted().Append([]byte("before "), data)
			for range 2 { // the second run knows where the first found names
				got, err := compiled.Append([]byte("before "), data)
				if (err == nil) != (wantErr == nil) {
					t.Fatalf("%T: %v; html/template: %v", data, err, wantErr)
				}
				if diff := cmp.Diff(string(want), string(got)); err == nil && diff != "" {
					t.Errorf("%T (-html/template +compiled):\n%s", data, diff)
				}
			}
		}
	})
}

// TestCompiles says which templates are run by closures, so that a comparison with html/template compares something.
func TestCompiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		source string
		runs   bool
	}{
		{`{{.Text}}`, true}, {`<a href="/x?q={{.Text}}" title="{{.Number}}">{{.Text | double}}</a>`, true}, {`<title>{{.Text}}</title><script>var x = {{.Text}}</script>`, true},
		{`{{range $i, $t := .Texts}}{{$i}}{{$t}}{{end}}{{with $x := .Inner}}{{$x.Shout}}{{end}}`, true}, {`{{define "p"}}{{.}}{{end}}{{template "p" .Text}}`, true},
		{`{{and .Text .Yes | not}}`, true}, {`{{(dict "x" .Text).x}}{{plural 3 "a" "b"}}{{ptr nil}}`, true},
		{`{{range .Texts}}{{break}}{{end}}`, false}, {`<style>{{.Text}}</style>`, false}, {`{{index .Texts 0}}`, false}, {`{{define "p"}}{{.}}{{end}}<a title="{{template "p" .Text}}">`, false}, {`{{.Chart.HTML}}`, true}, {`{{html .Text}}`, false},
	} {
		c, err := Compile(template.Must(template.New("t").Funcs(funcs).Parse(tt.source)), "t", funcs)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Why() == nil; got != tt.runs {
			t.Errorf("%s: compiled is %v, want %v: %v", tt.source, got, tt.runs, c.Why())
		}
		if _, ok := c.Interpreted().run(nil, nil); ok {
			t.Error("the interpreted one is compiled")
		}
	}
	if _, err := Compile(template.New("t"), "other", nil); err == nil {
		t.Error("a template that is not there compiles")
	}
}

// TestConstants are worked out once.
func TestConstants(t *testing.T) {
	t.Parallel()
	calls := 0
	funcs := template.FuncMap{"once": func(s string) string { calls++; return s }}
	c, err := Compile(template.Must(template.New("t").Funcs(funcs).Parse(`<p>{{once "a" | once}}</p>{{define "p"}}{{.}}{{end}}{{template "p" once "<"}}`)), "t", funcs)
	if err != nil {
		t.Fatal(err)
	}
	calls = 0
	for range 3 {
		if got, err := c.Append(nil, 1); err != nil || string(got) != "<p>a</p>&lt;" {
			t.Fatalf("%s, %v", got, err)
		}
	}
	if calls != 0 || len(c.body.ops) != 1 {
		t.Errorf("%d calls while it ran, of %d parts", calls, len(c.body.ops))
	}
}
