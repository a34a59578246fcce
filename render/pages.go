package render

import (
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	texttemplate "text/template"

	"tollbook/render/card"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/routes"
)

// Site contains the settings of a directory.
type Site struct {
	Title   string // "" is "Tollbook"
	BaseURL string // where the directory is reached, "https://tollbook.example"; a path in it goes before every link
	Contact string // an e-mail address or an http(s) address; "" shows none
	Sample  bool   // the data is made up, as every page then says

	Description   string            // a sentence about the directory; "" is standardDescription
	Colours       []string          // tokens of the stylesheet, "link=#7a1f5c", "dark.link=#ff9ad5"
	Explorers     map[string]string // URLs of accounts by CAIP-2 id, which networks in snapshots have
	Footer        string            // Markdown
	OperatorPages []OperatorPage    // pages that the operator wrote
	Templates     map[string][]byte // files that replace embedded ones, by TemplateNames
	KeyDirectory  []byte            // of the key that signs the crawler's requests; nil for none
}

// ContentSecurityPolicy allows what pages need and nothing else. Each page contains it, because some hosts send no such
// header. Scripts come from this server alone, and forms and requests are sent to it alone.
const ContentSecurityPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; " +
	"script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'"

// Pages contains the parsed templates of a directory. It is safe for concurrent use.
type Pages struct {
	site          Site
	prefix        string // the path of BaseURL
	assets        []Asset
	scripts       map[string]string             // keys of scripts by name: a kind of page, or siteScript
	styles        map[string]string             // keys of stylesheets by kind of page, "" for all others
	kinds         map[string]*template.Template // by kind of page
	parts         *template.Template            // layout.html and parts.html
	markdown      *texttemplate.Template        // files of templates/markdown
	frames        map[string]*frame             // by kind of page
	guides        []*guidePage
	operatorPages []*guidePage // guides that the operator wrote
	footer        template.HTML

	font        string // key of the typeface
	light, dark colourScheme
	colours     card.Colours    // of drawings
	icons       map[string]bool // keys of icons that exist
}

// Kinds of pages. Each is a file of package templates that defines "main".
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
	kindMatrix       = "matrix"

	kindReference = "reference"
	kindTypes     = "types"
)

// standardDescription describes a directory whose operator does not.
const standardDescription = "A directory of network services that charge per request over HTTP 402: measured " +
	"prices, uptime and changes."

// NewPages parses the templates. It returns an error for settings or templates that are invalid.
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
		return nil, fmt.Errorf("parse base address %.200q: not http://host or https://host with a path at most",
			s.BaseURL)
	}
	for name := range s.Templates {
		if _, ok := slices.BinarySearch(TemplateNames(), name); !ok {
			return nil, fmt.Errorf("template %.80q: there is none of this name to replace", name)
		}
	}
	p := &Pages{site: s, prefix: base.EscapedPath(), kinds: map[string]*template.Template{}}
	if p.assets, err = p.readAssets(); err != nil {
		return nil, err
	}
	layout, err := p.parse(template.New("").Funcs(p.funcs()), "layout.html", "parts.html")
	if err != nil {
		return nil, fmt.Errorf("parse layout: %w", err)
	}
	if layout.Lookup("layout") == nil || layout.Lookup(serviceRow) == nil {
		return nil, fmt.Errorf("parse layout: layout.html does not define %q, or parts.html %q", "layout", serviceRow)
	}
	for _, kind := range []string{kindHome, kindServices, kindService, kindStatus, kindReference, kindTypes, kindGuide,
		kindFacilitators, kindFacilitator, kindMatrix, kindMarket, kindFlow, kindCoverage, kindSources, kindSource, kindData,
		kindSubmit, kindSuggest, kindIncident,
		kindGroups, kindGroup, kindChanges, kindCompare, kindSearch, kindFailure, kindNotFound} {
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
	if err := p.readMarkdown(); err != nil {
		return nil, err
	}
	if err := p.readGuides(); err != nil {
		return nil, err
	}
	if err := p.readOperatorPages(); err != nil {
		return nil, err
	}
	if err := p.renderFrames(); err != nil {
		return nil, err
	}
	return p, nil
}

// Assets returns the files that pages refer to.
func (p *Pages) Assets() []Asset { return p.assets }

// href returns the link to a file. It names the file itself, so that pages work on any host, also on one that does not
// map addresses to files.
func (p *Pages) href(key string) string {
	if key == homeKey {
		return p.prefix + "/"
	}
	return p.prefix + "/" + key
}

const homeKey = "index.html"

// bareKey returns the key of a route without parameters.
func bareKey(route, slug string) string {
	return routes.Query{Route: routes.ByName(route), Slug: slug, Bare: true}.Key()
}

func serviceKey(slug string) string { return bareKey("service-page", slug) }

// listKey returns the key of the nth page of the list, newest first, from 1.
func listKey(n int) string { return orderedKey(site.OrderNewest, n) }
