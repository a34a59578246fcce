package aggregate

import (
	"cmp"
	"math/big"
	"slices"

	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/snapshot"
)

const economicsRule = "Economics"

// recomputeStats computes the statistics of the directory.
func recomputeStats(snap *snapshot.Snapshot, r *snapshot.Report, details []snapshot.Node, checks int) {
	stats := snap.JSON("v1/stats.json").Get("data")
	var uptime24, uptime7, response, price average
	var prices []*big.Rat
	endpoints := 0
	for _, s := range details {
		endpoints += s.Get("endpoint_count").Int()
		uptime24.add(s.At("uptime", "24h").Number())
		uptime7.add(s.At("uptime", "7d").Number())
		response.add(s.Get("avg_response_time_ms").Number())
		for _, e := range s.Get("endpoints").Items() {
			if usd := e.Get("min_price_usd").Number(); usd != nil {
				prices = append(prices, usd)
				price.add(usd)
			}
		}
	}
	r.Figure(economicsRule, stats.Get("total_services"), len(details))
	r.Figure(economicsRule, stats.Get("total_endpoints"), endpoints)
	r.Figure(economicsRule, stats.Get("avg_uptime_24h"), uptime24.value(2))
	r.Figure(economicsRule, stats.Get("avg_uptime_7d"), uptime7.value(2))
	r.Figure(economicsRule, stats.Get("avg_response_time_ms"), response.value(2))
	r.Figure(economicsRule, stats.Get("checks_per_hour"), snapshot.Round(big.NewRat(int64(checks), 24), 2))

	slices.SortFunc(prices, (*big.Rat).Cmp)
	var least, greatest, median *big.Rat
	if n := len(prices); n > 0 {
		least, greatest = prices[0], prices[n-1]
		median = new(big.Rat).Add(prices[(n-1)/2], prices[n/2])
		median = snapshot.Round(median.Quo(median, big.NewRat(2, 1)), 9)
	}
	pricing := stats.Get("pricing")
	r.Figure(economicsRule, pricing.Get("avg_price_usd"), price.value(9))
	r.Figure(economicsRule, pricing.Get("min_price_usd"), least)
	r.Figure(economicsRule, pricing.Get("max_price_usd"), greatest)
	r.Figure(economicsRule, pricing.Get("median_price_usd"), median)

	networks := snap.JSON("v1/networks.json").Get("data").Items()
	mainnets := 0
	for _, n := range networks {
		if network, ok := conformance.LookupNetwork(n.Get("id").Text()); ok && network.Mainnet {
			mainnets++
		}
	}
	r.Figure(rule, stats.Get("total_networks"), mainnets)
	r.Figure(rule, stats.Get("total_testnets"), len(networks)-mainnets)
	slices.SortFunc(networks, func(a, b snapshot.Node) int {
		return cmp.Compare(a.Get("abbreviation").Text(), b.Get("abbreviation").Text())
	})
	rows := stats.Get("networks").Items()
	if len(rows) != len(networks) {
		r.Compare(rule, stats.Get("networks"), snapshot.Describe(stats.Get("networks").Value), "another number")
		return
	}
	for i, row := range rows {
		for _, name := range row.Keys() {
			r.Figure(rule, row.Get(name), networks[i].Get(name))
		}
	}
}
