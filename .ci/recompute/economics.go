package main

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
)

const economicsRule = "Economics"

// offer is what a service asks for now, from the prices of its active endpoints.
type offer struct {
	rows, variable int      // payment options; those whose amount is a maximum
	first          node     // the first payment option
	lowest         node     // the option with the lowest price in dollars
	highest        *big.Rat // nil without a price in dollars
	distinct       map[string]bool
	networks       []string // CAIP-2
	left           int      // rows that do not count
	reasons        []string // why they do not
}

// price returns the lowest price in dollars, nil without one.
func (o *offer) price() *big.Rat { return o.lowest.get("price_usd").number() }

func newOffer(s *service) offer {
	o := offer{distinct: map[string]bool{}}
	for _, e := range s.detail.get("endpoints").items() {
		for _, p := range e.get("pricing").items() {
			if o.rows++; o.rows == 1 {
				o.first = p
			}
			if isVariable(p) {
				o.variable++
			}
			if id := p.get("network_caip2").text(); id != "" && !slices.Contains(o.networks, id) {
				o.networks = append(o.networks, id)
			}
			usd := counted(p)
			if usd == nil {
				o.left++
				if reason := p.get("price_caveat").text(); !slices.Contains(o.reasons, reason) {
					o.reasons = append(o.reasons, reason)
				}
				continue
			}
			o.distinct[usd.RatString()] = true
			if o.price() == nil || usd.Cmp(o.price()) < 0 {
				o.lowest = p
			}
			if o.highest == nil || usd.Cmp(o.highest) > 0 {
				o.highest = usd
			}
		}
	}
	return o
}

// counted returns the price of a payment option in dollars, nil if it does not count.
func counted(p node) *big.Rat {
	usd := p.get("price_usd").number()
	if usd == nil || p.get("testnet").bool() || usd.Sign() == 0 || usd.Cmp(big.NewRat(1000, 1)) > 0 {
		return nil
	}
	return usd
}

// caveat says how many payment options do not count, nil if all do.
func (o *offer) caveat() any {
	if o.left == 0 {
		return nil
	}
	slices.Sort(o.reasons)
	return fmt.Sprintf("%d of %d prices not counted in dollars: %s", o.left, o.rows, strings.Join(o.reasons, "; "))
}

// isVariable reports whether the amount of a payment option is a maximum.
func isVariable(p node) bool {
	scheme := p.get("scheme").text()
	return scheme == "upto" || scheme == "batch-settlement" && namespaceOf(p.get("network_caip2").text()) == "eip155"
}

// recomputeEconomics computes prices, endpoints and their places in the category.
func recomputeEconomics(d *directory, r *report) {
	offers := map[*service]offer{}
	for _, s := range d.services {
		offers[s] = newOffer(s)
	}
	for _, s := range d.services {
		o := offers[s]
		for _, e := range s.detail.get("endpoints").items() {
			figureEndpoint(d, r, s, e)
		}
		var lowest, highest []*big.Rat // of the category
		for _, other := range d.services {
			if p := offers[other]; p.price() != nil && other.detail.get("category").text() == s.detail.get("category").
				text() {
				lowest, highest = append(lowest, p.price()), append(highest, p.highest)
			}
		}
		detail, e := s.detail, s.detail.at("assessment", "economics")
		r.figure(economicsRule, detail.get("min_price_usd"), o.price())
		r.figure(economicsRule, e.get("price_usd"), o.price())
		r.figure(economicsRule, e.get("price_max_usd"), o.highest)
		shown := o.lowest
		if o.price() == nil {
			shown = o.first
		}
		r.figure(economicsRule, e.get("price_atomic"), textOrNull(shown.get("price").text()))
		r.figure(economicsRule, detail.get("asset"), textOrNull(shown.get("asset_name").text()))
		r.figure(economicsRule, e.get("model"), model(s, &o))
		r.figure(economicsRule, e.get("category_percentile"), percentile(lowest, o.price()))
		r.figure(economicsRule, e.get("category_percentile_max"), percentile(highest, o.highest))
		r.figure(economicsRule, e.get("distinct_price_count"), len(o.distinct))
		r.figure(economicsRule, e.get("price_caveat"), o.caveat())
		r.figure(economicsRule, e.get("endpoint_count"), len(detail.get("endpoints").items()))
		r.figure(economicsRule, detail.get("endpoint_count"), len(detail.get("endpoints").items()))
		var stable *big.Rat
		if o.rows > 0 {
			prices := d.snap.json(s.file("price/period=all.json")).get("data").items()
			stable = cmp.Or(stability(prices, d.now.UTC().Format(time.DateOnly)), big.NewRat(1, 1))
		}
		r.figure(economicsRule, e.get("stability"), stable)
		figureNetworks(r, detail, o.networks)
	}
}

// figureNetworks compares the networks of a service or of an endpoint.
func figureNetworks(r *report, n node, ids []string) {
	name := func(id string) string {
		if network, ok := lookupNetwork(id); ok {
			return network.Abbreviation
		}
		return id
	}
	ids = slices.SortedFunc(slices.Values(ids), func(a, b string) int { return cmp.Compare(name(a), name(b)) })
	short := []string{}
	for _, id := range ids {
		short = append(short, name(id))
	}
	r.figure(economicsRule, n.get("networks"), short)
	if n.get("networks_caip2").exists() {
		r.figure(economicsRule, n.get("networks_caip2"), append([]string{}, ids...))
	}
}

