package render

import (
	"slices"
	"strings"

	"tollbook/site"
)

const (
	kindCompare  = "compare"
	compareRoute = "compare-page"

	comparePeers = 3 // others of its category that a service's page leads to: with it they are as many as are compared
)

type compareBody struct {
	Search     string // address that the script asks for names
	Records    string // address of a service's record, with _ for its slug
	Codes      []site.Network
	Sets       []compareSet
	Categories []groupRow
}

// compareSet is a link to services side by side.
type compareSet struct{ Name, Href string }

// ComparePage is compare.html: one page for all that may be compared, since nobody can write a file for each. Its
// script reads the slugs off the address and the records from the API.
func (e *Renderer) ComparePage() ([]byte, error) {
	body := compareBody{
		Search: e.pages.prefix + site.ByName("services").Pattern, Records: e.pages.href(bareKey("service", "_")),
		Codes: e.snapshot.Networks, Categories: bySize(e.categories),
	}
	for _, g := range e.categories {
		var slugs []string
		for _, item := range g.services[:min(len(g.services), comparePeers)] {
			if item.MinPriceUSD != nil {
				slugs = append(slugs, item.Slug)
			}
		}
		if len(slugs) > 1 {
			body.Sets = append(body.Sets, compareSet{g.name, e.pages.compared(slugs...)})
		}
	}
	return e.render(page{
		Key: bareKey(compareRoute, ""), Kind: kindCompare, JSON: bareKey("services", ""), Title: "Compare services",
		Policy: scriptPolicy, Script: e.pages.comparer,
		Description: "Compare two to four services that charge per request over HTTP 402: prices, uptime, " +
			"conformance, risk and settlements.",
		Body: body,
	})
}

// compared is the link to some services side by side.
func (p *Pages) compared(slugs ...string) string {
	var b strings.Builder
	b.WriteString(p.href(bareKey(compareRoute, "")))
	for i, slug := range slugs {
		b.WriteByte("?&&&"[i])
		b.WriteByte("abcd"[i])
		b.WriteString("=" + slug)
	}
	return b.String()
}

// Peer is a service to compare another with.
type Peer struct{ Slug, Name string }

// Peers are the services of the same category whose prices stand next to a service's, the nearest first.
func (e *Renderer) Peers(item *site.ServiceListItem) []Peer {
	at, ok := e.places[item.Slug]
	if !ok {
		return nil
	}
	services := at.group.services
	var near []Peer
	for step := 1; len(near) < comparePeers && (at.place-step >= 0 || at.place+step < len(services)); step++ {
		for _, i := range []int{at.place + step, at.place - step} {
			if i >= 0 && i < len(services) && len(near) < comparePeers {
				near = append(near, Peer{services[i].Slug, services[i].Name})
			}
		}
	}
	return near
}

// standing is where a service stands in its category, cheapest first.
type position struct {
	group *Group
	place int
}

// placesOf are the places of all services, by slug.
func positionsOf(categories []*Group) map[string]position {
	places := map[string]position{}
	for _, g := range categories {
		for i, item := range g.services {
			places[item.Slug] = position{g, i}
		}
	}
	return places
}

// comparisons are the links of a service's page to others beside it: each by itself, then all of them.
func (e *ServiceRenderer) comparisons(slug string, peers []Peer) (each []compareSet, all string) {
	slugs := []string{slug}
	for _, peer := range peers {
		each = append(each, compareSet{peer.Name, e.pages.compared(slug, peer.Slug)})
		slugs = append(slugs, peer.Slug)
	}
	if len(each) > 1 {
		all = e.pages.compared(slugs...)
	}
	return slices.Clip(each), all
}
