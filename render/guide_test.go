package render

import (
	"strings"
	"testing"
)

func guidePages(t *testing.T) *Pages {
	t.Helper()
	p, err := NewPages(Site{BaseURL: "https://tollbook.example/dir"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestGuide: Markdown becomes a page's text, and nothing in it can bring markup, pictures or programs.
func TestGuide(t *testing.T) {
	t.Parallel()
	p := guidePages(t)
	const head = "# A *guide*\n\nWhat it says,\nin short.\n\n"
	for _, c := range []struct{ name, text, want string }{
		{"a heading has an id", "## The price_sane rule!", `<h2 id="the-price_sane-rule">`},
		{"ids are not taken twice", "## One\n\n## One\n\n## Main",
			`<h2 id="one-2">One</h2>` + "\n" + `<h2 id="main-2">`},
		{"a heading without letters", "## …", `<h2 id="section">`},
		{"a table has a caption, scopes and its own box", "## Kinds\n\n| A | B |\n| - | - |\n| 1 | 2 |",
			`<section class="scroll" tabindex="0" aria-label="Kinds"><table>` + "\n" +
				`<caption class="hidden">Kinds</caption>` + "\n<thead>\n<tr>\n" + `<th scope="col">A</th>`},
		{"an address of the directory", "[x](/reference#tag-Services)", `<a href="/dir/reference.html#tag-Services">`},
		{"a place on the page", "[x](#one)", `<a href="#one">`},
		{"another site", "[x](https://example.com/a?b=c)", `<a href="https://example.com/a?b=c">`},
		{"a tag is text", "<script>alert(1)</script>\n\na <b onclick=x>b</b>",
			"<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>"},
		{"a picture is its words", "![see *this*](https://example.com/x.png)", "<p>see this</p>"},
	} {
		g, err := p.guide([]byte(head + c.text + "\n"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !strings.Contains(string(g.Text), c.want) {
			t.Errorf("%s: %s\nlacks %s", c.name, g.Text, c.want)
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
		if g, err := p.guide([]byte(text)); err == nil {
			t.Errorf("%s became %s", name, g.Text)
		}
	}
}
