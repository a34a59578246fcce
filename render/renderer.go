package render

import (
	"fmt"
	"html/template"
	"sort"
	"strings"
	"sync"

	"tollbook/render/lists"
	"tollbook/render/money"
	"tollbook/site"
)

// Renderer renders the pages of a snapshot. It prepares once what all of them repeat, and is safe for concurrent use.
type Renderer struct {
	*ServiceRenderer
	snapshot     *site.Snapshot
	facilitators map[string]*site.FacilitatorDetail // by id
	search       *lists.Settings

	categories, networks []*Group
	positions            map[string]position // positions of services in their categories, by slug
	serviceRows          func() (map[string]template.HTML, error)
	filters              map[string]func() (template.HTML, error) // on the pages of all services, by order
}

// NewRenderer returns a renderer for a snapshot, which must not change while pages are rendered.
func (p *Pages) NewRenderer(s *site.Snapshot) *Renderer {
	e := &Renderer{snapshot: s, facilitators: make(map[string]*site.FacilitatorDetail, len(s.Facilitators))}
	for i := range s.Facilitators {
		e.facilitators[s.Facilitators[i].FacilitatorID] = &s.Facilitators[i]
	}
	e.categories, e.networks = groupsOf(s)
	e.positions = positionsOf(e.categories)
	e.ServiceRenderer = p.newServiceRenderer(e)
	e.search = e.searchSettings()
	for _, g := range e.Groups() {
		g.filters = e.groupFilters(g)
	}
	e.filters = map[string]func() (template.HTML, error){}
	for _, order := range site.PageOrders {
		e.filters[order] = sync.OnceValues(func() (template.HTML, error) { return e.listFilters(order) })
	}
	e.serviceRows = sync.OnceValues(e.renderServiceRows)
	return e
}

// Assets returns the files that pages refer to.
func (e *Renderer) Assets() []Asset { return e.pages.assets }

// service returns the listing of a service, nil if the snapshot has none.
func (e *Renderer) service(slug string) *site.Listing {
	all := e.snapshot.Services
	i := sort.Search(len(all), func(i int) bool { return all[i].Item.Slug >= slug })
	if i == len(all) || all[i].Item.Slug != slug {
		return nil
	}
	return &all[i]
}

// row is a service in a list.
type row struct {
	*site.ServiceListItem
	Chips    []money.Chip
	Category string // key of its category's page, "" without
	Uptime   *float64
}

// rows returns services as rows of a list.
func (e *Renderer) rows(items []*site.ServiceListItem) ([]template.HTML, error) {
	bySlug, err := e.serviceRows()
	if err != nil {
		return nil, err
	}
	rows := make([]template.HTML, len(items))
	for i, item := range items {
		rows[i] = bySlug[item.Slug]
	}
	return rows, nil
}

// serviceRow is the name of the template of a row.
const serviceRow = "service-row"

// renderServiceRows renders the row of each service, by slug. A service is in many lists, and executing its row is most
// of their cost.
func (e *Renderer) renderServiceRows() (map[string]template.HTML, error) {
	rows := make(map[string]template.HTML, len(e.snapshot.Services))
	var b strings.Builder
	for i := range e.snapshot.Services {
		item := &e.snapshot.Services[i].Item
		b.Reset()
		if err := e.pages.parts.ExecuteTemplate(&b, serviceRow,
			row{item, e.shared.Networks.Chips(item.Networks), e.shared.Categories[item.Category],
				e.snapshot.Services[i].Uptime30d}); err != nil {
			return nil, fmt.Errorf("render row of %s: %w", item.Slug, err)
		}
		rows[item.Slug] = template.HTML(b.String()) // escaped by the template
	}
	return rows, nil
}

// Failure returns 500.html, which serve sends if it cannot read a page.
func (e *Renderer) Failure() ([]byte, error) {
	return e.render(page{
		Key: "500.html", Kind: kindFailure, Title: "Something went wrong", NoIndex: true,
		Description: "This page could not be read because of a fault in the directory.",
	})
}

// NotFound returns 404.html.
func (e *Renderer) NotFound() ([]byte, error) {
	return e.render(page{
		Key: "404.html", Kind: kindNotFound, Title: "Page not found", NoIndex: true,
		Description: "There is no page at this URL.",
	})
}
