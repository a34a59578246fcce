package revenue

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"tollbook/site"
)

// monthDays is the length of each of the two periods that a network's rows compare.
const monthDays = 30

// AddNetworks adds to each measured main network its settlements by token, and the facilitators that settled there in
// 60 days, the largest volume of 30 days first.
func AddNetworks(s *site.Snapshot) {
	today := s.Now.UTC().Truncate(24 * time.Hour)
	for i := range s.Coverage.Networks {
		n := &s.Coverage.Networks[i]
		n.TimeseriesByToken, n.Facilitators = []site.TokenSeries{}, []site.NetworkFacilitator{}
		if !n.Measured || !isMain(n.NetworkCAIP2) {
			continue
		}
		for k := range s.Facilitators {
			f := &s.Facilitators[k]
			if row, ok := newNetworkRow(f, n.NetworkCAIP2, today); ok {
				n.Facilitators = append(n.Facilitators, row)
			}
		}
		n.TimeseriesByToken = listTokens(s.Facilitators, n.NetworkCAIP2)
		slices.SortFunc(n.Facilitators, func(a, b site.NetworkFacilitator) int {
			return cmp.Or(b.VolumeUSD30d.Compare(a.VolumeUSD30d), cmp.Compare(b.TxCount30d, a.TxCount30d),
				cmp.Compare(a.FacilitatorID, b.FacilitatorID))
		})
	}
}

// listTokens returns the settlements of all facilitators on a network by token and day.
func listTokens(facilitators []site.FacilitatorDetail, network string) []site.TokenSeries {
	list := []site.TokenSeries{}
	for i := range facilitators {
		for k := range facilitators[i].Chains {
			c := &facilitators[i].Chains[k]
			if c.NetworkCAIP2 != network {
				continue
			}
			at := slices.IndexFunc(list, func(t site.TokenSeries) bool { return t.TokenAddress == c.TokenAddress })
			if at < 0 {
				at = len(list)
				list = append(list, site.TokenSeries{TokenAddress: c.TokenAddress, AssetName: c.AssetName})
			}
			list[at].Timeseries = addDays(list[at].Timeseries, c)
		}
	}
	list = slices.DeleteFunc(list, func(t site.TokenSeries) bool { return len(t.Timeseries) == 0 })
	slices.SortFunc(list, func(a, b site.TokenSeries) int { return cmp.Compare(a.TokenAddress, b.TokenAddress) })
	return list
}

// addDays adds the days with a settlement of a facilitator's chain to points, which are by date.
func addDays(points []site.TokenPoint, c *site.FacilitatorChain) []site.TokenPoint {
	for _, day := range c.Days {
		if day.TxCount == 0 {
			continue
		}
		at, ok := slices.BinarySearchFunc(points, day.Date, func(p site.TokenPoint, date string) int {
			return cmp.Compare(p.Date, date)
		})
		if !ok {
			points = slices.Insert(points, at, site.TokenPoint{Date: day.Date})
		}
		p := &points[at]
		p.TxCount += day.TxCount
		if c.VolumeUSDAll == nil {
			continue // the token has no known value
		}
		if p.VolumeUSD == nil {
			p.VolumeUSD = new(site.Decimal("0"))
		}
		p.VolumeUSD = new(site.DecimalOf(new(big.Rat).Add(p.VolumeUSD.Rational(), day.VolumeUSD.Rational())))
	}
	return points
}

// newNetworkRow returns what a facilitator settled on a network in 30 days, including today, and in the 30 days before.
// The trend compares whole days, which end with yesterday. It returns false without a settlement in these 60 days.
func newNetworkRow(f *site.FacilitatorDetail, network string, today time.Time) (row site.NetworkFacilitator, ok bool) {
	sum := func(ended int) (volume *big.Rat, count int64) { // of 30 days that ended some days before today
		first := today.AddDate(0, 0, 1-monthDays-ended).Format(time.DateOnly)
		last := today.AddDate(0, 0, -ended).Format(time.DateOnly)
		volume = new(big.Rat)
		for i := range f.ChainDays {
			if p := &f.ChainDays[i]; *p.NetworkCAIP2 == network && p.Date >= first && p.Date <= last {
				volume.Add(volume, p.VolumeUSD.Rational())
				count += p.TxCount
			}
		}
		return volume, count
	}
	last, count := sum(0)
	previous, countBefore := sum(monthDays)
	row = site.NetworkFacilitator{FacilitatorID: f.FacilitatorID, Name: f.Name, TxCount30d: count,
		VolumeUSD30d: site.DecimalOf(last), VolumeUSDPrev30d: site.DecimalOf(previous)}
	if slices.ContainsFunc(f.Chains, func(c site.FacilitatorChain) bool {
		return c.NetworkCAIP2 == network && coversTrend(c.FirstActivityAt, monthDays, today)
	}) {
		whole, _ := sum(1)
		wholeBefore, _ := sum(1 + monthDays)
		row.Trend30dVsPrev30d = quotient(whole, wholeBefore)
	}
	return row, count+countBefore > 0
}
