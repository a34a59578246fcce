// This file describes a directory and its services in the words of schema.org, for search engines. Pages contain the
// result as data, which browsers do not run.
//
// It must never know a template or a route.

package render

import (
	"tollbook/site"
	"tollbook/site/display"
)

// linkedEntity is an object of schema.org.
type linkedEntity map[string]any

// linkedDirectory is what the description of a directory contains. Its other members are the same for all.
type linkedDirectory struct {
	Title, Description, Contact string

	Home, ID    string // URL of the home page; the URL that identifies the data set
	SiteID      string // the URL that identifies the site
	Search      string // URL of the search page
	Methodology string // URL of the page with the formulas
	Modified    string // time of the facts
	Downloads   []linkedDownload
}

// linkedDownload is a file with data.
type linkedDownload struct{ Name, URL, Type string }

// Entities returns the directory as a site with a search, and as a data set with downloads.
func (d *linkedDirectory) Entities() []linkedEntity {
	publisher := linkedEntity{"@type": "Organization", "name": d.Title, "url": d.Home}
	if d.Contact != "" {
		point := linkedEntity{"@type": "ContactPoint"}
		if to := display.Link(d.Contact); to != "" {
			point["url"] = to
		} else {
			point["email"] = d.Contact
		}
		publisher["contactPoint"] = point
	}
	downloads := make([]linkedEntity, len(d.Downloads))
	for i, f := range d.Downloads {
		downloads[i] = linkedEntity{"@type": "DataDownload", "name": f.Name, "contentUrl": f.URL, "encodingFormat": f.Type}
	}
	return []linkedEntity{
		{"@type": "WebSite", "@id": d.SiteID, "name": d.Title, "url": d.Home,
			"description": d.Description, "inLanguage": "en", "publisher": publisher,
			"potentialAction": linkedEntity{"@type": "SearchAction", "query-input": "required name=q",
				"target": linkedEntity{"@type": "EntryPoint", "urlTemplate": d.Search + "?q={q}"}}},
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

// linkedService returns a service as an API with its price. about describes it, dataSet identifies the data that it
// belongs to, and record is the URL of its record.
func linkedService(d *site.ServiceDetail, about, page, dataSet, record string) []linkedEntity {
	entity := linkedEntity{"@type": "WebAPI", "name": display.Name(d.Name), "description": about,
		"url": page, "isPartOf": linkedEntity{"@id": dataSet},
		"subjectOf": linkedEntity{"@type": "DataDownload", "contentUrl": record,
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
		return []linkedEntity{entity} // without an offer
	}
	if d.MinPriceUSD != nil {
		offer := linkedEntity{"@type": "Offer", "price": d.MinPriceUSD, "priceCurrency": "USD"}
		if d.EndpointCount > 1 {
			offer = linkedEntity{"@type": "AggregateOffer", "lowPrice": d.MinPriceUSD, "priceCurrency": "USD",
				"offerCount": d.EndpointCount}
		}
		if d.PriceCondition != nil {
			offer["description"] = display.Line(*d.PriceCondition, display.MaxLine)
		}
		entity["offers"] = offer
	}
	return []linkedEntity{entity}
}

// linkedList returns a list of pages. first is the number of the first entry.
func linkedList(first, total int, entries []linkedEntity) []linkedEntity {
	for i, entry := range entries {
		entry["@type"], entry["position"] = "ListItem", first+i
	}
	return []linkedEntity{{"@type": "ItemList", "numberOfItems": total, "itemListElement": entries}}
}
