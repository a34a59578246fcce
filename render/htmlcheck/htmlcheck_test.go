package htmlcheck_test

import (
	"strings"
	"testing"

	"tollbook/render/htmlcheck"
)

const page = `<!DOCTYPE html><title>A page</title><main><h1>One  <b>title</b></h1>
<ul><li><a href="/a">first</a></li><li><a href="/b">second&nbsp;one</a></li></ul></main>`

func TestRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		check htmlcheck.Checker
		want  string // part of the error, "" for none
	}{
		{"text over inner markup", htmlcheck.In("h1", htmlcheck.IsText("One title")), ""},
		{"part of a text", htmlcheck.In("main", htmlcheck.HasText("title first")), ""},
		{"blank between blocks", htmlcheck.In("ul", htmlcheck.IsText("first second one")), ""},
		{"hard blank", htmlcheck.Nth("li", 1, htmlcheck.IsText("second one")), ""},
		{"inner selector", htmlcheck.In("ul", htmlcheck.In("a", htmlcheck.HasAttr("href", "/a"))), ""},
		{"every one", htmlcheck.Each("li", htmlcheck.Count("a", 1)), ""},
		{"count", htmlcheck.Count("li", 2), ""},
		{"absent", htmlcheck.NotIn("script"), ""},
		{"absent text", htmlcheck.In("h1", htmlcheck.NoText("first")), ""},

		{"not found", htmlcheck.In("h2"), "h2: not found"},
		{"other text", htmlcheck.In("h1", htmlcheck.IsText("One")), `h1: text is "One title", want "One"`},
		{"text not held", htmlcheck.In("h1", htmlcheck.HasText("Two")), "does not hold"},
		{"unwanted text", htmlcheck.In("h1", htmlcheck.NoText("title")), "holds"},
		{"past the end", htmlcheck.Nth("li", 2), "only 2 found"},
		{"one of them not", htmlcheck.Each("a", htmlcheck.HasAttr("href", "/a")), `attribute href is "/b"`},
		{"no attribute", htmlcheck.In("li", htmlcheck.HasAttr("id", "x")), "attribute id"},
		{"wrong count", htmlcheck.Count("li", 3), "found 2, want 3"},
		{"present", htmlcheck.NotIn("ul"), "ul: found <ul>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := htmlcheck.Run([]byte(page), c.check)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestRunJoins(t *testing.T) {
	t.Parallel()
	err := htmlcheck.Run([]byte(page), htmlcheck.In("h2"), htmlcheck.In("h1"), htmlcheck.In("h3"))
	if got := err.Error(); got != "h2: not found\nh3: not found" {
		t.Errorf("got %q", got)
	}
}
