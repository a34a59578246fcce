package render_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/render"
	"tollbook/site"
)

// TestCompiled makes every page both ways: by compiled templates and by html/template.
func TestCompiled(t *testing.T) {
	t.Parallel()
	for _, s := range []render.Site{
		{BaseURL: "https://tollbook.example", Contact: "hello@tollbook.example"},
		{BaseURL: "http://host/under/a%20path", Title: hostile, Description: hostile, Contact: "https://contact.example/?a=1&b='2'", Sample: true, Footer: "*Mine* & [more](https://more.example/)",
			Texts: []render.Text{{Name: "imprint", Source: []byte("# Imprint\n\nMe.")}}},
	} {
		p := newPages(t, s)
		if why := p.Uncompiled(); len(why) > 0 {
			t.Errorf("html/template has to make %v", why)
		}
		for _, snapshot := range []*site.Snapshot{world(), {Now: site.NewTime(now)}} {
			fast, slow := everyPage(t, p.Edition(snapshot), snapshot), everyPage(t, p.Interpreted().Edition(snapshot), snapshot)
			if len(fast) < 15 {
				t.Fatalf("%d pages", len(fast))
			}
			for name := range fast {
				if !bytes.Equal(fast[name], slow[name]) {
					t.Errorf("%s (-html/template +compiled):\n%s", name, cmp.Diff(string(slow[name]), string(fast[name])))
				}
			}
		}
	}
}

// everyPage renders all pages of a snapshot, by name.
func everyPage(t testing.TB, e *render.Edition, s *site.Snapshot) map[string][]byte {
	t.Helper()
	pages := map[string][]byte{}
	put := func(name string, page []byte, err error) {
		if err != nil {
			t.Fatalf("render %s: %v", name, err)
		}
		pages[name] = page
	}
	for name, f := range map[string]func() ([]byte, error){
		"home": e.Home, "status": e.StatusPage, "404": e.NotFound, "500": e.Failure, "changes": e.ChangesPage, "compare": e.ComparePage, "coverage": e.CoveragePage,
		"facilitators": e.FacilitatorsPage, "categories": e.CategoriesPage, "networks": e.NetworksPage, "submit": e.Submit,
	} {
		page, err := f()
		put(name, page, err)
	}
	guides, err := e.GuidePages()
	put("guides", nil, err)
	for _, g := range guides {
		put(g.Key, g.Bytes, nil)
	}
	for i := range s.Facilitators {
		page, err := e.FacilitatorPage(&s.Facilitators[i])
		put("facilitator "+s.Facilitators[i].FacilitatorID, page, err)
	}
	for _, g := range e.Groups() {
		page, err := e.GroupPage(g, 1)
		put(g.Key(1), page, err)
	}
	items := make([]*site.ServiceListItem, len(s.Services))
	for i := range items {
		items[i] = &s.Services[i].Item
	}
	page, err := e.ServicesPage(items, site.NewPaginationMeta(200, 2, 20), site.OrderNewest)
	put("services", page, err)
	many := thousand()
	for _, l := range append([]site.Listing{many}, s.Services...) {
		page, err := e.ServicePage(&l)
		put("service "+l.Item.Slug, page, err)
	}
	return pages
}
