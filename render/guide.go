package render

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"tollbook/site"
	"tollbook/site/display"
)

// guides are the pages written in Markdown, each a file of package templates. A file begins with its title, a heading
// of level 1, and a paragraph that says what it is about; headings of level 2 are its table of contents. A link to an
// address of the directory ("/reference", "/methodology#risk") is written as a reader would type it.
var guides = []struct{ route, file string }{
	{aboutRoute, "pages/about.md"},
	{methodologyRoute, "pages/methodology.md"},
	{"verify-page", "pages/verify.md"},
	{"hosting-page", "pages/hosting.md"},
	{"operations-page", "pages/operations.md"},
	{"configuration-page", "pages/configuration.md"},
	{"upgrading-page", "pages/upgrading.md"},
	{"troubleshooting-page", "pages/troubleshooting.md"},
	{"contributing-page", "pages/contributing.md"},
}

const (
	aboutRoute       = "about-page"
	methodologyRoute = "methodology-page"
)

// guide is one of them, rendered.
type guide struct {
	Key         string
	Title       string
	Description string
	Intro       template.HTML
	Contents    []heading
	Text        template.HTML
}

type heading struct{ ID, Text string }

// GuidePages are all of them as files.
func (e *Edition) GuidePages() ([]Asset, error) {
	var files []Asset
	for _, g := range e.pages.guides {
		data, err := e.render(page{Key: g.Key, Kind: kindGuide, Twin: true, Title: g.Title, Description: g.Description,
			Body: g})
		if err != nil {
			return nil, err
		}
		files = append(files, Asset{Key: g.Key, Bytes: data})
	}
	return files, nil
}

// readGuides renders the guides; p links to the tree.
func (p *Pages) readGuides() error {
	for _, g := range guides {
		source, err := p.guideSource(g.file)
		if err != nil {
			return err
		}
		out, err := p.guide(source)
		if err != nil {
			return fmt.Errorf("render %s: %w", g.file, err)
		}
		out.Key = bareKey(g.route, "")
		p.guides = append(p.guides, out)
	}
	return nil
}

// guideSource reads the Markdown of a guide, and writes into it what is this directory's own: its {{title}}, its
// {{address}}, and a sentence on its {{operator}}.
func (p *Pages) guideSource(file string) ([]byte, error) {
	source, err := p.read(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	title := display.Markdown(p.site.Title, display.MaxTitle)
	operator := title + " is run by whoever publishes it at <" + p.site.BaseURL +
		"/>, who has left no address for letters here."
	if contact := p.site.Contact; display.Link(contact) != "" || strings.Contains(contact, "@") &&
		!strings.ContainsAny(contact, "<> ") {
		operator = "The operator of " + title + ", who publishes it at <" + p.site.BaseURL + "/>, is reached at <" +
			contact + ">."
	}
	return []byte(strings.NewReplacer("{{title}}", title, "{{address}}", p.site.BaseURL+"/", "{{operator}}",
		operator).Replace(string(source))), nil
}

// newMarkdown knows CommonMark with tables, and no HTML: what looks like a tag is text.
func newMarkdown() goldmark.Markdown {
	without := func(list []util.PrioritizedValue, one any) []util.PrioritizedValue {
		return slices.DeleteFunc(list, func(v util.PrioritizedValue) bool { return v.Value == one })
	}
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(without(parser.DefaultBlockParsers(), parser.NewHTMLBlockParser())...),
			parser.WithInlineParsers(without(parser.DefaultInlineParsers(), parser.NewRawHTMLParser())...),
			parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...), parser.WithAutoHeadingID(),
		)),
		goldmark.WithExtensions(extension.Table),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(tableRenderer{}, 100))),
	)
}

