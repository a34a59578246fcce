package facilitators

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"tollbook/.ci/recompute/snapshot"
)

// networkRow is what a facilitator settled on a network.
type networkRow struct {
	id, name       string
	last, previous *big.Rat // of 30 days and of the 30 before
	count          int
	trend          any
}

// RecomputeNetworks compares the facilitators of each network in /v1/coverage with the days of the facilitators.
func RecomputeNetworks(snap *snapshot.Snapshot, r *snapshot.Report, coverage snapshot.Node, isMain func(string) bool) {
	for _, n := range coverage.Get("networks").Items() {
		want := []any{}
		if network := n.Get("network_caip2").Text(); n.Get("measured").Bool() && isMain(network) {
			for _, row := range networkRows(snap, network) {
				want = append(want, map[string]any{"facilitator_id": row.id, "name": row.name,
					"volume_usd_30d": row.last, "tx_count_30d": row.count, "volume_usd_prev_30d": row.previous,
					"trend_30d_vs_prev_30d": row.trend})
			}
		}
		r.Figure(rule, n.Get("facilitators"), want)
	}
}

// networkRows returns the facilitators of a network in their order.
func networkRows(snap *snapshot.Snapshot, network string) []networkRow {
	today := snapshot.Midnight(snap.Now)
	month, before := today.AddDate(0, 0, -29).Format(time.DateOnly), today.AddDate(0, 0, -59).Format(time.DateOnly)
	var rows []networkRow
	for _, id := range snap.JSON("v1/index.json").Get("facilitators").Texts() {
		row, settled := networkRow{id: id, last: new(big.Rat), previous: new(big.Rat)}, false
		series := snap.JSON("v1/facilitators/"+id+"/period=all/series_by=chain.json").At("data", "series")
		for _, p := range series.Items() {
			volume := p.Get("volume_usd").Number()
			if p.Get("network_caip2").Text() != network || p.Get("date").Text() < before || volume == nil {
				continue
			}
			settled = true
			if p.Get("date").Text() < month {
				row.previous.Add(row.previous, volume)
				continue
			}
			row.last.Add(row.last, volume)
			row.count += p.Get("tx_count").Int()
		}
		if !settled {
			continue
		}
		detail := snap.JSON("v1/facilitators/" + id + ".json").Get("data")
		row.name = detail.Get("name").Text()
		for _, c := range detail.Get("chains").Items() {
			first := c.Get("first_activity_at")
			if c.Get("network_caip2").Text() == network && first.HasValue() && row.previous.Sign() > 0 &&
				snap.Now.Sub(first.Time()) >= 60*snapshot.Day {
				row.trend = snapshot.Round(new(big.Rat).Quo(row.last, row.previous), 4)
			}
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b networkRow) int {
		return cmp.Or(b.last.Cmp(a.last), b.count-a.count, cmp.Compare(a.id, b.id))
	})
	return rows
}
