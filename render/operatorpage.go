package render

import (
	"fmt"
	"html/template"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"tollbook/render/guide"
	"tollbook/templates"
)

// Text is a page that an operator wrote in Markdown, as guides are written.
type OperatorPage struct {
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

var operatorPageName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func operatorPageKey(name string) string { return "pages/" + name + ".html" }

// readTexts renders the operator's own pages, in the order of their names, and his footer.
func (p *Pages) readOperatorPages() error {
	texts := slices.SortedFunc(slices.Values(p.site.OperatorPages), func(a, b OperatorPage) int {
		return strings.Compare(a.Name, b.Name)
	})
	for i, t := range texts {
		file := t.Name + ".md"
		if !operatorPageName.MatchString(t.Name) || len(t.Name) > 60 || i > 0 && texts[i-1].Name == t.Name {
			return fmt.Errorf("page %.80q: its name is small letters and digits, with hyphens between them", file)
		}
		g, err := guide.Parse(t.Source, p.linkAddress)
		if err != nil {
			return fmt.Errorf("page %s: %w", file, err)
		}
		own := &guidePage{g, operatorPageKey(t.Name)}
		p.texts = append(p.texts, own)
		p.guides = append(p.guides, own)
	}
	var err error
	if p.footer, err = guide.ParseFooter([]byte(p.site.Footer), p.linkAddress); err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	return nil
}

// hasText says whether a file is one of the operator's own pages.
func (p *Pages) hasOperatorPage(key string) bool {
	return slices.ContainsFunc(p.site.OperatorPages, func(t OperatorPage) bool {
		return operatorPageKey(t.Name) == key || markdownKey(operatorPageKey(t.Name)) == key
	})
}
