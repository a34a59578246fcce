// Package facilitators recomputes what follows from the sums of a facilitator: averages, the trend, the series and the
// counts of payers and services. It reads a snapshot alone.
package facilitators

import (
	"math/big"
	"slices"
	"time"

	"tollbook/.ci/recompute/snapshot"
)

const rule = "methodology, Facilitators"

// Members are the members of a facilitator's record that rows of lists do not have.
var Members = []string{"avg_settlement_usd_30d", "avg_settlement_usd_all", "trend_7d_vs_prev_7d",
	"trend_30d_vs_prev_30d", "listed_services", "method", "caveat", "series"}

// Facilitator is the published record of one facilitator.
type Facilitator struct {
	ID     string
	Detail snapshot.Node
	IsMain func(caip2 string) bool // whether a network is no test network
	// the listed services whose payments it settled in 30 days: rows of services with their status
	Served []map[string]any
	Ever   int // number of services whose payments it ever settled
}

// Recompute compares the record of a facilitator, and its files by period and network.
func (f *Facilitator) Recompute(snap *snapshot.Snapshot, r *snapshot.Report) {
	isMeasured := f.Detail.Get("verification").Text() == "on-chain"
	for _, window := range []string{"30d", "all"} {
		r.Figure(rule, f.Detail.Get("avg_settlement_usd_"+window), f.average(window, isMeasured))
	}
	r.Figure(rule, f.Detail.Get("trend_7d_vs_prev_7d"), f.trend(7, snap.Now, isMeasured))
	r.Figure(rule, f.Detail.Get("trend_30d_vs_prev_30d"), f.trend(30, snap.Now, isMeasured))
	f.compareBuyers(r, isMeasured)
	f.compareServices(r, isMeasured)
	f.compareSettlers(r)
	f.compareFirst(r)
	for _, name := range []string{"method", "caveat"} {
		r.Input(f.Detail.Get(name))
	}
	r.Input(f.Detail.At("buyers", "caveat"))
	r.Input(f.Detail.At("listed_services", "caveat"))
	f.compareFiles(snap, r)
}

// average returns the dollars of a settlement on average, nil without one.
func (f *Facilitator) average(window string, isMeasured bool) any {
	volume, count := new(big.Rat), 0
	for _, c := range f.Detail.Get("chains").Items() {
		if usd := c.Get("volume_usd_" + window).Number(); usd != nil && f.IsMain(c.Get("network_caip2").Text()) {
			volume.Add(volume, usd)
			count += c.Get("tx_count_" + window).Int()
		}
	}
	if !isMeasured || count == 0 {
		return nil
	}
	return snapshot.Round(volume.Quo(volume, big.NewRat(int64(count), 1)), 6)
}

// trend returns the volume of the last points, one a day, by that of as many before, nil for a young facilitator.
func (f *Facilitator) trend(days int, now time.Time, isMeasured bool) any {
	first, points := f.Detail.Get("first_activity_at"), f.Detail.Get("timeseries").Items()
	if !isMeasured || !first.HasValue() || now.Sub(first.Time()) < 2*time.Duration(days)*snapshot.Day ||
		len(points) < 2*days {
		return nil
	}
	sum := func(points []snapshot.Node) *big.Rat {
		total := new(big.Rat)
		for _, p := range points {
			if volume := p.Get("volume_usd").Number(); volume != nil {
				total.Add(total, volume)
			}
		}
		return total
	}
	before := sum(points[len(points)-2*days : len(points)-days])
	if before.Sign() == 0 {
		return nil
	}
	return snapshot.Round(new(big.Rat).Quo(sum(points[len(points)-days:]), before), 4)
}

func (f *Facilitator) compareBuyers(r *snapshot.Report, isMeasured bool) {
	var total any
	sum, missing := 0, false
	for _, b := range f.Detail.At("buyers", "by_chain").Items() {
		if f.IsMain(b.Get("network_caip2").Text()) && isMeasured {
			sum += b.Get("unique_buyers_30d").Int()
			missing = missing || !b.Get("unique_buyers_30d").HasValue()
			total = sum
		}
	}
	if missing {
		total = nil
	}
	r.Figure(rule, f.Detail.At("buyers", "total_upper_bound_30d"), total)
}

func (f *Facilitator) compareServices(r *snapshot.Report, isMeasured bool) {
	listed := f.Detail.Get("listed_services")
	var active, ever any
	if isMeasured {
		active, ever = len(f.Served), f.Ever
	}
	r.Figure(rule, listed.Get("active_count_30d"), active)
	r.Figure(rule, listed.Get("all_time_count"), ever)
	top := []any{}
	for _, s := range f.Served[:min(len(f.Served), 10)] {
		top = append(top, s)
	}
	r.Figure(rule, listed.Get("top"), top)
}

func (f *Facilitator) compareSettlers(r *snapshot.Report) {
	for _, s := range f.Detail.Get("settlers").Items() {
		r.Figure(rule, s.Get("enabled"), !s.Get("deprecated").Bool())
		r.Input(s.Get("last_seen_at"))
	}
}

