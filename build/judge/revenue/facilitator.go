// This file judges what is derived from a facilitator's sums: the average settlement, the trend, the series
// and the listed services whose payments it settles, with the texts that explain them. Its functions are pure.
//
// It must never know how settlements are read or summed.

package revenue

import (
	"math/big"
	"strconv"
	"time"

	"tollbook/site"
	"tollbook/site/x402"
)

// facilitatorMethod is how settlements of a facilitator are found.
const facilitatorMethod = "Settlements are read from blockchains: payments that their payers authorised and that one of the " +
	"facilitator's settlement accounts sent. USDC on main networks, and tokens that the operator of this directory " +
	"says are worth a dollar, count as volume, one dollar each."

// The parts of a facilitator's caveat.
const (
	caveat = "Figures cover the listed settlement accounts, so they are lower bounds. first_activity_at is the start " +
		"of a UTC day."
	listedCaveat = "Its settlements are not measured, so its figures are unknown, not zero: it has no settlement " +
		"account that is confirmed as its own."
	idleCaveat  = " Averages and the trend are null without a settlement in dollars."
	youngCaveat = " The trend is null until 14 days after the first settlement, and without volume before this week."
	monthCaveat = " The trend of 30 days is null until 60 days after the first settlement, and without volume in the " +
		"30 days before."
	buyersCaveat = "A payer counts once for each network and token, so the total is an upper bound. It is null if " +
		"no settlement is measured."
	servicesCaveat = "Settlements to recipients that listed services name, in tokens worth a dollar. all_time_count " +
		"is a lower bound: it leaves out recipients that no service named in the last 90 days."
)

// trendDays is the length of each of the two periods that the shorter trend compares.
const trendDays = 7

// AddFacilitator adds to a facilitator what is derived from its chains and its timeseries. now is the time of the
// build.
func AddFacilitator(d *site.FacilitatorDetail, now time.Time) {
	d.Method, d.Caveat = facilitatorMethod, caveat
	d.Buyers.Caveat, d.ListedServices.Caveat = buyersCaveat, servicesCaveat
	d.ListedServices.Top = []site.FacilitatorTopService{}
	d.Series = d.SeriesOf(site.Timeframe30d, site.SeriesTotal)
	if d.Verification != site.VerificationOnChain {
		d.Caveat = listedCaveat + " " + caveat
		return
	}
	d.AvgSettlementUSD30d = average(d.Chains, func(c *site.FacilitatorChain) (*site.Decimal, int64) {
		return c.VolumeUSD30d, c.TxCount30d
	})
	d.AvgSettlementUSDAll = average(d.Chains, func(c *site.FacilitatorChain) (*site.Decimal, int64) {
		return c.VolumeUSDAll, c.TxCountAll
	})
	d.Trend7dVsPrev7d, d.Trend30dVsPrev30d = trend(d, trendDays, now), trend(d, monthDays, now)
	d.Buyers.TotalUpperBound30d = sumBuyers(d.Buyers.ByChain)
	switch {
	case d.AvgSettlementUSDAll == nil:
		d.Caveat += idleCaveat
	case d.Trend7dVsPrev7d == nil:
		d.Caveat += youngCaveat
	case d.Trend30dVsPrev30d == nil:
		d.Caveat += monthCaveat
	}
}

// sumBuyers adds up the buyers of main networks, nil if there is no main network or a number is unknown.
func sumBuyers(chains []site.FacilitatorBuyers) (sum *int64) {
	for _, b := range chains {
		switch {
		case !isMain(b.NetworkCAIP2):
		case b.UniqueBuyers30d == nil:
			return nil
		case sum == nil:
			sum = new(*b.UniqueBuyers30d)
		default:
			*sum += *b.UniqueBuyers30d
		}
	}
	return sum
}

// isMain reports whether tokens of a network may have value: every network that is not a known test network.
func isMain(network string) bool {
	n, isKnown := x402.NetworkByID(network)
	return !isKnown || n.Mainnet
}

// average returns the dollars of a settlement on average, to six decimals, halves up. It counts tokens with a dollar
// value on main networks, and is nil without a settlement.
func average(chains []site.FacilitatorChain, sum func(*site.FacilitatorChain) (*site.Decimal, int64)) *site.Decimal {
	total, count := new(big.Rat), int64(0)
	for i := range chains {
		usd, n := sum(&chains[i])
		if usd != nil && isMain(chains[i].NetworkCAIP2) {
			total.Add(total, usd.Rational())
			count += n
		}
	}
	if count == 0 {
		return nil
	}
	d, err := site.ParseDecimal(total.Quo(total, new(big.Rat).SetInt64(count)).FloatString(6))
	if err != nil {
		return nil // impossible: amounts are not negative
	}
	return &d
}

// trend returns the volume of the last whole UTC days, which end with yesterday, divided by the volume of as many days
// before. It is nil without volume in the days before, and while the first settlement is newer than both periods.
func trend(d *site.FacilitatorDetail, period int, now time.Time) *float64 {
	end := len(d.Timeseries) - 1 // without today
	if end < 2*period || !coversTrend(d.FirstActivityAt, period, now) {
		return nil
	}
	sum := func(days []site.VolumePoint) *big.Rat {
		total := new(big.Rat)
		for _, p := range days {
			total.Add(total, p.VolumeUSD.Rational())
		}
		return total
	}
	return quotient(sum(d.Timeseries[end-period:end]), sum(d.Timeseries[end-2*period:end-period]))
}

// coversTrend reports whether the first settlement is before two periods of whole UTC days: everything that begins
// seems to grow.
func coversTrend(first *site.Time, period int, now time.Time) bool {
	return first != nil && now.UTC().Truncate(24*time.Hour).Sub(first.Time) >= 2*time.Duration(period)*24*time.Hour
}

// quotient returns a volume divided by the volume before, to four decimals, halves up; nil without a volume before.
func quotient(last, before *big.Rat) *float64 {
	if before.Sign() == 0 {
		return nil
	}
	ratio, err := strconv.ParseFloat(new(big.Rat).Quo(last, before).FloatString(4), 64)
	if err != nil {
		return nil // impossible
	}
	return &ratio
}
