package main

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"tollbook/.ci/recompute/charge"
	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/snapshot"
)

const economicsRule = "Economics"

// offer is what a service asks for now, from the prices of its active endpoints.
type offer struct {
	rows, variable int           // payment options; those whose amount is a maximum
	first          snapshot.Node // the first payment option
	lowest         snapshot.Node // the option with the lowest price in dollars
	highest        *big.Rat      // nil without a price in dollars
	distinct       map[string]bool
	networks       []string // CAIP-2
	left           int      // rows that do not count
	reasons        []string // why they do not
}

// price returns the lowest price in dollars, nil without one.
func (o *offer) price() *big.Rat { return o.lowest.Get("price_usd").Number() }

func newOffer(s *service) offer {
	o := offer{distinct: map[string]bool{}}
	other := conformance.SpeaksOther(s.detail)
	for _, e := range s.detail.Get("endpoints").Items() {
		for _, p := range e.Get("pricing").Items() {
			if id := p.Get("network_caip2").Text(); id != "" && !slices.Contains(o.networks, id) {
				o.networks = append(o.networks, id)
			}
			if !other && p.Get("protocol").Text() != "x402" {
				continue
			}
			if o.rows++; o.rows == 1 {
				o.first = p
			}
			if isVariable(p) {
				o.variable++
			}
			usd := counted(p)
			if usd == nil {
				o.left++
				if reason := p.Get("price_caveat").Text(); !slices.Contains(o.reasons, reason) {
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
func counted(p snapshot.Node) *big.Rat {
	usd := p.Get("price_usd").Number()
	if usd == nil || p.Get("testnet").Bool() || usd.Sign() == 0 || usd.Cmp(big.NewRat(1000, 1)) > 0 {
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
func isVariable(p snapshot.Node) bool {
	scheme := p.Get("scheme").Text()
	if _, intent, ok := strings.Cut(scheme, "/"); ok && p.Get("protocol").Text() == "mpp" {
		return intent != "charge" && intent != "subscription"
	}
	return scheme == "upto" || scheme == "batch-settlement" &&
		conformance.NamespaceOf(p.Get("network_caip2").Text()) == "eip155"
}

// recomputeEconomics computes prices, endpoints and their places in the category.
func recomputeEconomics(d *directory, r *snapshot.Report) {
	offers := map[*service]offer{}
	for _, s := range d.services {
		offers[s] = newOffer(s)
	}
	for _, s := range d.services {
		o := offers[s]
		for _, e := range s.detail.Get("endpoints").Items() {
			figureEndpoint(d, r, s, e)
		}
		var lowest, highest []*big.Rat // of the category
		for _, other := range d.services {
			if p := offers[other]; p.price() != nil && !conformance.SpeaksOther(other.detail) &&
				other.detail.Get("category").Text() == s.detail.Get("category").Text() {
				lowest, highest = append(lowest, p.price()), append(highest, p.highest)
			}
		}
		detail, e := s.detail, s.detail.At("assessment", "economics")
		r.Figure(economicsRule, detail.Get("min_price_usd"), o.price())
		r.Figure(economicsRule, e.Get("price_usd"), o.price())
		r.Figure(economicsRule, e.Get("price_max_usd"), o.highest)
		shown := o.lowest
		if o.price() == nil {
			shown = o.first
		}
		r.Figure(economicsRule, e.Get("price_atomic"), snapshot.TextOrNull(shown.Get("price").Text()))
		r.Figure(economicsRule, detail.Get("asset"), snapshot.TextOrNull(shown.Get("asset_name").Text()))
		r.Figure(economicsRule, e.Get("model"), model(s, &o))
		r.Figure(economicsRule, e.Get("category_percentile"), rank(s, lowest, o.price()))
		r.Figure(economicsRule, e.Get("category_percentile_max"), rank(s, highest, o.highest))
		r.Figure(economicsRule, e.Get("distinct_price_count"), len(o.distinct))
		r.Figure(economicsRule, e.Get("price_caveat"), o.caveat())
		r.Figure(economicsRule, e.Get("endpoint_count"), len(detail.Get("endpoints").Items()))
		r.Figure(economicsRule, detail.Get("endpoint_count"), len(detail.Get("endpoints").Items()))
		var stable *big.Rat
		if o.rows > 0 {
			prices := d.snap.JSON(s.file("price/period=all.json")).Get("data").Items()
			stable = cmp.Or(stability(prices, d.now.UTC().Format(time.DateOnly)), big.NewRat(1, 1))
		}
		r.Figure(economicsRule, e.Get("stability"), stable)
		figureNetworks(r, detail, o.networks)
	}
}

// figureNetworks compares the networks of a service or of an endpoint.
func figureNetworks(r *snapshot.Report, n snapshot.Node, ids []string) {
	name := func(id string) string {
		if network, ok := conformance.LookupNetwork(id); ok {
			return network.Abbreviation
		}
		return id
	}
	ids = slices.SortedFunc(slices.Values(ids), func(a, b string) int { return cmp.Compare(name(a), name(b)) })
	short := []string{}
	for _, id := range ids {
		short = append(short, name(id))
	}
	r.Figure(economicsRule, n.Get("networks"), short)
	if n.Get("networks_caip2").Exists() {
		r.Figure(economicsRule, n.Get("networks_caip2"), append([]string{}, ids...))
	}
}

// figureEndpoint compares an active endpoint with its evidence and its prices.
func figureEndpoint(d *directory, r *snapshot.Report, s *service, e snapshot.Node) {
	seen := e.Get("last_seen_at").Time()
	r.Figure("How a service is checked", e.Get("is_active"), d.now.Before(seen.Add(14*snapshot.Day)))
	var least *big.Rat
	var ids []string
	variable := 0
	rows := conformance.Counted(e)
	for _, p := range e.Get("pricing").Items() {
		if id := p.Get("network_caip2").Text(); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, p := range rows {
		if usd := counted(p); usd != nil && (least == nil || usd.Cmp(least) < 0) {
			least = usd
		}
		if isVariable(p) {
			variable++
		}
	}
	r.Figure(economicsRule, e.Get("min_price_usd"), least)
	r.Figure(economicsRule, e.Get("variable_amount"), variable > 0)
	protocol := ""
	if items := e.Get("pricing").Items(); len(items) > 0 {
		protocol = items[0].Get("protocol").Text()
	}
	r.Figure(economicsRule, e.Get("protocol"), snapshot.TextOrNull(protocol))
	figureNetworks(r, e, ids)
	for _, n := range s.evidence.Get("endpoints").Items() {
		if n.Get("id").Text() == e.Get("id").Text() {
			figurePricing(d, r, s, e, conformance.NewProbed(n))
			return
		}
	}
}

// figurePricing compares the prices of an endpoint with the usable rows, and the usable offers over other protocols, of
// the response that asked for them. If its latest terms are not usable, the prices are those of an earlier response and
// are inputs.
func figurePricing(d *directory, r *snapshot.Report, s *service, e snapshot.Node, p *conformance.Probed) {
	pricing := e.Get("pricing")
	if p.Published.Get("verdict").Text() != "paid" || p.Answer == nil {
		pricing.Leaves(r.Input)
		r.Input(e.Get("last_seen_at"))
		return
	}
	r.Figure("How a service is checked", e.Get("last_seen_at"), p.Answer.Received)
	rows := []any{}
	list := pricing.Items()
	if p.Terms.Envelope != nil && !isPaidOther(p) {
		for _, row := range p.Terms.Envelope.Rows {
			if row.Usable() {
				rows = append(rows, newPricing(&row))
				if n := len(rows); n <= len(list) && isVariable(list[n-1]) {
					rows[n-1].(map[string]any)["settled"] = charge.Of(d.snap, s.detail, e, list[n-1])
				}
			}
		}
	}
	if p.Answer.IsCut() { // offers over other protocols may be missing
		for i, n := range list {
			if i < len(rows) {
				r.Figure(economicsRule, n, rows[i])
			} else {
				n.Leaves(r.Input)
			}
		}
		return
	}
	for _, o := range p.Offers() {
		if o.Usable() {
			row := o.Pricing()
			if o.Variable && e.Get("variable_amount").Bool() {
				row["settled"] = charge.Unknown("payments for such a price are not measured")
			}
			rows = append(rows, row)
		}
	}
	r.Figure(economicsRule, pricing, rows)
}

// newPricing returns a payment option as it is published.
func newPricing(row *conformance.Row) map[string]any {
	p := map[string]any{
		"scheme": row.Scheme, "network": row.Network, "network_caip2": row.Network,
		"asset_address":      conformance.PublishedAddress(row.Network, row.Asset),
		"asset_address_norm": row.AssetNorm(), "asset_name": "UNKNOWN", "price": row.Amount, "price_usd": nil,
		"pay_to":              conformance.PublishedAddress(row.Network, row.PayTo),
		"max_timeout_seconds": nil, "protocol": "x402", "testnet": false, "price_caveat": nil,
		"settled": nil,
	}
	if asset, ok := conformance.LookupAsset(row); ok {
		p["asset_name"] = asset.Symbol
	}
	network, _ := conformance.LookupNetwork(row.Network)
	usd := row.Dollars()
	isTest := network.ID != "" && !network.Mainnet
	p["testnet"], p["price_caveat"] = isTest, conformance.PriceCaveat(isTest, usd)
	if usd != nil && p["testnet"] == false {
		p["price_usd"] = snapshot.DecimalText(usd)
	}
	if row.Timeout != nil {
		p["max_timeout_seconds"] = *row.Timeout
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
	for _, n := range s.evidence.Get("endpoints").Items() {
		if n.Get("is_active").Bool() {
			active++
			if n.Get("verdict").Text() == "open" {
				open++
			}
		}
	}
	if active > 0 && open == active {
		return "free"
	}
	return "unknown"
}

// rank returns the percentile of a price, nil for a service without prices over x402.
func rank(s *service, prices []*big.Rat, price *big.Rat) *big.Rat {
	if conformance.SpeaksOther(s.detail) {
		return nil
	}
	return percentile(prices, price)
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
	return snapshot.Percent(cheaper, len(prices)-1)
}

// stability returns (30 - days on which a price changed) / 30 over the 30 days that end with a date, from the points of
// the price series. It is nil before the first price.
func stability(prices []snapshot.Node, date string) *big.Rat {
	last, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return nil
	}
	first := last.Add(-29 * snapshot.Day).Format(time.DateOnly)
	priced, changed := false, int64(0)
	for _, point := range prices {
		at := point.Get("date").Text()
		priced = priced || at <= date
		if first <= at && at <= date && point.Get("changes").Int() > 0 {
			changed++
		}
	}
	if !priced {
		return nil
	}
	return snapshot.Round(big.NewRat(30-changed, 30), 2)
}

// recomputePriceSeries computes the last point of a price series: until there is another point, all days are like it.
// The other points are what earlier visits found, and inputs.
func recomputePriceSeries(d *directory, r *snapshot.Report) {
	for _, s := range d.services {
		points := d.snap.JSON(s.file("price/period=all.json")).Get("data")
		points.Leaves(r.Input)
		o := newOffer(s)
		items := points.Items()
		for _, point := range items {
			r.Figure(economicsRule, point.Get("price_usd"), point.Get("min_price_usd"))
		}
		if n := len(items); n > 0 && items[n-1].Get("date").Text() < d.now.UTC().Format(time.DateOnly) {
			r.Figure(economicsRule, items[n-1].Get("min_price_usd"), o.price())
			r.Figure(economicsRule, items[n-1].Get("max_price_usd"), o.highest)
		} else if n == 0 && o.price() != nil {
			r.Compare(economicsRule, points, "no point", "a price")
		}
	}
}
