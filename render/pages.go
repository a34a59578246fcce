package render

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"sync"

	"tollbook/site"
	"tollbook/site/display"
)

// Site is what an operator says of a directory.
type Site struct {
	Title   string // "" is "Tollbook"
	BaseURL string // where the directory is reached, "https://tollbook.example"; a path in it goes before every link
	Contact string // an e-mail address or an http(s) address; "" shows none
	Sample  bool   // the data is made up, and every page says so

	Description string            // of the directory, in a sentence; "" is ours
	Colours     []string          // tokens of the stylesheet, "link=#7a1f5c", "dark.link=#ff9ad5"
	Footer      string            // Markdown
	Texts       []Text            // pages of the operator's own
	Templates   map[string][]byte // files in place of ours, by TemplateNames
}

// ContentSecurityPolicy is what the pages need of a browser, and nothing more. Each page states it too, for hosts that
// send no header. They ask for nothing by themselves; who judges a page reads robots.txt in its name.
const ContentSecurityPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"

// Pages are the parsed templates of a directory. It may be used by several goroutines.
type Pages struct {
	site   Site
	prefix string // the path of BaseURL
	assets []Asset
	script string // key of the submit page's
	finder string // key of the list's

	comparer string                        // key of the comparison's
	kinds    map[string]*template.Template // by kind of page
	parts    *template.Template            // layout.html and parts.html
	guides   []*guide
	texts    []*guide // those of guides that the operator wrote
	footer   template.HTML

	light, dark scheme
	icons       map[string]bool // keys of icons that there are
}

// kinds of pages: each is a file of package templates that defines "main".
const (
	kindHome     = "home"
	kindServices = "services"
	kindService  = "service"
	kindStatus   = "status"
	kindNotFound = "404"
	kindFailure  = "500"
	kindGuide    = "guide"

	kindFacilitators = "facilitators"
	kindFacilitator  = "facilitator"
	kindCoverage     = "coverage"

	kindReference = "reference"
)

// standardDescription is a directory in a sentence where its operator has none of his own.
const standardDescription = "A directory of network services that charge per request over HTTP 402: prices, uptime and changes, measured."

// NewPages parses the templates. It fails for a base address that is none.
func NewPages(s Site) (*Pages, error) {
	if s.Title == "" {
		s.Title = "Tollbook"
	}
	if s.Description == "" {
		s.Description = standardDescription
	}
	s.BaseURL = strings.TrimRight(s.BaseURL, "/")
	base, err := url.Parse(s.BaseURL)
	if err != nil || display.Link(s.BaseURL) == "" || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("parse base address %.200q: not http://host or https://host with a path at most", s.BaseURL)
	}
	for name := range s.Templates {
		if _, known := slices.BinarySearch(TemplateNames(), name); !known {
			return nil, fmt.Errorf("template %.80q: there is none of this name to replace", name)
		}
	}
	p := &Pages{site: s, prefix: base.EscapedPath(), kinds: map[string]*template.Template{}}
	if p.assets, err = p.readAssets(); err != nil {
		return nil, err
	}
	p.script, p.finder, p.comparer = p.assets[2].Key, p.assets[3].Key, p.assets[4].Key
	layout, err := p.parse(template.New("").Funcs(p.funcs()), "layout.html", "parts.html")
	if err != nil {
		return nil, fmt.Errorf("parse layout: %w", err)
	}
	if layout.Lookup("layout") == nil || layout.Lookup(serviceRow) == nil {
		return nil, fmt.Errorf("parse layout: layout.html does not define %q, or parts.html %q", "layout", serviceRow)
	}
	for _, kind := range []string{kindHome, kindServices, kindService, kindStatus, kindReference, kindGuide, kindFacilitators, kindFacilitator, kindCoverage, kindSubmit, kindGroups, kindGroup, kindChanges, kindCompare, kindFailure, kindNotFound} {
		t, err := layout.Clone()
		if err == nil {
			t, err = p.parse(t, kind+".html")
		}
		if err == nil && t.Lookup("main") == nil {
			err = fmt.Errorf("%s.html does not define %q", kind, "main")
		}
		if err != nil {
			return nil, fmt.Errorf("parse page %s: %w", kind, err)
		}
		p.kinds[kind] = t
	}
	p.parts = layout
	if err := p.readGuides(); err != nil {
		return nil, err
	}
	if err := p.readTexts(); err != nil {
		return nil, err
	}
	return p, nil
}

// Assets are the files that pages refer to, by key.
func (p *Pages) Assets() []Asset { return p.assets }

