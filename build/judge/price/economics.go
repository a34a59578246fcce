package price

import (
	"slices"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
)

// NewEconomics returns the prices of a service and their rank in its category. price_usd is the lowest,
// price_max_usd the highest and distinct_price_count the number of different ones.
func NewEconomics(f *postgres.ServiceFacts, o *Offer, r Rank, now time.Time) site.Economics {
	return site.Economics{
		PriceUSD: o.Lowest, PriceAtomic: o.Atomic, PriceMaxUSD: o.Highest, EndpointCount: o.Endpoints,
		DistinctPriceCount: len(o.distinct),
		CategoryPercentile: r.Percentile, CategoryPercentileMax: r.PercentileMax,
		Stability: stability(f, now), Model: model(o, isFree(f, now)),
	}
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

// StabilityDays is the number of UTC days that price stability covers.
const StabilityDays = 30

// stability returns the share of the last 30 UTC days on which no price of the service changed. It returns nil
// without prices. A price changes when an endpoint asks another amount in the same scheme, network and asset.
func stability(f *postgres.ServiceFacts, now time.Time) *float64 {
	from := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-StabilityDays)
	changed := map[time.Time]bool{}
	priced := false
	for _, e := range f.Endpoints {
		var before []postgres.Price
		for set := range Sets(e.Prices) {
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
	s := site.Round2(float64(StabilityDays-len(changed)) / StabilityDays)
	return &s
}

// amountsChanged reports whether the amounts differ for any scheme, network and asset that both sets of prices have.
func amountsChanged(before, after []postgres.Price) bool {
	type way struct{ scheme, network, asset string }
	amounts := func(prices []postgres.Price) map[way][]string {
		by := map[way][]string{}
		for _, p := range prices {
			w := way{p.Scheme, p.Network, p.Asset}
			if i, ok := slices.BinarySearch(by[w], p.Amount); !ok {
				by[w] = slices.Insert(by[w], i, p.Amount)
			}
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