// figureEndpoint compares an active endpoint with its evidence and its prices.
func figureEndpoint(d *directory, r *report, s *service, e node) {
	seen := e.get("last_seen_at").time()
	r.figure("How a service is checked", e.get("is_active"), d.now.Before(seen.Add(14*day)))
	var least *big.Rat
	var ids []string
	variable := 0
	rows := e.get("pricing").items()
	for _, p := range rows {
		if usd := counted(p); usd != nil && (least == nil || usd.Cmp(least) < 0) {
			least = usd
		}
		if id := p.get("network_caip2").text(); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		if isVariable(p) {
			variable++
		}
	}
	r.figure(economicsRule, e.get("min_price_usd"), least)
	r.figure(economicsRule, e.get("variable_amount"), variable > 0)
	figureNetworks(r, e, ids)
	for _, n := range s.evidence.get("endpoints").items() {
		if n.get("id").text() == e.get("id").text() {
			figurePricing(r, e, newProbed(n))
			return
		}
	}
}

// figurePricing compares the prices of an endpoint with the usable rows of the response that asked for them. If its
// latest terms are not usable, the prices are those of an earlier response and are inputs.
func figurePricing(r *report, e node, p *probed) {
	pricing := e.get("pricing")
	if p.published.get("verdict").text() != "paid" || p.terms.envelope == nil {
		pricing.leaves(r.input)
		r.input(e.get("last_seen_at"))
		return
	}
	r.figure("How a service is checked", e.get("last_seen_at"), p.graded.received)
	rows := []any{}
	for _, row := range p.terms.envelope.rows {
		if row.usable() {
			rows = append(rows, newPricing(&row))
		}
	}
	r.figure(economicsRule, pricing, rows)
}

// newPricing returns a payment option as it is published.
func newPricing(row *row) map[string]any {
	p := map[string]any{
		"scheme": row.scheme, "network": row.network, "network_caip2": row.network,
		"asset_address":      publishedAddress(row.network, row.asset),
		"asset_address_norm": row.assetNorm(), "asset_name": "UNKNOWN", "price": row.amount, "price_usd": nil,
		"pay_to":              publishedAddress(row.network, row.payTo),
		"max_timeout_seconds": nil, "testnet": false, "price_caveat": nil,
	}
	if asset, ok := lookupAsset(row); ok {
		p["asset_name"] = asset.Symbol
	}
	network, _ := lookupNetwork(row.network)
	usd := row.dollars()
	switch {
	case network.ID != "" && !network.Mainnet:
		p["testnet"], p["price_caveat"] = true, "test network"
	case usd == nil:
		p["price_caveat"] = "no known value in dollars"
	case usd.Sign() == 0:
		p["price_caveat"] = "the amount is 0"
	case usd.Cmp(big.NewRat(1000, 1)) > 0:
		p["price_caveat"] = "more than $1000 a call"
	}
	if usd != nil && p["testnet"] == false {
		p["price_usd"] = decimalText(usd)
	}
	if row.timeout != nil {
		p["max_timeout_seconds"] = *row.timeout
	}
	return p
}

// model returns how a service charges.
func model(s *service, o *offer) string {
	switch {
	case o.rows > 0 && o.variable == o.rows:
		return "per-token"
	case len(o.distinct) > 1:
		return "tiered"
	case len(o.distinct) == 1:
		return "flat"
	}
	active, open := 0, 0
	for _, n := range s.evidence.get("endpoints").items() {
		if n.get("is_active").bool() {
			active++
			if n.get("verdict").text() == "open" {
				open++
			}
		}
	}
	if active > 0 && open == active {
		return "free"
	}
	return "unknown"
}

// percentile returns 100 × the number of lower prices / the number of other prices, nil without any of them.
func percentile(prices []*big.Rat, price *big.Rat) *big.Rat {
	if price == nil || len(prices) < 2 {
		return nil
	}
	cheaper := 0
	for _, other := range prices {
		cheaper += max(0, price.Cmp(other))
	}
	return percent(cheaper, len(prices)-1)
}

// stability returns (30 - days on which a price changed) / 30 over the 30 days that end with a date, from the points of
// the price series. It is nil before the first price.
func stability(prices []node, date string) *big.Rat {
	last, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return nil
	}
	first := last.Add(-29 * day).Format(time.DateOnly)
	priced, changed := false, int64(0)
	for _, point := range prices {
		at := point.get("date").text()
		priced = priced || at <= date
		if first <= at && at <= date && point.get("changes").int() > 0 {
			changed++
		}
	}
	if !priced {
		return nil
	}
	return round(big.NewRat(30-changed, 30), 2)
}

// recomputePriceSeries computes the last point of a price series: until there is another point, all days are like it.
// The other points are what earlier visits found, and inputs.
func recomputePriceSeries(d *directory, r *report) {
	for _, s := range d.services {
		points := d.snap.json(s.file("price/period=all.json")).get("data")
		points.leaves(r.input)
		o := newOffer(s)
		items := points.items()
		if n := len(items); n > 0 && items[n-1].get("date").text() < d.now.UTC().Format(time.DateOnly) {
			r.figure(economicsRule, items[n-1].get("min_price_usd"), o.price())
			r.figure(economicsRule, items[n-1].get("max_price_usd"), o.highest)
		} else if n == 0 && o.price() != nil {
			r.compare(economicsRule, points, "no point", "a price")
		}
	}
}
