package facilitators

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"tollbook/.ci/recompute/snapshot"
)

// day is what was settled on a day.
type day struct {
	volume *big.Rat
	count  int
}

func (d *day) add(volume *big.Rat, count int) {
	if d.volume == nil {
		d.volume = new(big.Rat)
	}
	if volume != nil {
		d.volume.Add(d.volume, volume)
	}
	d.count += count
}

// RecomputeTokens compares the days of the tokens of each network in /v1/coverage with the days of the network, and
// their sums of 7 and 30 days with those of the facilitators.
func RecomputeTokens(snap *snapshot.Snapshot, r *snapshot.Report, coverage snapshot.Node) {
	chains := listChains(snap)
	for _, n := range coverage.Get("networks").Items() {
		days := map[string]*day{}
		tokens := n.Get("timeseries_by_token")
		sorted := slices.SortedFunc(slices.Values(tokens.Items()), func(a, b snapshot.Node) int {
			return cmp.Compare(a.Get("token_address").Text(), b.Get("token_address").Text())
		})
		for i, t := range tokens.Items() {
			r.Figure(rule, t.Get("token_address"), sorted[i].Get("token_address"))
			compareToken(snap, r, t, chains[n.Get("network_caip2").Text()])
			for _, p := range t.Get("timeseries").Items() {
				date := p.Get("date").Text()
				if days[date] == nil {
					days[date] = &day{}
				}
				days[date].add(p.Get("volume_usd").Number(), p.Get("tx_count").Int())
			}
		}
		points := n.Get("timeseries").Items()
		for _, p := range points {
			sum := days[p.Get("date").Text()]
			if sum == nil {
				r.Compare(rule, tokens, p.Get("date").Text(), "a day of a token")
				continue
			}
			r.Figure(rule, p.Get("volume_usd"), sum.volume)
			r.Figure(rule, p.Get("tx_count"), sum.count)
		}
		if len(days) != len(points) {
			r.Compare(rule, tokens, "other days", "the days of the network")
		}
	}
}

// compareToken compares the days of a token. chains are those of all facilitators on its network.
func compareToken(snap *snapshot.Snapshot, r *snapshot.Report, t snapshot.Node, chains []snapshot.Node) {
	var name any
	hasValue := false
	sums := map[int]*day{7: {}, 30: {}}
	for _, c := range chains {
		if c.Get("token_address").Text() != t.Get("token_address").Text() {
			continue
		}
		name = c.Get("asset_name")
		hasValue = hasValue || c.Get("volume_usd_all").HasValue()
		sums[7].add(c.Get("volume_usd_7d").Number(), c.Get("tx_count_7d").Int())
		sums[30].add(c.Get("volume_usd_30d").Number(), c.Get("tx_count_30d").Int())
	}
	r.Figure(rule, t.Get("asset_name"), name)
	last := ""
	for _, p := range t.Get("timeseries").Items() {
		date := p.Get("date").Text()
		if date <= last || p.Get("volume_usd").HasValue() != hasValue {
			r.Compare(rule, p, snapshot.Describe(p.Value), "a later day with the same kind of value")
		}
		last = date
		for length, sum := range sums {
			if date > snapshot.Midnight(snap.Now).AddDate(0, 0, -length).Format(time.DateOnly) {
				if volume := p.Get("volume_usd").Number(); volume != nil {
					sum.add(new(big.Rat).Neg(volume), 0)
				}
				sum.add(nil, -p.Get("tx_count").Int())
			}
		}
	}
	for _, sum := range sums {
		if sum.count != 0 || sum.volume != nil && sum.volume.Sign() != 0 {
			r.Compare(rule, t.Get("timeseries"), "other sums", "the sums of the facilitators")
		}
	}
}

// listChains returns the sums of all facilitators by network.
func listChains(snap *snapshot.Snapshot) map[string][]snapshot.Node {
	by := map[string][]snapshot.Node{}
	for _, id := range snap.JSON("v1/index.json").Get("facilitators").Texts() {
		for _, c := range snap.JSON("v1/facilitators/"+id+".json").At("data", "chains").Items() {
			caip2 := c.Get("network_caip2").Text()
			by[caip2] = append(by[caip2], c)
		}
	}
	return by
}
