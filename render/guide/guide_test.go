package guide

import (
	"errors"
	"strings"
	"testing"
)

// link knows one address.
func link(address string) (string, error) {
	if address != "/reference" {
		return "", errors.New("no such page")
	}
	return "/dir/reference.html", nil
}

// TestParse checks that Markdown becomes text of a page and cannot add markup, images or scripts.
func TestParse(t *testing.T) {
	t.Parallel()
	const head = "# A *guide*\n\nWhat it says,\nin short.\n\n"
	for _, c := range []struct{ name, text, want string }{
		{"a heading has an id", "## The price_sane rule!", `<h2 id="the-price_sane-rule">`},
		{"ids are unique", "## One\n\n## One\n\n## Main",
			`<h2 id="one-2">One</h2>` + "\n" + `<h2 id="main-2">`},
		{"a heading without letters", "## …", `<h2 id="section">`},
		{"a table has a caption, scopes and its own region", "## Kinds\n\n| A | B |\n| - | - |\n| 1 | 2 |",
			`<section class="scroll" tabindex="0" aria-label="Kinds"><table>` + "\n" +
				`<caption class="hidden">Kinds</caption>` + "\n<thead>\n<tr>\n" + `<th scope="col">A</th>`},
		{"an address of the directory", "[x](/reference#tag-Services)", `<a href="/dir/reference.html#tag-Services">`},
		{"a heading of the page", "[x](#one)", `<a href="#one">`},
		{"a part that moved to another page keeps its address", "- [x](/reference#one): text",
			`<a href="/dir/reference.html#one" id="one">x</a>: text`},
		{"a heading has its id first", "- [x](/reference#one)\n\n## One", `<a href="/dir/reference.html#one">x</a>`},
		{"another site", "[x](https://example.com/a?b=c)", `<a href="https://example.com/a?b=c">`},
		{"a tag becomes text", "<script>alert(1)</script>\n\na <b onclick=x>b</b>",
			"<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>"},
		{"an image becomes its words", "![see *this*](https://example.com/x.png)", "<p>see this</p>"},
	} {
		g, err := Parse([]byte(head+c.text+"\n"), link)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !strings.Contains(string(g.Text), c.want) {
			t.Errorf("%s: %s\ndoes not contain %s", c.name, g.Text, c.want)
		}
		if g.Title != "A guide" || g.Description != "What it says, in short." ||
			strings.Contains(string(g.Text), "A guide") {
			t.Errorf("%s: title %q, description %q, text %q", c.name, g.Title, g.Description, g.Text)
		}
	}
	for name, text := range map[string]string{
		"no title": "Text.\n", "no introduction": "# Title\n\n## Next\n", "a link to nothing": head + "[x](/nowhere)",
		"a script": head + "[x](javascript:alert(1))", "data": head + "[x](data:text/html,x)",
		"a file":       head + "[x](file:///etc/passwd)",
		"another host": head + "[x](//example.com/)", "relative": head + "[x](reference)",
	} {
		if g, err := Parse([]byte(text), link); err == nil {
			t.Errorf("%s: no error, text %s", name, g.Text)
		}
	}
}

// TestParseFooter checks that a footer has paragraphs and lists alone.
func TestParseFooter(t *testing.T) {
	t.Parallel()
	const want = "<p>Run by <a href=\"/dir/reference.html\">us</a>.</p>\n<ul>\n<li>&lt;b&gt;</li>\n</ul>\n"
	if got, err := ParseFooter([]byte("Run by [us](/reference).\n\n- <b>\n"), link); err != nil || string(got) != want {
		t.Errorf("footer %q, %v, want %q", got, err, want)
	}
	for source, want := range map[string]string{
		"One\n\n# Two":         "line 3: use only paragraphs and lists",
		"One\n\n[x](/nowhere)": "line 3: link to /nowhere: no such page",
	} {
		if got, err := ParseFooter([]byte(source), link); err == nil || err.Error() != want {
			t.Errorf("footer %q: %q, %v, want %s", source, got, err, want)
		}
	}
}
