package render

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"strings"
	"sync"

	"tollbook/site"
)

// page is the value of the layout's template.
type page struct {
	Key         string // in the tree
	Kind        string
	Title       string
	Description string
	JSON        string     // key of the same as JSON, "" without
	Atom, Feed  string     // keys of its changes as Atom and as a JSON Feed, "" without
	HasMarkdown bool       // the page exists as Markdown too
	About       []entity   // what the page is about
	Up          breadcrumb // the parent page; none if that is the home page
	NoIndex     bool
	Category    string // whose picture is the page's, "" for the directory's
	Card        string // key of the page's own picture in previews of links; "" without one
	Preview     string // title in previews of links; Title unless set
	Body        any    // the value of the page's own template

	Site       Site
	Frame      *frame
	Policy     string // ContentSecurityPolicy
	Script     string // key of the page's own script, "" without
	Canonical  string
	Markdown   string    // key of the Markdown page, "" without
	Now        site.Time // the time of the page's facts; the snapshot's unless set
	Next       site.Time // when they may change; zero if unknown
	LinkedData any       // About in the words of schema.org, nil for nothing
	Picture    picture
}

// frame contains the parts of the layout that are the same on all pages of a kind. Each is rendered once.
type frame struct {
	Links template.HTML // of the head: license, icons, stylesheet
	Theme template.HTML // of the head: colours
	Top   template.HTML // notice of sample data, navigation, the search field on all pages but the home page
	// the search field of the home page; its own template says where
	Search template.HTML
	Data   template.HTML // start of the footer, up to the links to the page's own data
	Foot   template.HTML // of the footer, after these links
}

// frameInput is the value of the templates of a frame.
type frameInput struct {
	Site          Site
	Kind          string // of the page
	Stylesheet    string // key of the stylesheet
	Script        string // key of the script of all pages
	LocalSearch   string // key of the script that searches where no server answers
	Font          string // key of the typeface
	Icon          string
	Touch         string // key of the icon for home screens, "" without
	OldIcon       string // key of the icon for programs that do not know SVG, "" without
	Paper         string // background of the light scheme, "" if the stylesheet does not say
	Dark          string // the same of the dark scheme
	Footer        template.HTML
	OperatorPages []*guidePage // the operator's own pages
}

// renderFrames renders the frames of all kinds of pages.
func (p *Pages) renderFrames() error {
	p.frames = map[string]*frame{}
	for kind := range p.kinds {
		var err error
		if p.frames[kind], err = p.renderFrame(kind); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pages) renderFrame(kind string) (*frame, error) {
	in := frameInput{
		Site: p.site, Kind: kind, Stylesheet: cmp.Or(p.styles[kind], p.styles[""]),
		Script: p.scripts[siteScript], LocalSearch: p.scripts[localScript], Font: p.font, Icon: FaviconKey,
		Paper: p.light["paper"], Dark: p.dark["paper"], Footer: p.footer, OperatorPages: p.operatorPages,
	}
	if p.icons[touchIconKey] {
		in.Touch = touchIconKey
	}
	if p.icons[oldIconKey] {
		in.OldIcon = oldIconKey
	}
	f := new(frame)
	for _, part := range []struct {
		name string
		to   *template.HTML
	}{
		{"frame-links", &f.Links}, {"frame-theme", &f.Theme}, {"frame-top", &f.Top}, {"frame-data", &f.Data},
		{"frame-foot", &f.Foot}, {"frame-search", &f.Search},
	} {
		var b strings.Builder
		if err := p.parts.ExecuteTemplate(&b, part.name, in); err != nil {
			return nil, fmt.Errorf("render %q of layout.html: %w", part.name, err)
		}
		*part.to = template.HTML(b.String()) // escaped by the template
	}
	return f, nil
}

// render returns a page. Its facts are as of the snapshot unless p.Now is set.
func (e *Renderer) render(p page) ([]byte, error) {
	if p.Now.IsZero() {
		p.Now, p.Next = e.snapshot.Now, e.snapshot.Next
	}
	return e.ServiceRenderer.render(p)
}

// render returns a page whose p.Now is set.
func (e *ServiceRenderer) render(p page) ([]byte, error) {
	p.Site, p.Frame = e.pages.site, e.pages.frames[p.Kind]
	p.Policy, p.Script = ContentSecurityPolicy, e.pages.scripts[p.Kind]
	p.Preview = cmp.Or(p.Preview, p.Title)
	p.Canonical = p.Site.BaseURL + strings.TrimPrefix(e.pages.href(p.Key), e.pages.prefix)
	cards, err := e.cards()
	if err != nil {
		return nil, err
	}
	p.Picture, p.LinkedData = cards.picture(&p), e.linkedData(&p)
	if p.HasMarkdown {
		p.Markdown = markdownKey(p.Key)
	}
	b := pageBuffers.Get().(*bytes.Buffer)
	defer pageBuffers.Put(b)
	b.Reset()
	if err := e.pages.kinds[p.Kind].ExecuteTemplate(b, "layout", p); err != nil {
		return nil, fmt.Errorf("render %s: %w", p.Key, err)
	}
	return bytes.Clone(b.Bytes()), nil
}

// pageBuffers are reused: growing a buffer takes a tenth of the time of a page.
var pageBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
