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

// OperatorPage is a page that the operator wrote in Markdown, as guides are written.
type OperatorPage struct {
	Name   string // "imprint" of pages/imprint.html
	Source []byte
}

// Keys of icons that are drawn unless the operator has own ones.
const (
	touchIconKey = "apple-touch-icon.png"
	oldIconKey   = "favicon.ico"
)

// fixedTemplates are the parts of pages that serve renders without the settings of a build.
var fixedTemplates = []string{"form.html", "searchresults.html"}

// TemplateNames returns the names of the files that an operator may replace, sorted. They are the names in package
// templates.
func TemplateNames() []string {
	names := []string{oldIconKey, touchIconKey}
	err := fs.WalkDir(templates.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !slices.Contains(fixedTemplates, name) {
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

// read returns a file of the templates: that of the operator, or the embedded one.
func (p *Pages) read(name string) ([]byte, error) {
	if data, own := p.site.Templates[name]; own {
		return data, nil
	}
	return templates.FS.ReadFile(name)
}

// parse adds files to t. Each has its own name, which errors contain with the line.
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

// readOperatorPages renders the pages of the operator, sorted by name, and the footer.
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
		p.operatorPages = append(p.operatorPages, own)
		p.guides = append(p.guides, own)
	}
	var err error
	if p.footer, err = guide.ParseFooter([]byte(p.site.Footer), p.linkAddress); err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	return nil
}

// hasOperatorPage returns whether a key is that of a page of the operator.
func (p *Pages) hasOperatorPage(key string) bool {
	return slices.ContainsFunc(p.site.OperatorPages, func(t OperatorPage) bool {
		return operatorPageKey(t.Name) == key || markdownKey(operatorPageKey(t.Name)) == key
	})
}
