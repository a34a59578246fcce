package routes

import (
	"slices"

	"tollbook/site"
)

// Words is a filter of services in the words that people read on the search page.
type Words struct {
	// Place orders the filters of the page and of its addresses. Filters without a place are last, in the order of the
	// table.
	Place int `json:"-"`
	// Chip is the filter with its value in place of %s, such as "at most $%s".
	Chip string `json:"chip"`
	// True is the filter with the value true; Chip applies to it if it is "".
	True string `json:"true,omitempty"`
	// Without is the filter's name in what a search without results offers: "3 services match without the price cap".
	Without string `json:"without"`
	// Facet is the label of the filter's values on the page, each with its number of services; "" if the page does not
	// list them. A response then counts them in meta.
	Facet string `json:"facet,omitempty"`
	// Field is the filter's field of the form; nil if the form has none.
	Field *Field `json:"field,omitempty"`
}

// Field is a field of the search form: a checkbox for a boolean, a list for a filter with Options, or else an input.
// The options of a choice are its values.
type Field struct {
	// Label of the field.
	Label string `json:"label"`
	// Placeholder of an input.
	Placeholder string `json:"placeholder,omitempty"`
	// Options of a list.
	Options []string `json:"options,omitempty"`
	// Suffix of each option.
	Suffix string `json:"suffix,omitempty"`
}

// rowFilters returns the filters of a list of services. Each compares one column, so that a filter is declared once for
// all routes that have it. rule is the rule of a request with a filter that no file contains.
//
// This is the only list of them. The search page and its script, the tools of MCP, the command line, the OpenAPI
// document and the edge programs follow from it.
func rowFilters(rule Rule) []Param {
	filters := []Param{
		{Name: "network", Kind: KindText, Spellings: spelledNetworks, Column: "networks", Compare: CompareHas,
			About: "Only services that accept payment on the network with this abbreviation, CAIP-2 id or name",
			Brief: "Name, abbreviation or CAIP-2 id",
			Usage: "Only services that accept payment on this `network`, such as base, BSE or eip155:8453",
			Words: Words{Place: 2, Chip: "on %s", Without: "network", Facet: "Network"}},
		{Name: "status", Kind: KindChoice, Values: site.Statuses, Column: "status", Compare: CompareIs,
			About: "Only services with this status",
			Words: Words{Place: 3, Chip: "%s", Without: "status", Facet: "Status"}},
		{Name: "category", Kind: KindText, Spellings: spelledCategories, Column: "category", Compare: CompareIs,
			About: "Only services in this category",
			Brief: "From list_categories", Usage: "Only services in this `category`",
			Words: Words{Place: 1, Chip: "in %s", Without: "category", Facet: "Category"}},
		{Name: "verified", Kind: KindBoolean, Column: "verified", Compare: CompareIs,
			About: "Only services that are verified, or that are not",
			Words: Words{Place: 7, Chip: "verified: %s", True: "verified", Without: "filter for verified services",
				Field: &Field{Label: "Verified"}}},
		{Name: "payment_ready", Kind: KindBoolean, Column: "payment_ready", Compare: CompareIs,
			About: "Only services that are ready for payment, or that are not",
			Words: Words{Place: 8, Chip: "payment ready: %s", True: "payment ready",
				Without: "filter for payment-ready services", Field: &Field{Label: "Payment ready"}}},
		{Name: "payable", Kind: KindBoolean, Column: "payable", Compare: CompareIs,
			About: "Only services with an endpoint that official clients can pay, or without one",
			Brief: "Clients can pay",
			Words: Words{Place: 14, Chip: "payable: %s", Without: "filter for payable services"}},
		{Name: "source", Kind: KindText, Column: "source", Compare: CompareHas, Among: AmongValues,
			Known: []string{"imported", "submitted"},
			About: "Only services with this source: submitted, imported, or imported:<origin>",
			Brief: "submitted, imported, imported:<origin>",
			Words: Words{Place: 13, Chip: "source %s", Without: "source"}},
		{Name: "protocol", Kind: KindChoice, Values: site.Protocols, Column: "protocols", Compare: CompareHas,
			About: "Only services whose endpoints show this payment protocol",
			Words: Words{Place: 4, Chip: "protocol %s", Without: "protocol", Facet: "Protocol"}},
		{Name: "method", Kind: KindText, Column: "methods", Compare: CompareHas, Among: AmongValues,
			Known: []string{"DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"},
			About: "Only services with an endpoint of this HTTP method",
			Brief: "HTTP method",
			Words: Words{Place: 12, Chip: "method %s", Without: "method"}},
		{Name: "verdict", Kind: KindChoice, Values: site.AdviceLevels, Column: site.ColumnAdvice, Compare: CompareIs,
			About: "Only services with this verdict, the member advice_level of their rows",
			Words: Words{Place: 15, Chip: "%s", Without: "verdict", Facet: "Verdict"}},
		{Name: "grade", Kind: KindChoice, Values: site.Grades, Column: "grade", Compare: CompareIs,
			About: "Only services with this grade",
			Words: Words{Place: 11, Chip: "grade %s", Without: "grade"}},
		{Name: "min_grade", Kind: KindChoice, Values: site.Grades[:len(site.Grades)-1], Column: "grade",
			Compare: CompareAtLeast, About: "Only services with this grade or a better one",
			Words: Words{Place: 10, Chip: "grade %s or better", Without: "minimum grade",
				Field: &Field{Label: "Minimum grade"}}},
		{Name: "max_price_usd", Kind: KindDecimal, Column: "prices_usd", Compare: CompareAtMost, Within: "network",
			About: "Only services with a price of at most so many US dollars, on the network if network is given",
			Brief: "For one request",
			Words: Words{Place: 5, Chip: "at most $%s", Without: "price cap",
				Field: &Field{Label: "Maximum price, USD", Placeholder: "0.01"}}},
		{Name: "min_uptime_30d", Kind: KindDecimal, Max: 100, Column: "uptime_30d", Compare: CompareAtLeast,
			About: "Only services that were up in at least this percentage of the checks of 30 days",
			Brief: "Percent",
			Words: Words{Place: 6, Chip: "uptime %s% or more", Without: "minimum uptime",
				Field: &Field{Label: "Minimum uptime, 30 days", Options: []string{"90", "95", "99", "99.9"},
					Suffix: "%"}}},
		{Name: "max_response_ms", Kind: KindInteger, Max: 1_000_000_000, Column: "avg_response_time_ms",
			Compare: CompareAtMost,
			About:   "Only services whose average response time over 24 hours is at most so many milliseconds",
			Words:   Words{Place: 9, Chip: "response within %s ms", Without: "limit of the response time"}},
	}
	for i := range filters {
		filters[i].Filter, filters[i].Rule = true, rule
	}
	return filters
}

// Filters are the filters of services in the order of the search page.
var Filters = pageFilters()

// Facets are the names of the filters whose values responses of /v1/search count, sorted.
var Facets = facetNames()

func pageFilters() []Param {
	filters := rowFilters("")
	for i := range filters {
		if p := &filters[i]; p.Words.Field != nil && p.Kind == KindChoice {
			p.Words.Field.Options = p.Values
		}
	}
	place := func(p Param) int {
		if p.Words.Place == 0 {
			return len(filters)
		}
		return p.Words.Place - 1
	}
	slices.SortStableFunc(filters, func(a, b Param) int { return place(a) - place(b) })
	return filters
}

func facetNames() []string {
	var names []string
	for i := range Filters {
		if Filters[i].Words.Facet != "" {
			names = append(names, Filters[i].Name)
		}
	}
	slices.Sort(names)
	return names
}
