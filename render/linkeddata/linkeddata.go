// Package linkeddata describes a directory and its services in the words of schema.org, for search engines. Pages
// contain the result as data, which browsers do not run.
//
// It must never know a template or a route.
package linkeddata

import (
	"tollbook/site"
	"tollbook/site/display"
)

// Entity is an object of schema.org.
type Entity map[string]any

// Directory is what the description of a directory contains. Its other members are the same for all.
type Directory struct {
	Title, Description, Contact string

	Home, ID    string // URL of the home page; the URL that identifies the data set
	SiteID      string // the URL that identifies the site
	Search      string // URL of the search page
	Methodology string // URL of the page with the formulas
	Modified    string // time of the facts
	Downloads   []Download
}

// Download is a file with data.
type Download struct{ Name, URL, Type string }

// Entities returns the directory as a site with a search, and as a data set with downloads.
func (d *Directory) Entities() []Entity {
	publisher := Entity{"@type": "Organization", "name": d.Title, "url": d.Home}
	if d.Contact != "" {
		point := Entity{"@type": "ContactPoint"}
		if to := display.Link(d.Contact); to != "" {
			point["url"] = to
		} else {
			point["email"] = d.Contact
		}
		publisher["contactPoint"] = point
	}
	downloads := make([]Entity, len(d.Downloads))
	for i, f := range d.Downloads {
		downloads[i] = Entity{"@type": "DataDownload", "name": f.Name, "contentUrl": f.URL, "encodingFormat": f.Type}
	}
	return []Entity{
		{"@type": "WebSite", "@id": d.SiteID, "name": d.Title, "url": d.Home,
			"description": d.Description, "inLanguage": "en", "publisher": publisher,
			"potentialAction": Entity{"@type": "SearchAction", "query-input": "required name=q",
				"target": Entity{"@type": "EntryPoint", "urlTemplate": d.Search + "?q={q}"}}},
		{"@type": "Dataset", "@id": d.ID,
			"name": "Services that charge per request over HTTP 402, as measured by " + d.Title,
			"url":  d.Home,
			"description": "Prices, uptime, response times, conformance, changes and settlements of network " +
				"services that charge per request over HTTP 402 using the x402 protocol. " +
				"Each service is asked for its price on a schedule, without paying. Unknown is null, never zero.",
			"license": "https://creativecommons.org/licenses/by/4.0/", "isAccessibleForFree": true,
			"creator": publisher, "dateModified": d.Modified,
			"keywords":             []string{"x402", "HTTP 402", "micropayments", "API directory", "prices", "uptime"},
			"measurementTechnique": d.Methodology,
			"variableMeasured": []string{"price per request in USD", "uptime", "response time",
				"conformance to x402", "settled volume"},
			"distribution": downloads,
		},
	}
}

// Service returns a service as an API with its price. about describes it, dataSet identifies the data that it belongs
// to, and record is the URL of its record.
func Service(d *site.ServiceDetail, about, page, dataSet, record string) []Entity {
	entity := Entity{"@type": "WebAPI", "name": display.Name(d.Name), "description": about,
		"url": page, "isPartOf": Entity{"@id": dataSet},
		"subjectOf": Entity{"@type": "DataDownload", "contentUrl": record,
			"encodingFormat": "application/json"}}
	if category := display.Line(d.Category, display.MaxCode); category != "" {
		entity["category"] = category
	}
	if to := display.Link(d.BaseURL); to != "" {
		entity["sameAs"] = to
	}
	if d.WebsiteURL != nil && display.Link(*d.WebsiteURL) != "" {
		entity["documentation"] = *d.WebsiteURL
	}
	if d.LastCheckedAt != nil {
		entity["dateModified"] = d.LastCheckedAt.String()
	}
	if !d.IsAdvised() {
		return []Entity{entity} // without an offer
	}
	if d.MinPriceUSD != nil && d.EndpointCount > 1 {
		entity["offers"] = Entity{"@type": "AggregateOffer", "lowPrice": d.MinPriceUSD, "priceCurrency": "USD",
			"offerCount": d.EndpointCount}
	} else if d.MinPriceUSD != nil {
		entity["offers"] = Entity{"@type": "Offer", "price": d.MinPriceUSD, "priceCurrency": "USD"}
	}
	return []Entity{entity}
}

// List returns a list of pages. first is the number of the first entry.
func List(first, total int, entries []Entity) []Entity {
	for i, entry := range entries {
		entry["@type"], entry["position"] = "ListItem", first+i
	}
	return []Entity{{"@type": "ItemList", "numberOfItems": total, "itemListElement": entries}}
}
