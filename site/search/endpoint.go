package search

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tollbook/site"
)

// rankingEndpoint is an active endpoint of a candidate.
type rankingEndpoint struct {
	site.RecommendedEndpoint
	Networks []string                `json:"networks"` // abbreviations
	Prices   map[string]site.Decimal `json:"prices"`   // lowest counted price by network
	// what a buyer needs first for these prices, by network
	Conditions map[string]string `json:"price_conditions,omitempty"`
	// a standard client can pay it, and no known fact says that the money would be lost
	Payable bool `json:"payable"`
	Testnet bool `json:"testnet"` // every price is on a test network
	Matches int  `json:"matches"` // words of the request that it matches
}

// match is a candidate with the endpoint to use and its final score.
type match struct {
	candidate
	name     string
	endpoint rankingEndpoint
	price    *site.Decimal
	network  string
}

// condition returns what a buyer needs first for the price, nil for nothing.
func (f *match) condition() *string {
	if text, ok := f.endpoint.Conditions[f.network]; ok && f.price != nil {
		return &text
	}
	return nil
}

// Add gives the next candidate its name and endpoints. The endpoint that matches the request best is recommended, or
// the candidate is excluded: another endpoint would not do what was asked for.
func (r *ranking) Add(name string, endpoints []rankingEndpoint) {
	c := r.candidates[r.next]
	r.next++
	if f, code, reason := r.match(c, name, endpoints); code != "" {
		r.exclude(c.rankingFacts, code, reason)
	} else {
		r.matches = append(r.matches, f)
	}
}

// match returns a candidate with the endpoint that is recommended, or the code and the reason why none is.
func (r *ranking) match(c candidate, name string, endpoints []rankingEndpoint) (f match, code, reason string) {
	f = match{candidate: c, name: name}
	if code, reason = r.choose(&f, bestMatches(endpoints)); code != "" {
		return f, code, reason
	}
	f.terms = r.termsOf(c.rankingFacts, f.price)
	if r.wanted.FullRelevance > 0 && f.endpoint.Matches == 0 && len(endpoints) > 1 { // which of them does it?
		f.terms.relevance = divide(f.terms.relevance*generalMatch, 100)
	}
	f.score = r.scoreOf(c.rankingFacts, f.terms)
	return f, "", ""
}

// bestMatches returns the endpoints that match most words of the request.
func bestMatches(endpoints []rankingEndpoint) (list []rankingEndpoint) {
	most := 0
	for _, e := range endpoints {
		most = max(most, e.Matches)
	}
	for _, e := range endpoints {
		if e.Matches == most {
			list = append(list, e)
		}
	}
	return list
}

// choose sets the dearest endpoint that passes the request's filters, so that a cheap one which does nothing is no lure.
// If none passes, it returns why the one that got furthest does not.
func (r *ranking) choose(f *match, endpoints []rankingEndpoint) (code, reason string) {
	w, furthest := &r.wanted, -1
	code, reason = site.ExcludedUnpayable, "it has no active endpoint"
	for _, e := range endpoints {
		price, network := e.lowest(w.Network)
		c, why := excludeEndpoint(&e, price, w)
		if c == "" {
			chosen := match{endpoint: e, price: price, network: network}
			if furthest < len(endpointCodes) || compareDearest(&chosen, f) < 0 {
				f.endpoint, f.price, f.network = e, price, network
			}
			furthest, code = len(endpointCodes), ""
		} else if step := slices.Index(endpointCodes, c); step > furthest {
			furthest, code, reason = step, c, why
		}
	}
	return code, reason
}

// compareDearest orders the highest price first, of equal prices those without a condition, and unknown prices last.
func compareDearest(a, b *match) int {
	if a.price == nil || b.price == nil {
		return comparePrices(a.price, b.price)
	}
	return cmp.Or(b.price.Compare(*a.price), compareBool(a.condition() != nil, b.condition() != nil))
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// endpointCodes are the codes that exclude an endpoint, in the order in which they are looked for.
var endpointCodes = []string{site.ExcludedNetwork, site.ExcludedMethod, site.ExcludedUnpayable,
	site.ExcludedUnpriced, site.ExcludedPrice}

// excludeEndpoint returns the first reason why an endpoint cannot be recommended.
func excludeEndpoint(e *rankingEndpoint, price *site.Decimal, w *wanted) (code, reason string) {
	const endpoint = "its endpoint for this"
	switch {
	case w.Network != "" && !slices.Contains(e.Networks, w.Network):
		return site.ExcludedNetwork, endpoint + " does not accept payment on " + w.Network
	case w.Network == "" && e.Testnet:
		return site.ExcludedNetwork, endpoint + " accepts payment on test networks only"
	case w.Method != "" && e.Method != w.Method:
		return site.ExcludedMethod, endpoint + " does not have the method " + w.Method
	case !e.Payable:
		return site.ExcludedUnpayable, endpoint + " cannot be paid by a standard client"
	}
	return excludePrice(price, w, endpoint, "costs")
}

// lowest returns the lowest price of an endpoint on a network, or with "" on any, and its network. On any network, a
// price on a condition comes after those without one. The price is nil if
// none is known; the network is then the first that the endpoint accepts.
func (e *rankingEndpoint) lowest(network string) (*site.Decimal, string) {
	if network != "" {
		if p, ok := e.Prices[network]; ok {
			return &p, network
		}
		return nil, network
	}
	names := slices.SortedFunc(maps.Keys(e.Prices), func(a, b string) int {
		return cmp.Or(compareBool(e.Conditions[a] != "", e.Conditions[b] != ""), e.Prices[a].Compare(e.Prices[b]),
			strings.Compare(a, b))
	})
	if len(names) > 0 {
		p := e.Prices[names[0]]
		return &p, names[0]
	}
	if len(e.Networks) > 0 {
		return nil, e.Networks[0]
	}
	return nil, ""
}
