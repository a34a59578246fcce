package mcp

import (
	"fmt"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// serviceRow is a compact row of a list of services.
type serviceRow struct {
	Slug         string        `json:"slug"`
	Name         string        `json:"name"`
	PriceUSD     *site.Decimal `json:"price_usd"`       // of the endpoint; without one, the lowest of the service
	Needs        string        `json:"needs,omitempty"` // what a buyer needs first for this price
	Networks     []string      `json:"networks"`
	MoreNetworks int           `json:"more_networks,omitempty"`
	Status       string        `json:"status"`
	Uptime30d    *float64      `json:"uptime_30d,omitempty"`
	Grade        string        `json:"grade,omitempty"`
	Risk         string        `json:"risk"`
	RiskReason   string        `json:"risk_reason,omitempty"`
	Advice       string        `json:"advice"`
	Endpoint     string        `json:"endpoint,omitempty"` // the first that matches: method and path
}

// foundService is a row of a list of services, with what the compact form needs of its assessment and its endpoints.
type foundService struct {
	site.ServiceListItem
	Assessment *site.CompactAssessment `json:"assessment"`
	Endpoints  []site.RowEndpoint      `json:"endpoints"`
}

// foundMeta is the meta of a list of services: of the words of a query, those that were not read as they are written.
type foundMeta struct {
	site.PaginationMeta
	ReadAs  []site.Reading            `json:"read_as,omitempty"`
	Without map[string]int            `json:"without,omitempty"`
	Facets  map[string]map[string]int `json:"facets,omitempty"`
}

func compactSearch(v *site.List[foundService, foundMeta], limit size) any {
	meta := v.Meta
	meta.ReadAs = slices.DeleteFunc(slices.Clone(meta.ReadAs), func(r site.Reading) bool {
		return r.As == site.ReadExact || r.As == site.ReadIgnored
	})
	return compactList[serviceRow]{Meta: meta, Data: rowsOf(v.Data, func(s *foundService) serviceRow {
		price, needs := priceOf(s, limit)
		row := serviceRow{Slug: s.Slug, Name: cut(s.Name, limit.name), PriceUSD: price, Needs: cut(needs, limit.text),
			Status: s.Status,
			Risk:   s.RiskLevel, RiskReason: cutOrNull(s.RiskReason, limit.text),
			Advice: cut(display.Advice(s.AdviceLevel, s.AdviceReason), limit.text)}
		if a := s.Assessment; a != nil {
			row.Uptime30d, row.Grade = a.ReliabilityUptime30d, a.ComplianceGrade
		}
		if len(s.Endpoints) > 0 {
			row.Endpoint = cut(s.Endpoints[0].Method+" "+s.Endpoints[0].Path, limit.text)
		}
		row.Networks, row.MoreNetworks = limit.networks(networksOf(s, limit))
		return row
	})}
}

// priceOf returns the price of the first endpoint that matches, on the network of the request, and what a buyer needs
// first for it, "" for nothing.
func priceOf(s *foundService, limit size) (*site.Decimal, string) {
	if len(s.Endpoints) == 0 {
		if s.PriceCondition == nil {
			return s.MinPriceUSD, ""
		}
		return s.MinPriceUSD, *s.PriceCondition
	}
	price, needs := s.Endpoints[0].PriceOn(limit.network)
	if price == nil {
		price, needs = s.Endpoints[0].PriceOn("")
	}
	return (*site.Decimal)(price), needs
}

// networksOf returns the networks of a result, that of the request first.
func networksOf(s *foundService, limit size) []string {
	if i := slices.Index(s.Networks, limit.network); i > 0 {
		return slices.Concat(s.Networks[i:i+1], s.Networks[:i], s.Networks[i+1:])
	}
	return s.Networks
}

func briefSearch(b *strings.Builder, v *site.List[foundService, foundMeta], limit size) {
	fmt.Fprintf(b, "%s found; page %d of %d.\n", display.Plural(int64(v.Meta.Total), "service", "services"),
		v.Meta.Page, v.Meta.TotalPages)
	for _, name := range sortedKeys(v.Meta.Without) {
		fmt.Fprintf(b, "Without %s: %s.\n", name, display.Plural(int64(v.Meta.Without[name]), "service", "services"))
	}
	briefList(b, v.Data, limit, func(s *foundService) {
		fmt.Fprintf(b, "%s: %s (%s%s", s.Slug, quote(s.Name, limit.name), briefAdvice(&s.ServiceListItem),
			display.Status(s.Status))
		if price, needs := priceOf(s, limit); price != nil {
			b.WriteString(", " + display.Dollars(*price) + briefNeed(needs, limit))
		}
		b.WriteString(briefNames(networksOf(s, limit), limit))
		if a := s.Assessment; a != nil {
			if a.ReliabilityUptime30d != nil {
				b.WriteString(", up " + display.Percent(a.ReliabilityUptime30d) + " of 30 days")
			}
			b.WriteString(", grade " + term(a.ComplianceGrade))
		}
		b.WriteByte(')')
	})
}