// funcs are what templates may ask for: formats and links, no data.
func (p *Pages) funcs() template.FuncMap {
	return template.FuncMap{
		"at": display.At, "day": display.Day, "second": display.Second, "when": display.When,
		"count":   func(n int) string { return display.Number(int64(n)) },
		"count64": display.Number,
		"dollars": func(v any) (string, error) { return display.FormatDecimal(v, display.Dollars) }, "millis": display.Millis, "percent": display.Percent, "sure": display.Confidence, "rate": display.Rate,
		"plural":   func(n int, one, many string) string { return display.Plural(int64(n), one, many) },
		"plural64": display.Plural,
		"add":      func(a, b int) int { return a + b },
		"spaced":   func(code string) string { return strings.ReplaceAll(code, "_", " ") },
		"name":     display.Name, "short": display.Short, "link": display.Link,
		"blurb":       func(s string) string { return display.Line(s, display.MaxBlurb) },
		"description": func(s string) string { return display.Line(s, display.MaxDescription) },
		"code":        func(s string) string { return display.Line(s, display.MaxCode) },
		"line":        func(s string) string { return display.Line(s, display.MaxLine) },
		"href":        p.href,
		"address":     p.address,
		"home":        func() string { return p.prefix + "/" },
		"changes":     func() string { return p.href(bareKey(changesRoute, "")) },
		"categories":  func() string { return p.href(bareKey(categoriesRoute, "")) },
		"networks":    func() string { return p.href(bareKey(networksRoute, "")) },
		"list":        func(n int) string { return p.href(listKey(n)) },
		"three": func(b *bool) string {
			switch {
			case b == nil:
				return ""
			case *b:
				return "yes"
			}
			return "no"
		},
		"hundredths":  display.Share,
		"compare":     p.compared,
		"about":       func() string { return p.href(bareKey(aboutRoute, "")) },
		"service":     func(slug string) string { return p.href(serviceKey(slug)) },
		"status":      func() string { return p.href(bareKey("status-page", "")) },
		"json":        func(route string) string { return p.href(bareKey(route, "")) },
		"reference":   func() string { return p.href(bareKey(referenceRoute, "")) },
		"submit":      func() string { return p.href(bareKey(submitRoute, "")) },
		"methodology": func() string { return p.href(bareKey(methodologyRoute, "")) },
		"spans":       spans,
		"cents":       func(v any) (string, error) { return display.FormatDecimal(v, display.Cents) },
		"roughly":     func(v any) (string, error) { return display.FormatDecimal(v, display.Roughly) },
		"exactly":     func(v any) (string, error) { return display.FormatDecimal(v, display.Dollars) },
		"age":         display.Age,

		"facilitators": func() string { return p.href(bareKey(facilitatorsRoute, "")) },
		"facilitator":  func(id string) string { return p.href(facilitatorKey(id)) },
		"coverage":     func() string { return p.href(bareKey(coverageRoute, "")) },
		"dict":         dict,
	}
}

// href is the link to a file of the tree. Pages link to files by their own names, so that they work wherever the tree
// lies, on a host that maps no addresses too.
func (p *Pages) href(key string) string {
	if key == homeKey {
		return p.prefix + "/"
	}
	return p.prefix + "/" + key
}

const homeKey = "index.html"

// bareKey is the file of a route without parameters.
func bareKey(route, slug string) string {
	return site.Query{Route: site.ByName(route), Slug: slug, Bare: true}.Key()
}

func serviceKey(slug string) string { return bareKey("service-page", slug) }

// listKey is the file of the nth page of the list, newest first, from 1.
func listKey(n int) string { return orderedKey(site.OrderNewest, n) }

// dict gives a template that is called by another several named values.
func dict(pairs ...any) (map[string]any, error) {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		key, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: %v is no name", pairs[i])
		}
		m[key] = pairs[i+1]
	}
	return m, nil
}

// page is what the layout needs to know.
type page struct {
	Key         string // in the tree
	Kind        string
	Title       string
	Description string
	JSON        string  // key of the same as JSON, "" without
	Atom, Feed  string  // keys of its changes as Atom and as a JSON Feed, "" without
	Twin        bool    // there is the same as Markdown
	About       []thing // what the page is about
	Up          crumb   // the page above it, below the home page; none for those right below that
	NoIndex     bool
	Body        any // what the page's own template is given

	Site      Site
	Sheet     string // key of the stylesheet
	Icon      string
	Policy    string // ContentSecurityPolicy where it does not say
	Script    string // key of the page's script, "" without
	Canonical string
	Markdown  string    // key of the twin, "" without
	Now       site.Time // when the page's facts were so: the build's moment unless the page says otherwise
	Next      site.Time // when they may change; zero where nobody knows

	Linked   any    // About in the words of schema.org, nil for nothing
	Category string // whose picture stands for the page, "" for the directory's
	Picture  picture
	Touch    string // key of the icon for screens that show it among others, "" without
	OldIcon  string // key of the icon for programs that know no SVG, "" without
	Paper    string // grounds of the schemes, "" where the stylesheet does not say
	Dark     string
	Footer   template.HTML // the operator's
	Texts    []*guide      // the operator's own pages
}

// render makes a page of the edition, whose facts are of the build's moment unless it says otherwise.
func (e *Edition) render(p page) ([]byte, error) {
	if p.Now.IsZero() {
		p.Now, p.Next = e.snapshot.Now, e.snapshot.Next
	}
	return e.Surroundings.render(p)
}

// render makes a page that says itself when its facts were so.
func (e *Surroundings) render(p page) ([]byte, error) {
	p.Site = e.pages.site
	p.Sheet, p.Icon = e.pages.assets[0].Key, FaviconKey
	p.Policy = cmp.Or(p.Policy, ContentSecurityPolicy)
	p.Canonical = p.Site.BaseURL + strings.TrimPrefix(e.pages.href(p.Key), e.pages.prefix)
	cards, err := e.cards()
	if err != nil {
		return nil, err
	}
	p.Picture, p.Linked = cards.picture(p.Category), e.linked(&p)
	if e.pages.icons[touchIconKey] {
		p.Touch = touchIconKey
	}
	if e.pages.icons[oldIconKey] {
		p.OldIcon = oldIconKey
	}
	p.Paper, p.Dark = e.pages.light["paper"], e.pages.dark["paper"]
	p.Footer, p.Texts = e.pages.footer, e.pages.texts
	if p.Twin {
		p.Markdown = twinKey(p.Key)
	}
	b := pageBuffers.Get().(*bytes.Buffer)
	defer pageBuffers.Put(b)
	b.Reset()
	if err := e.pages.kinds[p.Kind].ExecuteTemplate(b, "layout", p); err != nil {
		return nil, fmt.Errorf("render %s: %w", p.Key, err)
	}
	return bytes.Clone(b.Bytes()), nil
}

// pageBuffers are reused: growing a buffer for each page takes a tenth of the page's time.
var pageBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
