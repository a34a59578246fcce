package price

import (
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
)

// NewEconomics returns the prices of a service and their rank in its category. price_usd is the lowest counted price,
// price_max_usd the highest and distinct_price_count the number of different ones. Stability is null without a row.
func NewEconomics(f *postgres.ServiceFacts, o *Offer, r Rank, h *History, now time.Time) site.Economics {
	e := site.Economics{
		PriceUSD: o.Lowest, PriceCondition: o.Condition, PriceAtomic: o.Atomic, PriceMaxUSD: o.Highest,
		EndpointCount:      o.Endpoints,
		DistinctPriceCount: len(o.distinct),
		CategoryPercentile: r.Percentile, CategoryPercentileMax: r.PercentileMax,
		Model: model(o, isFree(f, now)), PriceCaveat: o.caveat(),
	}
	if r.Others > 0 {
		e.CategoryOthers, e.CategoryDearer = &r.Others, &r.Dearer
	}
	if o.rows > 0 {
		e.Stability = h.Stability(h.today)
	}
	return e
}

// model returns how a service charges: per-token if every amount is a maximum, tiered with several prices, and
// flat with one price. Without a price it is free if all active endpoints answer without payment, and unknown
// otherwise.
func model(o *Offer, free bool) string {
	switch {
	case o.isVariable():
		return "per-token"
	case len(o.distinct) > 1:
		return "tiered"
	case len(o.distinct) == 1:
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
		if !e.IsActive(now) {
			continue
		}
		if e.Verdict == nil || *e.Verdict != "open" {
			return false
		}
		open++
	}
	return open > 0
}
