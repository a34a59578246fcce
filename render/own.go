package render

import (
	"fmt"
	"html/template"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"tollbook/templates"
)

// Text is a page that an operator wrote in Markdown, as guides are written.
type Text struct {
	Name   string // "imprint" of pages/imprint.html
	Source []byte
}

// Names of icons that are drawn, not embedded: an operator may bring his own.
const (
	touchIconKey = "apple-touch-icon.png"
	oldIconKey   = "favicon.ico"
)

// fixedTemplate is a part of the submit page that serve fills in, which has no settings of a build.
const fixedTemplate = "submitform.html"

// TemplateNames are the files that an operator may replace, by the names that they have in package templates, sorted.
func TemplateNames() []string {
	names := []string{oldIconKey, touchIconKey}
	err := fs.WalkDir(templates.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && name != fixedTemplate {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		panic(err) // the files are embedded
	}
	slices.Sort(names)
	return names
}

// read is a file of the templates: the operator's own, else ours.
func (p *Pages) read(name string) ([]byte, error) {
	if data, own := p.site.Templates[name]; own {
		return data, nil
	}
	return templates.FS.ReadFile(name)
}

// parse adds files to t, each under its own name, which faults then tell with the line.
func (p *Pages) parse(t *template.Template, names ...string) (*template.Template, error) {
	for _, name := range names {
		data, err := p.read(name)
		if err == nil {
			_, err = t.New(name).Parse(string(data))
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

var textName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func textKey(name string) string { return "pages/" + name + ".html" }

// readTexts renders the operator's own pages, in the order of their names, and his footer.
func (p *Pages) readTexts() error {
	texts := slices.SortedFunc(slices.Values(p.site.Texts), func(a, b Text) int {
		return strings.Compare(a.Name, b.Name)
	})
	for i, t := range texts {
		file := t.Name + ".md"
		if !textName.MatchString(t.Name) || len(t.Name) > 60 || i > 0 && texts[i-1].Name == t.Name {
			return fmt.Errorf("page %.80q: its name is small letters and digits, with hyphens between them", file)
		}
		g, err := p.guide(t.Source)
		if err != nil {
			return fmt.Errorf("page %s: %w", file, err)
		}
		g.Key = textKey(t.Name)
		p.texts = append(p.texts, g)
		p.guides = append(p.guides, g)
	}
	var err error
	if p.footer, err = p.footing(); err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	return nil
}

// footing renders the operator's footer: paragraphs and lists, for there is no room for more.
func (p *Pages) footing() (template.HTML, error) {
	source := []byte(p.site.Footer)
	md := newMarkdown()
	doc := md.Parser().Parse(text.NewReader(source))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		switch n.Kind() {
		case ast.KindParagraph, ast.KindList, ast.KindTextBlock, ast.KindLinkReferenceDefinition:
		default:
			return "", fmt.Errorf("line %d: it has room for paragraphs and lists alone", lineOf(n, source))
		}
	}
	if err := p.prepare(doc, source, &guide{}); err != nil {
		return "", err
	}
	var b strings.Builder
	if err := md.Renderer().Render(&b, source, doc); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil // escaped by the renderer, which lets no HTML through
}

// hasText says whether a file is one of the operator's own pages.
func (p *Pages) hasText(key string) bool {
	return slices.ContainsFunc(p.site.Texts, func(t Text) bool {
		return textKey(t.Name) == key || twinKey(textKey(t.Name)) == key
	})
}

// lineOf is the line of the source, from 1, where a node begins.
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
