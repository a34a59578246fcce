package render

import (
	"cmp"
	"strings"
	"time"

	"tollbook/render/service"
	"tollbook/site"
	"tollbook/site/display"
)

type entity = linkedEntity

// linkedData returns the data of a page: what it is about, and its breadcrumbs.
func (e *ServiceRenderer) linkedData(p *page) any {
	things := p.About
	if !p.NoIndex && p.Key != homeKey {
		things = append(things, e.breadcrumbs(p))
	}
	if len(things) == 0 {
		return nil
	}
	return entity{"@context": "https://schema.org", "@graph": things}
}

// breadcrumb is a page on the path from the home page to another.
type breadcrumb struct{ Name, Key string }

// breadcrumbs returns the path from the home page to p, both included.
func (e *ServiceRenderer) breadcrumbs(p *page) entity {
	crumbs := []breadcrumb{{e.pages.site.Title, homeKey}}
	if p.Up != (breadcrumb{}) {
		crumbs = append(crumbs, p.Up)
	}
	list := []entity{}
	for i, c := range append(crumbs, breadcrumb{p.Title, p.Key}) {
		list = append(list, entity{"@type": "ListItem", "position": i + 1, "name": c.Name, "item": e.address(c.Key)})
	}
	return entity{"@type": "BreadcrumbList", "itemListElement": list}
}

// Fragments of the ids of entities that pages refer to.
const (
	siteID = "#site"
	dataID = "#data"
)

func (e *ServiceRenderer) id(fragment string) string { return e.address(homeKey) + fragment }

// aboutHome returns the directory as a site with a search, and as a data set with downloads.
func (e *Renderer) aboutHome() []entity {
	d := linkedDirectory{
		Title: e.pages.site.Title, Description: e.pages.site.Description, Contact: e.pages.site.Contact,
		Home: e.address(homeKey), ID: e.id(dataID), SiteID: e.id(siteID),
		Search: e.address(bareKey(searchRoute, "")), Methodology: e.address(bareKey(methodologyRoute, "")),
		Modified: e.snapshot.Now.String(),
	}
	for _, f := range []linkedDownload{
		{Name: "Services", URL: bareKey("services", "")}, {Name: "Changes", URL: bareKey("changes", "")},
		{Name: "Facilitators", URL: bareKey("facilitators", "")},
		{Name: "OpenAPI description of the API", URL: openAPIKey, Type: "application/vnd.oai.openapi+json"},
	} {
		f.URL, f.Type = e.address(f.URL), cmp.Or(f.Type, "application/json")
		d.Downloads = append(d.Downloads, f)
	}
	return d.Entities()
}

// aboutService returns a service as an API with its price.
func (e *ServiceRenderer) aboutService(d *site.ServiceDetail) []entity {
	return linkedService(d, service.Describe(d), e.address(serviceKey(d.Slug)), e.id(dataID),
		e.address(bareKey("service", d.Slug)))
}

// entries returns services as entries of a list.
func (e *Renderer) entries(items []*site.ServiceListItem) []entity {
	list := make([]entity, len(items))
	for i, item := range items {
		list[i] = entity{"name": display.Name(item.Name), "url": e.address(serviceKey(item.Slug))}
	}
	return list
}

// groupEntries returns categories or networks as entries of a list.
func (e *Renderer) groupEntries(rows []groupRow) []entity {
	list := make([]entity, len(rows))
	for i, r := range rows {
		list[i] = entity{"name": display.Name(r.Name), "url": e.address(r.Key)}
	}
	return list
}

// aboutFacilitators returns all facilitators, by the volume of 30 days.
func (e *Renderer) aboutFacilitators() []entity {
	items := make([]*site.FacilitatorListItem, len(e.snapshot.Facilitators))
	for i := range items {
		items[i] = &e.snapshot.Facilitators[i].FacilitatorListItem
	}
	site.SortFacilitators(items, site.Timeframe30d)
	list := make([]entity, len(items))
	for i, f := range items {
		list[i] = entity{"name": cmp.Or(display.Line(f.Name, display.MaxName), f.FacilitatorID),
			"url": e.address(facilitatorKey(f.FacilitatorID))}
	}
	return linkedList(1, len(list), list)
}

// SecurityFile says how to report a vulnerability (RFC 9116).
const SecurityFile = ".well-known/security.txt"

// KeyDirectory returns the directory of the key that signs the crawler's requests, nil if they are not signed.
func (e *Renderer) KeyDirectory() []byte { return e.pages.site.KeyDirectory }

// Security returns security.txt, nil if the operator gives no contact. It expires six months after the first of the
// current month, so that all builds of a month write the same.
func (e *Renderer) Security() []byte {
	contact := e.pages.site.Contact
	switch {
	case display.Link(contact) != "":
	case strings.Contains(contact, "@") && !strings.ContainsAny(contact, "<>\r\n\t "):
		contact = "mailto:" + contact
	default:
		return nil
	}
	now := e.snapshot.Now.UTC()
	expires := site.NewTime(now.AddDate(0, 6, 1-now.Day()).Truncate(24 * time.Hour))
	return []byte("Contact: " + contact + "\nExpires: " + expires.String() + "\nPreferred-Languages: en\nCanonical: " +
		e.address(SecurityFile) + "\n")
}
