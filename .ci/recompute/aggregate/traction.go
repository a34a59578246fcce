package aggregate

import (
	"math/big"
	"slices"

	"tollbook/.ci/recompute/snapshot"
)

const tractionRule = "Traction"

// recomputeGrowth counts verified, payable and new services.
func recomputeGrowth(snap *snapshot.Snapshot, r *snapshot.Report, details []snapshot.Node) {
	stats := snap.JSON("v1/stats.json").Get("data")
	verified, ready, week, month := 0, 0, 0, 0
	for _, s := range details {
		age := snap.Now.Sub(s.Get("created_at").Time())
		verified += one(s.Get("verified").Bool())
		ready += one(s.Get("payment_ready").Bool())
		week += one(age < 7*snapshot.Day)
		month += one(age < 30*snapshot.Day)
	}
	r.Figure(rule, stats.Get("verified_count"), verified)
	r.Figure(rule, stats.Get("payment_ready_count"), ready)
	r.Figure(rule, stats.Get("listing_growth"), map[string]any{"new_7d": week, "new_30d": month})
	r.Figure(rule, stats.Get("computed_at"), snap.Now.UTC().Format(snapshot.TimeLayout))
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// recomputeTraction sums the traction of services and the volume of facilitators.
func recomputeTraction(snap *snapshot.Snapshot, r *snapshot.Report, details []snapshot.Node) {
	stats := snap.JSON("v1/stats.json").Get("data")
	measured, oldest, since := recomputeMeasurement(snap)
	r.Figure(tractionRule, stats.At("on_chain_measurement", "measured_since"), since[0])
	r.Figure(tractionRule, stats.At("on_chain_measurement", "all_networks_measured_since"), since[1])
	var volumes []*big.Rat
	count := 0
	for _, s := range details {
		if t := s.At("assessment", "traction"); t.Get("status").Text() == "measured" {
			volumes = append(volumes, t.Get("volume_usd_30d").Number())
			count += t.Get("tx_count_30d").Int()
		}
	}
	slices.SortFunc(volumes, func(a, b *big.Rat) int { return b.Cmp(a) })
	services, facilitators := sum(volumes), new(big.Rat)
	for _, id := range snap.JSON("v1/index.json").Get("facilitators").Texts() {
		facilitators.Add(facilitators, snap.JSON("v1/facilitators/"+id+".json").At("data", "volume_usd_30d").Number())
	}
	want := map[string]any{
		"as_of": snap.Now.UTC().Format(snapshot.TimeLayout), "measured_services": len(volumes),
		"measured_networks": measured, "unique_buyers_30d": nil,
		"measured_flow_freshness": freshness(snap, oldest),
	}
	metrics := map[string]any{
		"volume_usd_30d": services, "settlement_count_30d": count,
		"coverage_of_measured_flow_pct": share(services, facilitators),
		"top_1_service_share_pct":       share(sum(volumes[:min(1, len(volumes))]), services),
		"top_10_services_share_pct":     share(sum(volumes[:min(10, len(volumes))]), services),
	}
	var volume any = facilitators
	if measured == 0 {
		volume = nil
	}
	r.Figure(tractionRule, stats.Get("facilitator_volume_usd_30d"), volume)
	for name, value := range metrics {
		if measured == 0 {
			value = nil
		}
		want[name] = value
	}
	for name, value := range want {
		r.Figure(tractionRule, stats.At("traction", name), value)
	}
}

// recomputeMeasurement returns the number of measured networks, the age of the cursor that is furthest behind, and
// since when the first and all of them are measured.
func recomputeMeasurement(snap *snapshot.Snapshot) (measured int, oldest any, since [2]any) {
	most := -1
	var times []string
	for _, n := range snap.JSON("v1/coverage.json").At("data", "networks").Items() {
		measured += one(n.Get("measured").Bool())
		if t := n.Get("measured_since"); t.HasValue() {
			times = append(times, t.Text())
		}
		if age := n.At("cursor", "age_seconds"); age.HasValue() && age.Int() > most {
			most = age.Int()
			oldest = most
		}
	}
	if len(times) > 0 {
		since = [2]any{slices.Min(times), slices.Max(times)}
	}
	return measured, oldest, since
}

// freshness counts networks that are read and facilitators on them, all and those that are stale.
func freshness(snap *snapshot.Snapshot, oldest any) map[string]any {
	isStale, stale := map[string]bool{}, 0
	for _, n := range snap.JSON("v1/coverage.json").At("data", "networks").Items() {
		if n.Get("cursor").HasValue() {
			age := n.At("cursor", "age_seconds")
			is := !age.HasValue() || age.Int() > 3600
			isStale[n.Get("network_caip2").Text()] = is
			stale += one(is)
		}
	}
	facilitators, staleOnes := 0, 0
	for _, id := range snap.JSON("v1/index.json").Get("facilitators").Texts() {
		onAny, onStale := false, false
		for _, s := range snap.JSON("v1/facilitators/"+id+".json").At("data", "settlers").Items() {
			is, ok := isStale[s.Get("network_caip2").Text()]
			enabled := s.Get("enabled").Bool()
			onAny, onStale = onAny || ok && enabled, onStale || is && enabled
		}
		facilitators, staleOnes = facilitators+one(onAny), staleOnes+one(onStale)
	}
	return map[string]any{"oldest_cursor_age_seconds": oldest, "total_sync_groups": len(isStale),
		"stale_sync_groups": stale, "total_facilitators": facilitators, "stale_facilitators": staleOnes}
}

func sum(volumes []*big.Rat) *big.Rat {
	total := new(big.Rat)
	for _, v := range volumes {
		total.Add(total, v)
	}
	return total
}

// share returns part of whole in percent with two decimals, nil if the whole is 0 or less than the part.
func share(part, whole *big.Rat) any {
	if whole.Sign() == 0 || part.Cmp(whole) > 0 {
		return nil
	}
	p := new(big.Rat).Quo(part, whole)
	return snapshot.Round(p.Mul(p, big.NewRat(100, 1)), 2)
}
