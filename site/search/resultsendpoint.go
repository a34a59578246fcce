package search

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"tollbook/site"
)

// endpoint is an endpoint of a row.
type endpoint struct {
	raw     []byte // its object without the closing brace
	matched []string
}

// endpoints returns the endpoints to show: those that pass the filters, first those that match in more members.
// matched reports whether any endpoint of the row matches.
func (c *candidates) endpoints(all []json.RawMessage) (list [][]byte, matched bool, err error) {
	var passing []endpoint
	for _, raw := range all {
		var e site.RowEndpoint
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, false, err
		}
		of := endpoint{raw: raw[:len(raw)-1]}
		if c.match != nil && c.match.Matches(e.Path) {
			of.matched = append(of.matched, site.FieldPath)
		}
		if c.match != nil && e.Description != nil && c.match.Matches(*e.Description) {
			of.matched = append(of.matched, site.FieldDescription)
		}
		matched = matched || len(of.matched) > 0
		if c.passes(&e) {
			passing = append(passing, of)
		}
	}
	slices.SortStableFunc(passing, func(a, b endpoint) int { return cmp.Compare(len(b.matched), len(a.matched)) })
	for _, e := range passing[:min(len(passing), site.MaxResultEndpoints)] {
		list = append(list, slices.Concat(e.raw, []byte(`,"matched":`), []byte(quote(e.matched)), []byte{'}'}))
	}
	return list, matched, nil
}

// passes reports whether an endpoint passes the filters that concern endpoints: network, method and price.
func (c *candidates) passes(e *site.RowEndpoint) bool {
	network, method, limit := c.q.Text("network"), c.q.Text("method"), c.q.Text("max_price_usd")
	if network != "" && !slices.Contains(e.Networks, network) || method != "" && e.Method != method {
		return false
	}
	if limit == "" {
		return true
	}
	price := e.PriceUSD
	if e.PricesUSD != nil && network != "" {
		if usd, ok := e.PricesUSD[network]; ok {
			price = &usd
		} else {
			price = nil
		}
	}
	return price != nil && site.Decimal(*price).Compare(site.Decimal(limit)) <= 0
}

// quote returns names as a JSON array.
func quote(names []string) string {
	if len(names) == 0 {
		return "[]"
	}
	return `["` + strings.Join(names, `","`) + `"]`
}