// compareFirst compares the first settlement with those by network and token.
func (f *Facilitator) compareFirst(r *snapshot.Report) {
	var first any
	var at time.Time
	for _, c := range f.Detail.Get("chains").Items() {
		own := c.Get("first_activity_at")
		if own.HasValue() && f.IsMain(c.Get("network_caip2").Text()) && (first == nil || own.Time().Before(at)) {
			first, at = own, own.Time()
		}
	}
	r.Figure(rule, f.Detail.Get("first_activity_at"), first)
}

// point is a day of a series.
type point struct {
	date    string
	network any // CAIP-2, nil for all networks
	short   any
	volume  *big.Rat
	count   int
}

// compareFiles compares the files by period and network. The days of each network are what chains recorded: their sums
// are those of the record.
func (f *Facilitator) compareFiles(snap *snapshot.Snapshot, r *snapshot.Report) {
	base := "v1/facilitators/" + f.ID
	whole := snap.JSON(base+"/period=all/series_by=chain.json").At("data", "series")
	var chains []point
	volume, count := new(big.Rat), 0
	for _, n := range whole.Items() {
		p := point{n.Get("date").Text(), n.Get("network_caip2").Text(), n.Get("network"), n.Get("volume_usd").Number(),
			n.Get("tx_count").Int()}
		if p.volume == nil {
			p.volume = new(big.Rat)
		}
		chains = append(chains, p)
		volume.Add(volume, p.volume)
		count += p.count
		for _, name := range n.Keys() {
			r.Input(n.Get(name))
		}
	}
	f.compareNetworks(r, whole, chains)
	r.Figure(rule, f.Detail.Get("volume_usd_all"), volume)
	r.Figure(rule, f.Detail.Get("tx_count_all"), count)
	if len(chains) == 0 {
		r.Figure(rule, whole, []any{})
	}
	total := sumDays(chains)
	for _, p := range f.Detail.Get("timeseries").Items() {
		want := point{volume: new(big.Rat)}
		if i := slices.IndexFunc(total, func(t point) bool { return t.date == p.Get("date").Text() }); i >= 0 {
			want = total[i]
		}
		r.Figure(rule, p.Get("volume_usd"), want.volume)
		r.Figure(rule, p.Get("tx_count"), want.count)
	}
	since := snapshot.Midnight(snap.Now).AddDate(0, 0, -29).Format(time.DateOnly)
	r.Figure(rule, f.Detail.Get("series"), figures(total, since))
	for by, points := range map[string][]point{"total": total, "chain": chains} {
		for period, from := range map[string]string{"30d": since, "all": ""} {
			data := snap.JSON(base + "/period=" + period + "/series_by=" + by + ".json").Get("data")
			f.compareRecord(r, data)
			r.Figure(rule, data.Get("series"), figures(points, from))
		}
	}
}

// compareNetworks compares the names of the networks in a series, and the sums of each network, with the record.
func (f *Facilitator) compareNetworks(r *snapshot.Report, series snapshot.Node, points []point) {
	names := map[string]snapshot.Node{}
	volume, count := map[string]*big.Rat{}, map[string]int{}
	for _, c := range f.Detail.Get("chains").Items() { // one for each network and token
		caip2 := c.Get("network_caip2").Text()
		if names[caip2] = c.Get("network"); volume[caip2] == nil {
			volume[caip2] = new(big.Rat)
		}
		if usd := c.Get("volume_usd_all").Number(); usd != nil {
			volume[caip2].Add(volume[caip2], usd)
		}
		count[caip2] += c.Get("tx_count_all").Int()
	}
	for i, n := range series.Items() {
		caip2, _ := points[i].network.(string)
		name, isListed := names[caip2]
		if !isListed {
			r.Compare(rule, n.Get("network_caip2"), caip2, "a network of the record")
			continue
		}
		r.Figure(rule, n.Get("network"), name)
		volume[caip2].Sub(volume[caip2], points[i].volume)
		count[caip2] -= points[i].count
	}
	for caip2 := range names {
		if f.IsMain(caip2) && (volume[caip2].Sign() != 0 || count[caip2] != 0) {
			r.Compare(rule, series, caip2+" differs by "+snapshot.DecimalText(volume[caip2]), "the sums of the record")
		}
	}
}

// compareRecord compares a file by period and network with the record, except the series.
func (f *Facilitator) compareRecord(r *snapshot.Report, data snapshot.Node) {
	if !slices.Equal(data.Keys(), f.Detail.Keys()) {
		r.Compare(rule, data, snapshot.Describe(data.Value), "the members of the record")
	}
	for _, name := range f.Detail.Keys() {
		if name != "series" {
			r.Figure(rule, data.Get(name), f.Detail.Get(name))
		}
	}
}

// sumDays sums the networks of each day. points are by day.
func sumDays(points []point) []point {
	var total []point
	for _, p := range points {
		if n := len(total); n == 0 || total[n-1].date != p.date {
			total = append(total, point{date: p.date, volume: new(big.Rat)})
		}
		day := &total[len(total)-1]
		day.volume.Add(day.volume, p.volume)
		day.count += p.count
	}
	return total
}

// figures returns the points from a day on as they are published.
func figures(points []point, from string) []any {
	list := []any{}
	for _, p := range points {
		if p.date >= from {
			list = append(list, map[string]any{"date": p.date, "network": p.short, "network_caip2": p.network,
				"volume_usd": p.volume, "tx_count": p.count})
		}
	}
	return list
}
