package main

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"time"

	"tollbook/.ci/recompute/snapshot"
)

func init() {
	recomputations = append(recomputations, recomputeTraction)
	addInputs("v1/services/{slug}/settlements.json", "what chains recorded", "data.recipients*")
	addInputs("v1/services/{slug}.json", "sentences about other figures", `data.assessment.traction.caveat
		data.assessment.traction.all_time_caveat`)
}

const tractionRule = "methodology, Traction"

// recomputeTraction recomputes traction, volumes and buyers of each service from the published settlements.
func recomputeTraction(d *directory, r *snapshot.Report) {
	d.readMeasured()
	named := recipientsNow(d)
	for _, s := range d.services {
		t := sumSettlements(d, s)
		status := d.tractionStatus(s, named)
		r.Figure(tractionRule, d.snap.JSON(s.file("settlements.json")).At("data", "slug"), s.slug)
		r.Figure(tractionRule, s.detail.At("assessment", "traction", "status"), status)
		if status == "measured" {
			compareSharing(r, d, s, named)
			compareTraction(r, d, s, t)
			compareVolumes(r, d, s, t)
		} else {
			compareUnmeasured(r, d, s)
		}
	}
}

// compareUnmeasured checks that a service that is not measured has no figures.
func compareUnmeasured(r *snapshot.Report, d *directory, s *service) {
	p := s.detail.At("assessment", "traction")
	for _, name := range []string{"volume_usd_30d", "volume_usd_all_time", "tx_count_30d", "tx_count_all_time",
		"first_settlement_at", "last_settlement_at", "unique_buyers_30d", "top_buyer_share_30d",
		"top_3_buyers_share_30d", "trend_7d_vs_30d", "median_settlement_usd_30d", "max_settlement_usd_30d"} {
		r.Figure(tractionRule, p.Get(name), nil)
	}
	for _, name := range []string{"measured_networks", "settled_via", "settled_via_detail", "shared_with_services"} {
		r.Figure(tractionRule, p.Get(name), []string{})
	}
	r.Figure(tractionRule, p.Get("concentrated_volume"), false)
	r.Figure(tractionRule, p.Get("shared_payout"), false)
	r.Figure(tractionRule, p.Get("shared_with"), 0)
	r.Figure(tractionRule, p.Get("pro_quota_share"), 1)
	r.Figure(tractionRule, d.snap.JSON(s.file("volume/period=all.json")).Get("data"), []any{})
	r.Figure(tractionRule, d.snap.JSON(s.file("buyers/period=all.json")).Get("data"), []any{})
}

// tractionSums contains the sums over the settlements to all recipients of a service.
type tractionSums struct {
	volume30, volumeAll *big.Rat // divided among sharing services
	whole7, whole30     *big.Rat // not divided
	count30, countAll   int
	first, last         time.Time
	payers              []*big.Rat // of 30 days, largest first
	amounts             []*big.Rat // of 30 days, sorted
	facilitators        map[string]*settledVia
	dayVolume           map[string]*big.Rat
	dayCount, dayPayers map[string]int
}

// settledVia is the part of one facilitator in 30 days.
type settledVia struct {
	volume *big.Rat
	count  int
}

// sumSettlements sums the settlements of a service.
func sumSettlements(d *directory, s *service) *tractionSums {
	today := snapshot.Midnight(d.now)
	from7, from30 := today.Add(-6*snapshot.Day).Format(time.DateOnly), today.Add(-29*snapshot.Day).Format(time.DateOnly)
	from90 := today.Add(-89 * snapshot.Day).Format(time.DateOnly)
	t := &tractionSums{volume30: new(big.Rat), volumeAll: new(big.Rat), whole7: new(big.Rat), whole30: new(big.Rat),
		facilitators: map[string]*settledVia{}, dayVolume: map[string]*big.Rat{}, dayCount: map[string]int{},
		dayPayers: map[string]int{}}
	paid, payerDays := map[string]*big.Rat{}, map[payer]bool{}
	for _, recipient := range settlementsOf(d, s) {
		all := recipient.days()
		month := within(all, from30)
		t.volume30.Add(t.volume30, recipient.divided(month))
		t.volumeAll.Add(t.volumeAll, recipient.divided(all))
		for _, day := range all {
			t.countAll += day.count
			t.dayCount[day.date] += day.count
			if at := day.last.Time(); at.After(t.last) {
				t.last = at
			}
			if day.date >= from30 {
				t.count30 += day.count
				t.whole30.Add(t.whole30, day.dollars)
			}
			if day.date >= from7 {
				t.whole7.Add(t.whole7, day.dollars)
			}
		}
		if at := recipient.first.Time(); len(all) > 0 && (t.first.IsZero() || at.Before(t.first)) {
			t.first = at
		}
		for id, volume := range recipient.byFacilitator(month) {
			via := t.facilitators[id]
			if via == nil {
				via = &settledVia{volume: new(big.Rat)}
				t.facilitators[id] = via
			}
			via.volume.Add(via.volume, volume)
		}
		for _, day := range month {
			t.facilitators[day.facilitator].count += day.count
		}
		for date, volume := range recipient.byDay(all) {
			if t.dayVolume[date] == nil {
				t.dayVolume[date] = new(big.Rat)
			}
			t.dayVolume[date].Add(t.dayVolume[date], volume)
		}
		recipient.payers(from30, paid, payerDays)
		t.amounts = append(t.amounts, recipient.amounts(from30)...)
	}
	t.payers = slices.SortedFunc(maps.Values(paid), func(a, b *big.Rat) int { return b.Cmp(a) })
	slices.SortFunc(t.amounts, (*big.Rat).Cmp)
	for p := range payerDays {
		if p.date >= from90 {
			t.dayPayers[p.date]++
		}
	}
	return t
}

