package snapshot

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Page returns the pairs of terms and values on a page, as an object: the lines "- Term: value" of a Markdown page, and
// the definitions (dt, dd) of an HTML page. The first value of a term counts.
func (s *Snapshot) Page(name string) Node {
	if n, ok := s.Trees[name]; ok {
		return n
	}
	pairs := map[string]any{}
	add := func(term, value string) {
		if _, ok := pairs[term]; !ok && term != "" {
			pairs[term] = value
		}
	}
	if strings.HasSuffix(name, ".md") {
		for line := range strings.Lines(string(s.Bytes[name])) {
			if term, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), ": "); ok {
				add(term, plainText(value))
			}
		}
	} else if root, err := html.Parse(bytes.NewReader(s.Bytes[name])); err == nil {
		term := ""
		for n := range root.Descendants() {
			switch n.DataAtom {
			case atom.Dt:
				term, _, _ = strings.Cut(textOf(n), " (") // without the asset
			case atom.Dd:
				add(term, textOf(n))
				term = ""
			}
		}
	}
	s.Trees[name] = Node{File: name, Value: pairs}
	return s.Trees[name]
}

// textOf returns the text of an HTML element.
func textOf(n *html.Node) string {
	var b strings.Builder
	for child := range n.Descendants() {
		if child.Type == html.TextNode {
			b.WriteString(child.Data)
		}
	}
	return plainText(b.String())
}

// plainText returns a text with single blanks.
func plainText(text string) string { return strings.Join(strings.Fields(text), " ") }
