package judge

import (
	"maps"
	"slices"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
)

// market is what the services of each category ask, to place one among the others.
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

// priceList are what services ask: many ask the same.
type priceList struct {
	counts   map[site.Decimal]int // by how many services
	services int

	// Once they are sorted:
	sorted  []site.Decimal // ascending, each once
	cheaper []int          // services that ask less than each
	median  site.Decimal   // of an even number the upper of the two in the middle
	outlier site.Decimal   // outlierFactor times that
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

// percentile is 100 × the number of services whose price is strictly lower / the number of other services, to two
// decimals: 0 for the cheapest; null without a price or another service. The price is itself among them.
func (p *priceList) percentile(price *site.Decimal) *float64 {
	if price == nil || p.services < 2 {
		return nil
	}
	i, _ := slices.BinarySearchFunc(p.sorted, *price, site.Decimal.Compare)
	share := site.Round2(100 * float64(p.cheaper[i]) / float64(p.services-1))
	return &share
}

// priceRank is where a service's prices stand among those of its category.
type priceRank struct {
	Percentile, PercentileMax *float64
	Outlier                   *site.RiskFlag
}

func (m *market) rank(category string, o *offer) priceRank {
	if o.min == nil {
		return priceRank{}
	}
	low, high := m.lowest[category], m.highest[category]
	return priceRank{low.percentile(o.min), high.percentile(o.max), flagOutlier(low, o.min, category)}
}

// newEconomics places a service's prices in its category. Prices are those in dollars of usable rows of active
// endpoints: price_usd is the lowest, price_max_usd the highest, distinct_price_count how many different ones there
// are.
func newEconomics(f *postgres.ServiceFacts, o *offer, s priceRank, now time.Time) site.Economics {
	return site.Economics{
		PriceUSD: o.min, PriceAtomic: o.atomic, PriceMaxUSD: o.max, EndpointCount: len(o.endpoints),
		DistinctPriceCount: o.distinct,
		CategoryPercentile: s.Percentile, CategoryPercentileMax: s.PercentileMax,
		Stability: priceStability(f, now), Model: priceModel(o, isFree(f, now)),
	}
}

// priceModel is per-token where the amount of every row is a maximum; else tiered with several prices, flat with one;
// free without a price where every active endpoint is served without payment; else unknown.
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

// isFree says whether there are active endpoints, and the latest conclusive answer of each was served without payment.
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

// stabilityDays is the span that stability looks at.
const stabilityDays = 30

// priceStability is the share of the last 30 UTC days on which no price of the service moved; null without prices. A
// price moves when the amount asked by one scheme, network and asset of an endpoint differs from the one before.
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

// amountsChanged compares the sets of amounts of each scheme, network and asset that both price sets have.
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

// newCompliance tells what the 14 checks say.
func newCompliance(f *postgres.ServiceFacts, got complianceResult, now time.Time) site.Compliance {
	c := site.Compliance{
		Grade: got.Grade, Passed: got.Passed, Total: got.Total, Checks: []site.ComplianceCheck{},
		Staleness: newStaleness(f, got.noneActive, now),
	}
	for _, k := range got.Checks {
		c.Checks = append(c.Checks, site.ComplianceCheck{ID: k.ID, Label: k.Label, Pass: k.Pass})
	}
	if got.PayToSource != "" {
		c.PayToSource, c.PayToLocation = &got.PayToSource, &got.PayToLocation
	}
	return c
}

// newStaleness is how old the judged answers are: captured when the oldest of the active endpoints' newest terms (of
// all endpoints' where none is active) was received; failing while the last conclusive visit was offline.
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
