package render

import (
	"cmp"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/display"
)

// entity is an object of schema.org for search engines. Pages contain it as data, which browsers do not run.
type entity map[string]any

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
	s := &e.pages.site
	publisher := entity{"@type": "Organization", "name": s.Title, "url": e.address(homeKey)}
	if contact := s.Contact; contact != "" {
		point := entity{"@type": "ContactPoint"}
		if to := display.Link(contact); to != "" {
			point["url"] = to
		} else {
			point["email"] = contact
		}
		publisher["contactPoint"] = point
	}
	download := func(name, key, kind string) entity {
		return entity{"@type": "DataDownload", "name": name, "contentUrl": e.address(key), "encodingFormat": kind}
	}
	return []entity{
		{"@type": "WebSite", "@id": e.id(siteID), "name": s.Title, "url": e.address(homeKey),
			"description": s.Description, "inLanguage": "en", "publisher": publisher,
			"potentialAction": entity{"@type": "SearchAction", "query-input": "required name=q",
				"target": entity{"@type": "EntryPoint", "urlTemplate": e.address(listKey(1)) + "?q={q}"}}},
		{"@type": "Dataset", "@id": e.id(dataID),
			"name": "Services that charge per request over HTTP 402, as measured by " + s.Title,
			"url":  e.address(homeKey),
			"description": "Prices, uptime, response times, conformance, changes and settlements of network " +
				"services that charge per request over HTTP 402 using the x402 protocol. " +
				"Each service is asked for its price on a schedule, without paying. Unknown is null, never zero.",
			"license": "https://creativecommons.org/licenses/by/4.0/", "isAccessibleForFree": true,
			"creator": publisher, "dateModified": e.snapshot.Now.String(),
			"keywords":             []string{"x402", "HTTP 402", "micropayments", "API directory", "prices", "uptime"},
			"measurementTechnique": e.address(bareKey(methodologyRoute, "")),
			"variableMeasured": []string{"price per request in USD", "uptime", "response time",
				"conformance to x402", "settled volume"},
			"distribution": []entity{
				download("Services", bareKey("services", ""), "application/json"),
				download("Changes", bareKey("changes", ""), "application/json"),
				download("Facilitators", bareKey("facilitators", ""), "application/json"),
				download("OpenAPI description of the API", openAPIKey, "application/vnd.oai.openapi+json"),
			}},
	}
}

// aboutService returns a service as an API with its price.
func (e *ServiceRenderer) aboutService(d *site.ServiceDetail) []entity {
	about := entity{"@type": "WebAPI", "name": display.Name(d.Name), "description": describe(d),
		"url": e.address(serviceKey(d.Slug)), "isPartOf": entity{"@id": e.id(dataID)},
		"subjectOf": entity{"@type": "DataDownload", "contentUrl": e.address(bareKey("service", d.Slug)),
			"encodingFormat": "application/json"}}
	if category := display.Line(d.Category, display.MaxCode); category != "" {
		about["category"] = category
	}
	if to := display.Link(d.BaseURL); to != "" {
		about["sameAs"] = to
	}
	if d.WebsiteURL != nil && display.Link(*d.WebsiteURL) != "" {
		about["documentation"] = *d.WebsiteURL
	}
	if d.LastCheckedAt != nil {
		about["dateModified"] = d.LastCheckedAt.String()
	}
	if !d.IsAdvised() {
		return []entity{about} // without an offer
	}
	if d.MinPriceUSD != nil && d.EndpointCount > 1 {
		about["offers"] = entity{"@type": "AggregateOffer", "lowPrice": d.MinPriceUSD, "priceCurrency": "USD",
			"offerCount": d.EndpointCount}
	} else if d.MinPriceUSD != nil {
		about["offers"] = entity{"@type": "Offer", "price": d.MinPriceUSD, "priceCurrency": "USD"}
	}
	return []entity{about}
}

// aboutList returns a list of pages. first is the number of the first entry.
func aboutList(first, total int, entries []entity) []entity {
	for i, entry := range entries {
		entry["@type"], entry["position"] = "ListItem", first+i
	}
	return []entity{{"@type": "ItemList", "numberOfItems": total, "itemListElement": entries}}
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
	return aboutList(1, len(list), list)
}

// SecurityFile says how to report a vulnerability (RFC 9116).
const SecurityFile = ".well-known/security.txt"

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
