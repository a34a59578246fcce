package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	. "tollbook/render/htmlcheck"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// operator writes the folder of testdata/operator.txtar and returns its configuration file. The map changed replaces
// files; "" removes one.
func operator(t *testing.T, changed map[string]string) string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/operator.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	for name, text := range changed {
		files[name] = text
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "tollbook.toml")
}

// TestOperator checks that an operator's configuration, pages and templates appear on the built pages. The pages must
// stay safe.
func TestOperator(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	data := t.TempDir()
	config := operator(t, nil)
	list := writeFile(t, "services.json", listOfServices(2, "Sums."))
	for _, args := range [][]string{{"services", "import", list, "--data", data},
		{"build", "--data", data, "--config", config}} {
		if code, _, stderr := tollbook(t, env, args...); code != 0 {
			t.Fatalf("tollbook %s: exit %d\n%s", strings.Join(args, " "), code, stderr)
		}
	}
	read := func(key string) []byte {
		t.Helper()
		page, err := os.ReadFile(filepath.Join(data, "public", "current", filepath.FromSlash(key)))
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	foot := In("footer .own", In("h2", IsText("Tolls & Turnpikes")),
		Nth("p", 0, IsText("Run by the turnpike trust: imprint, rules, <b>no tags</b>."), In("em"), NotIn("b"),
			In("a[href='/dir/pages/imprint.html']"), In("a[href='/dir/methodology.html#risk']")),
		Nth("p", 1, IsText("Imprint · Terms"), In("a[href='/dir/pages/terms.html']", IsText("Terms"))))
	for key, checks := range map[string][]Checker{
		"index.html": {In("title", IsText("Tolls & Turnpikes")),
			In("meta[name=description]", HasAttr("content", "Every paid endpoint that we know, priced.")),
			In("meta[name=theme-color][media*=dark]", HasAttr("content", "#14171c")), foot},
		"pages/imprint.html": {In("title", IsText("Imprint · Tolls & Turnpikes")), In("h1", IsText("Imprint")),
			In("h2#address"), In("main a[href='mailto:desk@tolls.example']"),
			In("main a[href='/dir/pages/terms.html']"), NotIn("main script"),
			In("main", HasText("<script>alert(1)</script>")),
			In("link[rel=canonical]", HasAttr("href", "https://tolls.example/dir/pages/imprint.html")),
			In("link[type='text/markdown']", HasAttr("href", "/dir/pages/imprint.md")), foot},
		"404.html": {In("h1#lost", IsText("No such turnpike")),
			In("main p", IsText("Tolls & Turnpikes: all of them"), HasAttr("title", "Page not found")), foot},
		"about.html": {In("h1", IsText("About the trust"))},
	} {
		if err := Run(read(key), checks...); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	var stylesheet string
	if err := Run(read("index.html"), In("link[rel=stylesheet][href^='/dir/assets/site.']")); err != nil {
		t.Error(err)
	}
	names, err := filepath.Glob(filepath.Join(data, "public", "current", "assets", "site.*.css"))
	if err != nil || len(names) != 1 {
		t.Fatalf("stylesheets: %v, %v", names, err)
	}
	css, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if stylesheet = string(css); strings.Count(stylesheet, "--link:#7a1f5c") != 1 ||
		strings.Count(stylesheet, "--link:#ff9ad5") != 1 {
		t.Error("the stylesheet lacks the operator's colours")
	}
	for key, want := range map[string]string{
		"sitemap.xml":    "<loc>https://tolls.example/dir/pages/terms.html</loc>",
		"llms.txt":       "[Imprint](https://tolls.example/dir/pages/imprint.html): Who answers for these pages.",
		"pages/terms.md": "What you may expect.",
	} {
		if !strings.Contains(string(read(key)), want) {
			t.Errorf("%s lacks %s", key, want)
		}
	}
}

// TestOperatorFaults checks that a fault in a page, template, colour or footer is reported with its file and line.
// Nothing is started or published.
func TestOperatorFaults(t *testing.T) {
	t.Parallel()
	toml := func(line string) map[string]string {
		return map[string]string{"tollbook.toml": "[site]\n" + line + "\n"}
	}
	for name, tt := range map[string]struct {
		files map[string]string
		code  int
		want  string
	}{
		"a page that leads nowhere": {
			map[string]string{"own/pages/terms.md": "# Terms\n\nWhat.\n\n## A\n\nSee [it](/pages/nothing.html).\n"}, 1,
			"page terms.md: line 7: link to /pages/nothing.html: no such page"},
		"a page with a program": {
			map[string]string{"own/pages/terms.md": "# Terms\n\nWhat.\n\n- [it](javascript:alert)\n"}, 1,
			"page terms.md: line 5: link to javascript:alert"},
		"a page without a title": {map[string]string{"own/pages/terms.md": "Terms\n"}, 1,
			"page terms.md: line 1: begin with a heading of level 1"},
		"a page's name": {map[string]string{"own/pages/Über uns.md": "# A\n\nB.\n"}, 1,
			"its name is small letters and digits"},
		"no page": {map[string]string{"own/pages/logo.png": "x"}, 2,
			filepath.Join("own", "pages", "logo.png") + ": a folder of pages may contain only Markdown files"},
		"an unknown template": {map[string]string{"own/templates/hom.html": "x"}, 2,
			filepath.Join("own", "templates", "hom.html") +
				`: no template of Tollbook has this name; did you mean "home.html"?`},
		"the form, which serve fills in": {map[string]string{"own/templates/form.html": "x"}, 2,
			"no template of Tollbook has this name"},
		"a template that does not parse": {
			map[string]string{"own/templates/404.html": "{{define \"main\"}}\n\n{{if}}x{{end}}{{end}}"}, 1,
			"template: 404.html:3: missing value for if"},
		"a template with a function that is none": {
			map[string]string{"own/templates/404.html": "{{define \"main\"}}\n{{exec .}}{{end}}"}, 1,
			`template: 404.html:2: function "exec" not defined`},
		"a template without its part": {map[string]string{"own/templates/404.html": "<h1>Lost</h1>"}, 1,
			`404.html does not define "main"`},
		"a layout that is none": {map[string]string{"own/templates/layout.html": "<html>"}, 1,
			`layout.html does not define "layout"`},
		"colours that can't be read": {toml(`colours = ["ink=#dddddd"]`), 1,
			"in the light scheme ink #dddddd on paper"},
		"an unknown colour": {toml(`colours = ["lnk=#000000"]`), 1, "unknown token"},
		"an explorer of no network": {toml(`explorers = ["base=https://e.example/{address}"]`), 2,
			`--site-explorers: "base=https://e.example/{address}": begin with the CAIP-2 id of a known network`},
		"an explorer without an address": {toml(`explorers = ["eip155:8453=https://e.example/"]`), 2,
			"use an http or https URL with {address} where"},
		"an explorer that is a script": {toml(`explorers = ["eip155:8453=javascript:{address}"]`), 2,
			"use an http or https URL with {address} where"},
		"a footer with a heading": {toml("footer = \"One\\n\\n# Two\""), 1,
			"footer: line 3: use only paragraphs and lists"},
		"a folder that is not there": {toml(`pages = "nowhere"`), 2, "nowhere: no such file or directory"},
		"a file in place of a folder": {toml(`templates = "tollbook.toml"`), 2,
			"tollbook.toml is not a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			code, stdout, stderr := tollbook(t, []string{"DATABASE_URL=postgres://nobody@127.0.0.1:1/none"}, "build",
				"--data", data, "--config", operator(t, tt.files))
			if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit %d, want %d; stderr\n%swant\n%s", code, tt.code, stderr, tt.want)
			}
			checkEmpty(t, data)
		})
	}
}