// guide renders a Markdown document.
func (p *Pages) guide(source []byte) (*guide, error) {
	md := newMarkdown()
	ids := headingIDs{"main": true} // the page's own
	doc := md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(ids))))
	g := &guide{}
	if err := p.prepare(doc, source, g); err != nil {
		return nil, err
	}
	title, ok := doc.FirstChild().(*ast.Heading)
	if !ok || title.Level != 1 {
		return nil, errors.New("line 1: it does not begin with a heading of level 1")
	}
	intro, ok := title.NextSibling().(*ast.Paragraph)
	if !ok {
		return nil, errors.New("line 1: no paragraph follows its title")
	}
	g.Title, g.Description = plainText(title, source), plainText(intro, source)
	doc.RemoveChild(doc, title)
	doc.RemoveChild(doc, intro)
	for _, part := range []struct {
		node ast.Node
		to   *template.HTML
	}{{intro, &g.Intro}, {doc, &g.Text}} {
		var b bytes.Buffer
		if err := md.Renderer().Render(&b, source, part.node); err != nil {
			return nil, err
		}
		*part.to = template.HTML(b.String()) // escaped by the renderer, which lets no HTML through
	}
	return g, nil
}

// prepare collects headings, names tables, makes links lead into the tree, and takes out what a page may not have:
// images and links that are not http, https or mailto.
func (p *Pages) prepare(doc ast.Node, source []byte, g *guide) error {
	var images []ast.Node
	under, captions := "", map[string]int{}
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			under = plainText(n, source)
			if id, ok := n.AttributeString("id"); ok && n.Level == 2 {
				g.Contents = append(g.Contents, heading{string(id.([]byte)), under})
			}
		case *extast.Table:
			captions[under]++
			caption := under
			if again := captions[under]; again > 1 { // two boxes that scroll may not have one name
				caption = fmt.Sprintf("%s, %d", under, again)
			}
			n.SetAttributeString("caption", []byte(caption))
		case *extast.TableHeader:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				c.SetAttributeString("scope", []byte("col"))
			}
		case *ast.Link:
			to, err := p.destination(string(n.Destination))
			if err != nil {
				return ast.WalkStop, fmt.Errorf("line %d: %w", lineOf(n, source), err)
			}
			n.Destination = []byte(to)
		case *ast.Image:
			images = append(images, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range images {
		n.Parent().ReplaceChild(n.Parent(), n, ast.NewString([]byte(plainText(n, source))))
	}
	return err
}

// destination is where a link of a guide leads: a place on the page, a file of the tree, or another site.
func (p *Pages) destination(to string) (string, error) {
	path, fragment, found := strings.Cut(to, "#")
	if found {
		fragment = "#" + fragment
	}
	switch {
	case path == "" && found:
		return fragment, nil
	case strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//"):
		q, err := site.ParseRequest(path, "")
		if err != nil {
			return "", fmt.Errorf("link to %s: %w", to, err)
		}
		if key := q.Key(); strings.HasPrefix(key, "pages/") && !p.hasText(key) {
			return "", fmt.Errorf("link to %s: there is no such page", to)
		}
		return p.href(q.Key()) + fragment, nil
	case display.Link(to) != "", strings.HasPrefix(to, "mailto:"):
		return to, nil
	}
	return "", fmt.Errorf("link to %s: not an address of the directory, http, https or mailto", to)
}

// plainText is what a node says, without markup.
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

// headingIDs makes ids of headings: letters, digits and underscores in lower case, anything else a hyphen; a number
// after those that are taken.
type headingIDs map[string]bool

func (ids headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	words := strings.FieldsFunc(strings.ToLower(string(value)), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_')
	})
	id := strings.Join(words, "-")
	if id == "" {
		id = "section"
	}
	for stem, n := id, 2; ids[id]; n++ {
		id = fmt.Sprintf("%s-%d", stem, n)
	}
	ids[id] = true
	return []byte(id)
}

func (ids headingIDs) Put(value []byte) { ids[string(value)] = true }

// tableRenderer writes a table with a caption, in a box of its own that scrolls where the screen is narrow.
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
