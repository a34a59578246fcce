package judge

import (
	"maps"
	"slices"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
)

// market has the prices of the services of each category.
type market struct {
	lowest, highest map[string]*priceList // by category
}

func newMarket() *market { return &market{map[string]*priceList{}, map[string]*priceList{}} }

func (m *market) add(category string, o *offer) {
	if o.min == nil {
		return
	}
	if m.lowest[category] == nil {
		m.lowest[category], m.highest[category] = newPriceList(), newPriceList()
	}
	m.lowest[category].add(*o.min)
	m.highest[category].add(*o.max)
}

func (m *market) sort() {
	for _, by := range []map[string]*priceList{m.lowest, m.highest} {
		for _, p := range by {
			p.sort()
		}
	}
}

// priceList counts the services by price.
type priceList struct {
	counts   map[site.Decimal]int // number of services by price
	services int

	// After sort:
	sorted  []site.Decimal // ascending, each once
	cheaper []int          // number of services with a lower price than each
	median  site.Decimal   // of an even number of prices the upper of the two in the middle
	outlier site.Decimal   // outlierFactor times the median
}

func newPriceList() *priceList { return &priceList{counts: map[site.Decimal]int{}} }

func (p *priceList) add(price site.Decimal) {
	p.counts[price]++
	p.services++
}

func (p *priceList) sort() {
	p.sorted = slices.SortedFunc(maps.Keys(p.counts), site.Decimal.Compare)
	p.cheaper = make([]int, len(p.sorted))
	below := 0
	for i, price := range p.sorted {
		p.cheaper[i] = below
		if below <= p.services/2 {
			p.median = price
		}
		below += p.counts[price]
	}
	p.outlier = multiply(p.median, outlierFactor)
}

// percentile returns 100 × the number of services with a lower price / the number of other services, to two decimals.
// The cheapest service has 0. It returns nil without a price or another service. The list must contain the price.
func (p *priceList) percentile(price *site.Decimal) *float64 {
	if price == nil || p.services < 2 {
		return nil
	}
	i, _ := slices.BinarySearchFunc(p.sorted, *price, site.Decimal.Compare)
	share := site.Round2(100 * float64(p.cheaper[i]) / float64(p.services-1))
	return &share
}

// priceRank is the rank of a service's prices among those of its category.
type priceRank struct {
	Percentile, PercentileMax *float64
	Outlier                   *site.RiskFlag
}

// rank returns the rank of a service's prices in its category.
func (m *market) rank(category string, o *offer) priceRank {
	if o.min == nil {
		return priceRank{}
	}
	low, high := m.lowest[category], m.highest[category]
	return priceRank{low.percentile(o.min), high.percentile(o.max), flagOutlier(low, o.min, category)}
}

// newEconomics returns the prices of a service and their rank in its category. It counts the dollar prices of usable
// rows of active endpoints: price_usd is the lowest, price_max_usd the highest and distinct_price_count the number of
// different ones.
func newEconomics(f *postgres.ServiceFacts, o *offer, s priceRank, now time.Time) site.Economics {
	return site.Economics{
		PriceUSD: o.min, PriceAtomic: o.atomic, PriceMaxUSD: o.max, EndpointCount: len(o.endpoints),
		DistinctPriceCount: o.distinct,
		CategoryPercentile: s.Percentile, CategoryPercentileMax: s.PercentileMax,
		Stability: priceStability(f, now), Model: priceModel(o, isFree(f, now)),
	}
}

// priceModel returns how a service charges: per-token if every amount is a maximum, tiered with several prices, and
// flat with one price. Without a price it is free if all active endpoints answer without payment, and unknown
// otherwise.
func priceModel(o *offer, free bool) string {
	switch {
	case o.variable:
		return "per-token"
	case o.distinct > 1:
		return "tiered"
	case o.distinct == 1:
		return "flat"
	case free:
		return "free"
	}
	return "unknown"
}

// isFree reports whether a service has active endpoints whose newest conclusive responses were all served without
// payment.
func isFree(f *postgres.ServiceFacts, now time.Time) bool {
	open := 0
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		if !site.IsActive(e.FirstSeenAt, e.LastPaidAt, now) {
			continue
		}
		if e.Verdict == nil || *e.Verdict != "open" {
			return false
		}
		open++
	}
	return open > 0
}

// stabilityDays is the number of UTC days that price stability covers.
const stabilityDays = 30

// priceStability returns the share of the last 30 UTC days on which no price of the service changed. It returns nil
// without prices. A price changes when an endpoint asks another amount in the same scheme, network and asset.
func priceStability(f *postgres.ServiceFacts, now time.Time) *float64 {
	from := midnight(now).AddDate(0, 0, 1-stabilityDays)
	changed := map[time.Time]bool{}
	priced := false
	for _, e := range f.Endpoints {
		var before []postgres.Price
		for set := range priceSets(e.Prices) {
			priced = priced || set[0].Until == nil
			if !set[0].Since.Before(from) && amountsChanged(before, set) {
				changed[set[0].Since.UTC().Truncate(24*time.Hour)] = true
			}
			before = set
		}
	}
	if !priced {
		return nil
	}
	s := site.Round2(float64(stabilityDays-len(changed)) / stabilityDays)
	return &s
}

// amountsChanged reports whether the amounts differ for any scheme, network and asset that both sets of prices have.
func amountsChanged(before, after []postgres.Price) bool {
	type way struct{ scheme, network, asset string }
	amounts := func(prices []postgres.Price) map[way][]string {
		by := map[way][]string{}
		for _, p := range prices {
			w := way{p.Scheme, p.Network, p.Asset}
			by[w] = insertSorted(by[w], p.Amount)
		}
		return by
	}
	now := amounts(after)
	for w, was := range amounts(before) {
		if is, both := now[w]; both && !slices.Equal(was, is) {
			return true
		}
	}
	return false
}

// newCompliance returns the published results of the 14 checks.
func newCompliance(f *postgres.ServiceFacts, result complianceResult, now time.Time) site.Compliance {
	c := site.Compliance{
		Grade: result.Grade, Passed: result.Passed, Total: result.Total, Checks: []site.ComplianceCheck{},
		Staleness: newStaleness(f, result.noneActive, now),
	}
	for _, k := range result.Checks {
		c.Checks = append(c.Checks, site.ComplianceCheck{ID: k.ID, Label: k.Label, Pass: k.Pass})
	}
	if result.PayToSource != "" {
		c.PayToSource, c.PayToLocation = &result.PayToSource, &result.PayToLocation
	}
	return c
}

// newStaleness returns the age of the judged responses. EnvelopeCapturedAt is the time of the oldest of the newest
// envelopes of the active endpoints, or of all endpoints if none is active. ProbeFailing says that the last conclusive
// visit was offline.
func newStaleness(f *postgres.ServiceFacts, noneActive bool, now time.Time) site.Staleness {
	var captured *time.Time
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		if v := e.Envelope; v != nil && (noneActive || site.IsActive(e.FirstSeenAt, e.LastPaidAt, now)) &&
			(captured == nil || v.ReceivedAt.Before(*captured)) {
			captured = &v.ReceivedAt
		}
	}
	return site.Staleness{
		ProbeFailing: f.ConsecutiveFailures > 0, LastSuccessAt: timeOrNull(f.LastSuccessAt),
		EnvelopeCapturedAt: timeOrNull(captured),
	}
}
