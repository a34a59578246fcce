package render

import (
	"html/template"
	"maps"
	"net/url"
	"slices"
	"sync"

	"tollbook/render/lists"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/routes"
)

const (
	kindSearch  = "search"
	searchRoute = "search-page"
)

// SearchPage returns search.html, the one page for all searches. Its script, or serve, fills in the results.
func (e *Renderer) SearchPage() ([]byte, error) {
	part, err := lists.Part(e.search, e.listFacets())
	if err != nil {
		return nil, err
	}
	return e.render(page{
		Key: bareKey(searchRoute, ""), Kind: kindSearch, Title: "Search",
		Description: "Search services that charge per request over HTTP 402 by what they do, with filters.",
		Body:        struct{ Part template.HTML }{part},
	})
}

// searchSettings returns what results need of the directory.
func (e *Renderer) searchSettings() *lists.Settings {
	s := &lists.Settings{
		Search: e.searchURL(), Service: e.pages.href(serviceKey("_")),
		Networks: map[string]lists.Network{}, Categories: map[string]string{},
		Spellings: map[string]map[string]string{},
	}
	for _, g := range e.networks {
		s.Networks[g.network.Abbreviation] = lists.Network{Name: display.Name(g.name), Href: e.pages.href(g.Key(1))}
	}
	for _, g := range e.categories {
		s.Categories[g.name] = e.pages.href(g.Key(1))
	}
	values := map[string][]string{"network": slices.Collect(maps.Keys(s.Networks)),
		"category": slices.Collect(maps.Keys(s.Categories))}
	for i := range routes.Filters {
		if p := &routes.Filters[i]; p.Spellings != "" {
			s.Spellings[p.Name] = p.SpellingsOf(values[p.Name])
		}
	}
	return s
}

func (e *Renderer) searchURL() string { return e.pages.href(bareKey(searchRoute, "")) }

// headSorts maps an order of the list to the order of a search that is the same.
var headSorts = map[string]string{site.OrderCheapest: "price", site.OrderUptime: "uptime", site.OrderResponse: "speed"}

// listHref returns the URL of all services in an order of searches: that of the list, if it has the order.
func (e *Renderer) listHref(sort string) string {
	for order, is := range headSorts {
		if is == sort {
			return e.pages.href(orderedKey(order, 1))
		}
	}
	return lists.SearchURL(e.searchURL(), url.Values{"sort": {sort}})
}

// listFilters returns the filters on the pages of all services in an order.
func (e *Renderer) listFilters(order string) (template.HTML, error) {
	f := lists.NewFilters(e.searchURL(), url.Values{}, e.listFacets())
	for _, o := range site.PageOrders {
		f.Orders = append(f.Orders, lists.Link{Label: orderLabels[o][0], Href: e.pages.href(orderedKey(o, 1)),
			Current: o == order})
	}
	for _, sort := range []string{site.OrderOrganicBuyers, site.OrderOrganicVolume} {
		f.Orders = append(f.Orders, lists.Link{Label: lists.OrderLabel(sort), Href: e.listHref(sort)})
	}
	return f.HTML()
}

// listFacets returns the facets of all services. They lead to the pages of groups.
func (e *Renderer) listFacets() []lists.Facet {
	facet := func(filter string, groups []*Group, all string) lists.Facet {
		f := lists.NewFacet(filter)
		f.All.Href = e.pages.href(bareKey(all, ""))
		for _, g := range bySize(groups) {
			f.Choices = append(f.Choices, lists.Choice{Count: g.Services,
				Link: lists.Link{Label: display.Name(g.Name), Href: e.pages.href(g.Key)}})
		}
		return f
	}
	var all []*site.ServiceListItem
	for _, g := range e.categories {
		all = append(all, g.services...)
	}
	return []lists.Facet{facet("category", e.categories, categoriesRoute),
		facet("network", e.networks, networksRoute),
		lists.StatusFacet(e.searchURL(), &e.snapshot.Status), lists.VerdictFacet(e.searchURL(), all)}
}

// groupFilters returns the filters on the pages of a group: the others of its services lead to searches in the group.
func (e *Renderer) groupFilters(g *Group) func() (template.HTML, error) {
	return sync.OnceValues(func() (template.HTML, error) {
		name, value := g.filter()
		values := url.Values{name: {value}, "sort": {"price"}}
		facets := lists.NewFacets(e.search, values, lists.Counts(g.services))
		for i := range facets {
			if facets[i].Name == name { // the group itself: its choice leads back to all services
				facets[i].Choices = slices.DeleteFunc(facets[i].Choices,
					func(c lists.Choice) bool { return !c.Current })
				facets[i].Choices[0].Href = e.pages.href(listKey(1))
			}
		}
		f := lists.NewFilters(e.searchURL(), values, facets)
		f.Orders = lists.NewOrders(e.searchURL(), values)
		return f.HTML()
	})
}

// groupHref returns a function that returns the URL of a group's services in an order of searches.
func (e *Renderer) groupHref(g *Group) func(sort string) string {
	name, value := g.filter()
	return func(sort string) string {
		if sort == headSorts[site.OrderCheapest] {
			return e.pages.href(g.Key(1))
		}
		return lists.SearchURL(e.searchURL(), url.Values{name: {value}, "sort": {sort}})
	}
}