// compareTraction compares the sums with the published ones.
func compareTraction(r *snapshot.Report, d *directory, s *service, t *tractionSums) {
	p := s.detail.At("assessment", "traction")
	var buyers any // unknown if there are settlements and none names its payer
	if len(t.payers) > 0 || t.count30 == 0 {
		buyers = len(t.payers)
	}
	for name, value := range map[string]any{
		"volume_usd_30d": t.volume30, "volume_usd_all_time": t.volumeAll, "tx_count_30d": t.count30,
		"tx_count_all_time": t.countAll, "first_settlement_at": t.first, "last_settlement_at": t.last,
		"unique_buyers_30d": buyers, "top_buyer_share_30d": t.shareOf(1),
		"top_3_buyers_share_30d": t.shareOf(3), "trend_7d_vs_30d": t.trend(d, s),
		"median_settlement_usd_30d": t.median(), "max_settlement_usd_30d": t.largest(),
		"concentrated_volume": t.isConcentrated(),
	} {
		r.Figure(tractionRule, p.Get(name), value)
	}
	t.compareVia(r, p)
}

// share returns the part of the 30 days' volume that the n largest payers paid, nil without volume or payers.
func (t *tractionSums) share(n int) *big.Rat {
	if t.whole30.Sign() == 0 || len(t.payers) == 0 {
		return nil
	}
	sum := new(big.Rat)
	for _, volume := range t.payers[:min(n, len(t.payers))] {
		sum.Add(sum, volume)
	}
	return sum.Quo(sum, t.whole30)
}

// shareOf returns share with four decimals.
func (t *tractionSums) shareOf(n int) *big.Rat {
	if share := t.share(n); share != nil {
		return snapshot.Round(share, 4)
	}
	return nil
}

func (t *tractionSums) isConcentrated() bool {
	share := t.share(3)
	return share != nil && share.Cmp(big.NewRat(9, 10)) >= 0 && t.whole30.Cmp(big.NewRat(10, 1)) >= 0 && t.count30 >= 50
}

// trend is nil without volume, and until the first settlement and the measuring of every network are 30 days old.
func (t *tractionSums) trend(d *directory, s *service) *big.Rat {
	month := d.now.Add(-30 * snapshot.Day)
	young := t.first.After(month)
	for _, network := range d.measuredNetworks(d.recipientsWithin(s)) {
		young = young || d.measured[network].After(month)
	}
	if t.whole30.Sign() == 0 || young {
		return nil
	}
	rate7, rate30 := new(big.Rat).Quo(t.whole7, big.NewRat(7, 1)), new(big.Rat).Quo(t.whole30, big.NewRat(30, 1))
	return snapshot.Round(rate7.Quo(rate7, rate30), 4)
}

func (t *tractionSums) median() *big.Rat {
	n := len(t.amounts)
	if n == 0 {
		return nil
	}
	sum := new(big.Rat).Add(t.amounts[(n-1)/2], t.amounts[n/2])
	return sum.Quo(sum, big.NewRat(2, 1))
}

func (t *tractionSums) largest() *big.Rat {
	if len(t.amounts) == 0 {
		return nil
	}
	return t.amounts[len(t.amounts)-1]
}

// compareVia compares the facilitators, largest volume first, then by id.
func (t *tractionSums) compareVia(r *snapshot.Report, p snapshot.Node) {
	ids := slices.SortedFunc(maps.Keys(t.facilitators), func(a, b string) int {
		return cmp.Or(t.facilitators[b].volume.Cmp(t.facilitators[a].volume), cmp.Compare(a, b))
	})
	detail := []any{}
	for _, id := range ids {
		via := t.facilitators[id]
		detail = append(detail, map[string]any{"id": id, "volume_usd_30d": via.volume, "tx_count_30d": via.count})
	}
	r.Figure(tractionRule, p.Get("settled_via"), ids)
	r.Figure(tractionRule, p.Get("settled_via_detail"), detail)
}

// compareVolumes compares the series of days with settlements.
func compareVolumes(r *snapshot.Report, d *directory, s *service, t *tractionSums) {
	from := snapshot.Midnight(d.now).Add(-89 * snapshot.Day).Format(time.DateOnly)
	volumes, buyers := []any{}, []any{}
	for _, date := range slices.Sorted(maps.Keys(t.dayCount)) {
		volumes = append(volumes, map[string]any{"date": date, "volume_usd": t.dayVolume[date],
			"tx_count": t.dayCount[date]})
		if date >= from && t.dayPayers[date] > 0 {
			buyers = append(buyers, map[string]any{"date": date, "unique_buyers": t.dayPayers[date]})
		}
	}
	r.Figure(tractionRule, d.snap.JSON(s.file("volume/period=all.json")).Get("data"), volumes)
	r.Figure(tractionRule, d.snap.JSON(s.file("buyers/period=all.json")).Get("data"), buyers)
}