// TestOperatorVariable checks that variables and flags set the same values as the file.
func TestOperatorVariable(t *testing.T) {
	t.Parallel()
	const colours = "link=#000000,dark.link=#000000"
	for name, tt := range map[string]struct{ env, args []string }{
		"a variable": {env: []string{"TOLLBOOK_SITE_COLOURS=" + colours}},
		"a flag":     {args: []string{"--site-colours", colours}},
	} {
		env := append([]string{"DATABASE_URL=postgres://nobody@127.0.0.1:1/none"}, tt.env...)
		code, _, stderr := tollbook(t, env, append([]string{"build", "--data", filepath.Join(t.TempDir(), "data")},
			tt.args...)...)
		if want := "in the dark scheme link #000000 on paper"; code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, stderr\n%swant %s", name, code, stderr, want)
		}
	}
}

// TestOperatorBrokenPage checks that a template that parses but uses a missing field fails the build with its line. The
// previous snapshot stays current.
func TestOperatorBrokenPage(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	data := t.TempDir()
	if code, _, stderr := tollbook(t, env, "build", "--data", data); code != 0 {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	before := published(t, data)
	config := operator(t,
		map[string]string{"own/templates/404.html": "{{define \"main\"}}\n<h1>x</h1>\n{{.Body.Nothing.Here}}{{end}}"})
	fails(t, env, "404.html:3:", "build", "--data", data, "--config", config)
	if after := published(t, data); after != before {
		t.Errorf("snapshot %s took the place of %s", after, before)
	}
}

// TestOperatorBrokenService checks the same for the page of every service. These pages are rendered in parallel, and
// the first failure ends the build.
func TestOperatorBrokenService(t *testing.T) {
	testgate.All(t)
	t.Parallel()
	own := t.TempDir()
	if err := os.WriteFile(filepath.Join(own, "service.html"), []byte("{{define \"main\"}}\n{{.Body.Nothing}}{{end}}"),
		0o600); err != nil {
		t.Fatal(err)
	}
	data := copyDemo(t)
	for range 3 {
		code, _, stderr := tollbook(t, nil, "demo", "--data", data, "--site-templates", own, "--listen", "127.0.0.1:0")
		if code != 1 || !strings.Contains(stderr, "service.html:2:") || strings.Contains(stderr, "panic") {
			t.Errorf("exit %d, want 1; stderr\n%swant service.html:2:", code, stderr)
		}
	}
}
