// Package guide renders guides and footers, which are written in Markdown, and the commands and programs that readers
// copy. HTML tags in Markdown become text, and images become their words.
//
// It must never know a route or a template.
package guide

import (
	"bytes"
	"errors"
	"fmt"
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

	"tollbook/site/display"
)

// Guide is a rendered guide.
type Guide struct {
	Title       string // the first heading
	Description string // the paragraph below it, without markup
	Intro       template.HTML
	Contents    []Heading // the headings of level 2
	Text        template.HTML
}

// Heading is a heading with the id that links lead to.
type Heading struct{ ID, Text string }

// LinkFunc returns the link to an address of the directory without its fragment: "/reference". It returns an error for
// an address that does not exist.
type LinkFunc func(address string) (string, error)

// Parse renders a guide. It begins with a heading of level 1 and a paragraph. Errors name the line.
func Parse(source []byte, link LinkFunc) (*Guide, error) { return parseGuide(source, link, false) }

// ParseLong is Parse for a guide that begins with a summary. The parts after the first are folded, and there is no
// table of contents.
func ParseLong(source []byte, link LinkFunc) (*Guide, error) { return parseGuide(source, link, true) }

func parseGuide(source []byte, link LinkFunc, fold bool) (*Guide, error) {
	md := newMarkdown()
	ids := headingIDs{"main": true} // the layout has this id
	doc := md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(ids))))
	g := &Guide{}
	if err := prepare(doc, source, link, g, ids); err != nil {
		return nil, err
	}
	title, ok := doc.FirstChild().(*ast.Heading)
	if !ok || title.Level != 1 {
		return nil, errors.New("line 1: begin with a heading of level 1, the title")
	}
	intro, ok := title.NextSibling().(*ast.Paragraph)
	if !ok {
		return nil, errors.New("line 1: put a paragraph after the title")
	}
	g.Title, g.Description = plainText(title, source), plainText(intro, source)
	doc.RemoveChild(doc, title)
	doc.RemoveChild(doc, intro)
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, source, intro); err != nil {
		return nil, err
	}
	g.Intro = template.HTML(b.String()) // the renderer escapes text, and the parser knows no HTML
	b.Reset()
	if err := render(&b, func(n ast.Node) error { return md.Renderer().Render(&b, source, n) }, doc, fold); err != nil {
		return nil, err
	}
	g.Text = template.HTML(b.String())
	if fold {
		g.Contents = nil // the folded parts are a table of contents
	}
	return g, nil
}

// render writes the parts of a document. With fold, each part after the first is folded below its heading.
func render(b *bytes.Buffer, write func(ast.Node) error, doc ast.Node, fold bool) error {
	if !fold {
		return write(doc)
	}
	parts := 0
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		h, isHeading := n.(*ast.Heading)
		if isHeading = isHeading && h.Level == 2; isHeading {
			if parts++; parts > 2 {
				b.WriteString("</details>\n")
			}
		}
		if isHeading && parts > 1 {
			b.WriteString(`<details class="fold part"><summary>`)
		}
		if err := write(n); err != nil {
			return err
		}
		if isHeading && parts > 1 {
			b.WriteString("</summary>\n")
		}
	}
	if parts > 1 {
		b.WriteString("</details>\n")
	}
	return nil
}

// ParseFooter renders a footer, which contains only paragraphs and lists. Errors name the line.
func ParseFooter(source []byte, link LinkFunc) (template.HTML, error) {
	md := newMarkdown()
	doc := md.Parser().Parse(text.NewReader(source))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		switch n.Kind() {
		case ast.KindParagraph, ast.KindList, ast.KindTextBlock, ast.KindLinkReferenceDefinition:
		default:
			return "", fmt.Errorf("line %d: use only paragraphs and lists", lineOf(n, source))
		}
	}
	if err := prepare(doc, source, link, &Guide{}, nil); err != nil {
		return "", err
	}
	var b strings.Builder
	if err := md.Renderer().Render(&b, source, doc); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil // the renderer escapes text, and the parser knows no HTML
}

// newMarkdown returns a parser and renderer of CommonMark with tables and without HTML.
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

// prepare collects headings, names tables, resolves links and replaces images by their words. A list item that begins
// with a link to a heading of another page gives the link that heading's id, unless ids has it: so an address from the
// time when this page had the heading leads to the link. Without ids no link has an id.
func prepare(doc ast.Node, source []byte, link LinkFunc, g *Guide, ids headingIDs) error {
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
				g.Contents = append(g.Contents, Heading{string(id.([]byte)), under})
			}
		case *extast.Table:
			captions[under]++
			caption := under
			if count := captions[under]; count > 1 { // two scrolling regions must not have the same name
				caption = fmt.Sprintf("%s, %d", under, count)
			}
			n.SetAttributeString("caption", []byte(caption))
		case *extast.TableHeader:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				c.SetAttributeString("scope", []byte("col"))
			}
		case *ast.Link:
			to, err := resolve(string(n.Destination), link)
			if err != nil {
				return ast.WalkStop, fmt.Errorf("line %d: %w", lineOf(n, source), err)
			}
			n.Destination = []byte(to)
			page, id, _ := strings.Cut(to, "#")
			if ids != nil && page != "" && id != "" && beginsItem(n) && !ids[id] {
				ids[id] = true
				n.SetAttributeString("id", []byte(id))
			}
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

// beginsItem reports whether a link is the first node of a list item.
func beginsItem(n *ast.Link) bool {
	block := n.Parent()
	return n.PreviousSibling() == nil && block.Parent() != nil && block.Parent().Kind() == ast.KindListItem &&
		block.PreviousSibling() == nil
}

// resolve returns the destination of a link: a heading of the page, a file of the directory, or another site.
func resolve(to string, link LinkFunc) (string, error) {
	address, fragment, hasFragment := strings.Cut(to, "#")
	if hasFragment {
		fragment = "#" + fragment
	}
	switch {
	case address == "" && hasFragment:
		return fragment, nil
	case strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//"):
		href, err := link(address)
		if err != nil {
			return "", fmt.Errorf("link to %s: %w", to, err)
		}
		return href + fragment, nil
	case display.Link(to) != "", strings.HasPrefix(to, "mailto:"):
		return to, nil
	}
	return "", fmt.Errorf("link to %s: use an address of the directory, http, https or mailto", to)
}
