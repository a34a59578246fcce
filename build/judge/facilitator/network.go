package facilitator

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"time"

	"tollbook/site"
)

// monthDays is the length of each of the two periods that a network's rows compare.
const monthDays = 30

// AddNetworks adds to each measured main network the facilitators that settled there in 60 days, the largest volume of
// 30 days first.
func AddNetworks(s *site.Snapshot) {
	today := s.Now.UTC().Truncate(24 * time.Hour)
	month := today.AddDate(0, 0, 1-monthDays).Format(time.DateOnly)
	before := today.AddDate(0, 0, 1-2*monthDays).Format(time.DateOnly)
	for i := range s.Coverage.Networks {
		n := &s.Coverage.Networks[i]
		n.Facilitators = []site.NetworkFacilitator{}
		if !n.Measured || !IsMain(n.NetworkCAIP2) {
			continue
		}
		for k := range s.Facilitators {
			f := &s.Facilitators[k]
			if row, ok := newNetworkRow(f, n.NetworkCAIP2, month, before, s.Now.Time); ok {
				n.Facilitators = append(n.Facilitators, row)
			}
		}
		slices.SortFunc(n.Facilitators, func(a, b site.NetworkFacilitator) int {
			return cmp.Or(b.VolumeUSD30d.Compare(a.VolumeUSD30d), cmp.Compare(b.TxCount30d, a.TxCount30d),
				cmp.Compare(a.FacilitatorID, b.FacilitatorID))
		})
	}
}

// newNetworkRow returns what a facilitator settled on a network from the day month on, and from the day before on until
// then. It returns false without a settlement.
func newNetworkRow(f *site.FacilitatorDetail, network, month, before string,
	now time.Time) (row site.NetworkFacilitator, ok bool) {
	last, previous := new(big.Rat), new(big.Rat)
	row = site.NetworkFacilitator{FacilitatorID: f.FacilitatorID, Name: f.Name}
	for i := range f.ChainDays {
		p := &f.ChainDays[i]
		switch {
		case *p.NetworkCAIP2 != network || p.Date < before:
		case p.Date >= month:
			last.Add(last, p.VolumeUSD.Rational())
			row.TxCount30d += p.TxCount
			ok = true
		default:
			previous.Add(previous, p.VolumeUSD.Rational())
			ok = true
		}
	}
	row.VolumeUSD30d, row.VolumeUSDPrev30d = site.DecimalOf(last), site.DecimalOf(previous)
	if previous.Sign() > 0 && isOld(f.Chains, network, now) {
		if ratio, err := strconv.ParseFloat(last.Quo(last, previous).FloatString(4), 64); err == nil {
			row.Trend30dVsPrev30d = &ratio
		}
	}
	return row, ok
}

// isOld reports whether the first settlement on a network is at least 60 days old: everything that begins seems to
// grow.
func isOld(chains []site.FacilitatorChain, network string, now time.Time) bool {
	return slices.ContainsFunc(chains, func(c site.FacilitatorChain) bool {
		return c.NetworkCAIP2 == network && c.FirstActivityAt != nil &&
			now.Sub(c.FirstActivityAt.Time) >= 2*monthDays*24*time.Hour
	})
}
