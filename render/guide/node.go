package guide

import (
	"cmp"
	"fmt"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// plainText returns the text of a node without markup.
func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// lineOf returns the line of the source, from 1, at which a node begins.
func lineOf(n ast.Node, source []byte) int {
	at := -1
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			at = t.Segment.Start
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	for ; at < 0 && n != nil; n = n.Parent() {
		if n.Type() != ast.TypeInline && n.Lines() != nil && n.Lines().Len() > 0 {
			at = n.Lines().At(0).Start
		}
	}
	return 1 + strings.Count(string(source[:max(at, 0)]), "\n")
}

// headingIDs generates the ids of headings: letters, digits and underscores in lower case, a hyphen for anything else.
// An id that is in use gets a number.
type headingIDs map[string]bool

func (ids headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	words := strings.FieldsFunc(strings.ToLower(string(value)), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_')
	})
	id := cmp.Or(strings.Join(words, "-"), "section")
	for stem, n := id, 2; ids[id]; n++ {
		id = fmt.Sprintf("%s-%d", stem, n)
	}
	ids[id] = true
	return []byte(id)
}

func (ids headingIDs) Put(value []byte) { ids[string(value)] = true }

// tableRenderer writes a table with a caption, in a region that scrolls on a narrow screen.
type tableRenderer struct{}

func (tableRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(extast.KindTable, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			_, err := w.WriteString("</table></section>\n")
			return ast.WalkContinue, err
		}
		caption, _ := n.AttributeString("caption")
		text, _ := caption.([]byte)
		label := html.EscapeString(string(text))
		_, err := w.WriteString(`<section class="scroll" tabindex="0" aria-label="` + label + `"><table>` + "\n" +
			`<caption class="hidden">` + label + "</caption>\n")
		return ast.WalkContinue, err
	})
}
