package render

import (
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/routes"
)

const (
	kindCompare  = "compare"
	compareRoute = "compare-page"

	comparePeers = 3 // services that a page suggests; together with its own they are as many as can be compared
)

type compareBody struct {
	Search     string // address of the search
	Records    string // address of the record of a service, with _ for its slug
	Codes      []site.Network
	Sets       []compareSet
	Categories []groupRow
}

// compareSet is a link to a comparison.
type compareSet struct{ Name, Href string }

// ComparePage returns compare.html, the one page for all comparisons. Its script reads the slugs from the URL and the
// records from the API.
func (e *Renderer) ComparePage() ([]byte, error) {
	body := compareBody{
		Search: e.pages.prefix + routes.ByName("services").Pattern, Records: e.pages.href(bareKey("service", "_")),
		Codes: e.snapshot.Networks, Categories: bySize(e.categories),
	}
	for _, g := range e.categories {
		var slugs []string
		for _, item := range g.services {
			if item.MinPriceUSD != nil && isLive(item) && item.AdviceLevel != site.AdviceDoNotPay &&
				len(slugs) < comparePeers {
				slugs = append(slugs, item.Slug)
			}
		}
		if len(slugs) > 1 {
			body.Sets = append(body.Sets, compareSet{g.name, e.pages.compareURL(slugs...)})
		}
	}
	return e.render(page{
		Key: bareKey(compareRoute, ""), Kind: kindCompare, JSON: bareKey("services", ""), Title: "Compare services",
		Description: "Compare two to four services that charge per request over HTTP 402: prices, uptime, " +
			"conformance, risk and settlements.",
		Body: body,
	})
}

// compareURL returns the link to a comparison of services.
func (p *Pages) compareURL(slugs ...string) string {
	var b strings.Builder
	b.WriteString(p.href(bareKey(compareRoute, "")))
	for i, slug := range slugs {
		b.WriteByte("?&&&"[i])
		b.WriteByte("abcd"[i])
		b.WriteString("=" + slug)
	}
	return b.String()
}

// Peer is a service that another one is compared with.
type Peer struct{ Slug, Name string }

// Neighbours is what the page of a service shows of its category.
type Neighbours struct {
	Peers  []Peer               // the services with the nearest prices, the nearest first
	Prices *site.CategoryPrices // nil without a price
}

// Neighbours returns the neighbours of a service.
func (e *Renderer) Neighbours(item *site.ServiceListItem) Neighbours {
	at, ok := e.positions[item.Slug]
	if !ok {
		return Neighbours{}
	}
	of := Neighbours{Peers: at.peers()}
	if at.group.tag != nil {
		of.Prices = at.group.tag.Prices
	}
	return of
}

// isLive reports whether a comparison with a service is worth suggesting. It must not read the advice, which is not
// judged yet while the pages of services are rendered.
func isLive(item *site.ServiceListItem) bool {
	return item.Status != site.StatusOffline
}

// peers returns the services of the category with the nearest prices, of those that are live, the nearest first.
func (at position) peers() (near []Peer) {
	services := at.group.services
	for step := 1; len(near) < comparePeers && (at.index-step >= 0 || at.index+step < len(services)); step++ {
		for _, i := range []int{at.index + step, at.index - step} {
			if i >= 0 && i < len(services) && len(near) < comparePeers && isLive(services[i]) {
				near = append(near, Peer{services[i].Slug, services[i].Name})
			}
		}
	}
	return near
}

// position is the position of a service in its category, cheapest first.
type position struct {
	group *Group
	index int
}

// positionsOf returns the positions of all services by slug.
func positionsOf(categories []*Group) map[string]position {
	positions := map[string]position{}
	for _, g := range categories {
		for i, item := range g.services {
			positions[item.Slug] = position{g, i}
		}
	}
	return positions
}

// comparisons returns links to comparisons of a service with each of its peers, and with all of them.
func (e *ServiceRenderer) comparisons(slug string, peers []Peer) (each []compareSet, all string) {
	slugs := []string{slug}
	for _, peer := range peers {
		each = append(each, compareSet{peer.Name, e.pages.compareURL(slug, peer.Slug)})
		slugs = append(slugs, peer.Slug)
	}
	if len(each) > 1 {
		all = e.pages.compareURL(slugs...)
	}
	return slices.Clip(each), all
}
