package judge

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
)

// measuredNetworks returns the networks whose settlements by known settlers are all stored from some time on. Test
// networks are left out. Only on a measured network does the lack of settlements mean that nothing was paid.
func measuredNetworks(chains []ledger.ChainFacts) map[string]bool {
	measured := map[string]bool{}
	for _, c := range chains {
		if c.MeasuredSince != nil && hasValue(c.Network) {
			measured[c.Network] = true
		}
	}
	return measured
}

// listCountedTokens returns the facilitators and tokens whose settlements count as volume: measured facilitators and
// tokens with a dollar value.
func listCountedTokens(facilitators []ledger.FacilitatorFacts) []ledger.CountedToken {
	var counted []ledger.CountedToken
	for i := range facilitators {
		f := &facilitators[i]
		if !isMeasured(f) {
			continue
		}
		for _, token := range f.Tokens {
			if unit, valued := unitsPerUSD(token.Network, token.Token, token.Configured); valued &&
				hasValue(token.Network) {
				one := new(big.Rat).SetFrac(big.NewInt(1), unit)
				counted = append(counted, ledger.CountedToken{
					Facilitator: f.ID, Network: token.Network, Token: token.Token,
					Unit: strings.TrimRight(one.FloatString(maxDecimals), "0"),
				})
			}
		}
	}
	return counted
}

// queryRecipients returns the recipients whose revenue a build reads.
func (p *ownership) queryRecipients(services []postgres.ServiceFacts, operators []int, today int) []ledger.Recipient {
	var list []ledger.Recipient
	for i := range services {
		for _, c := range p.claims[i] {
			for _, o := range p.ownedBy(c.recipient, i) {
				r := ledger.Recipient{ServiceID: services[i].ID, Operator: operators[i],
					Category: services[i].Category, Network: c.network, Address: c.payTo, Since: dayOfNumber(o.since)}
				if o.until != forever {
					r.Until = new(dayOfNumber(o.until))
				}
				list = append(list, r)
			}
		}
		list = append(list, p.queryAlone(i, services[i].ID, operators[i], today)...)
	}
	return list
}

// aloneID returns the id under which the buyers of a service are read on the days on which its recipients are its
// operator's alone.
func aloneID(id int64) int64 { return math.MinInt64 + id }

// queryAlone returns the days of the last 30 on which each recipient of the ith service is its operator's alone, none if
// it shares no recipient with another operator on any of them.
func (p *ownership) queryAlone(i int, id int64, operator, today int) []ledger.Recipient {
	var list []ledger.Recipient
	isContested, month := false, today+1-site.WindowDays["30d"]
	for _, c := range p.claims[i] {
		owners := p.owners[c.recipient]
		from := month
		for _, end := range append(listChanges(owners), today+1) { // the day after a period
			if end = min(end, today+1); end <= from {
				continue
			}
			on := ownersOn(owners, from)
			switch of := (&period{owners: on}); {
			case !slices.ContainsFunc(on, func(o owner) bool { return o.service == i }):
			case of.isContested():
				isContested = true
			default:
				list = append(list, ledger.Recipient{ServiceID: aloneID(id), Operator: operator, Network: c.network,
					Address: c.payTo, Since: dayOfNumber(from), Until: new(dayOfNumber(end - 1))})
			}
			from = end
		}
	}
	if !isContested {
		return nil
	}
	return list
}

// ownedBy returns the ith service as an owner of a recipient, once for each run of days, oldest first. It returns none if
// the recipient never was its own.
func (p *ownership) ownedBy(r recipient, i int) []owner {
	owners := p.owners[r]
	from, _ := slices.BinarySearchFunc(owners, i, func(o owner, i int) int { return cmp.Compare(o.service, i) })
	to := from
	for to < len(owners) && owners[to].service == i {
		to++
	}
	return owners[from:to]
}

// revenueIndex judges the traction of services: what their settlements on chain show.
type revenueIndex struct {
	services  []postgres.ServiceFacts
	chains    map[string]ledger.ChainFacts
	measured  map[string]bool
	ownership *ownership
	revenues  []addRevenue
	byService map[int64]*ledger.ServiceBuyers
	mu        sync.Mutex       // of sharing
	sharing   map[string][]int // services by their shared recipients
	dates     dateCache
	decimals  map[[2]string]int // of the tokens that count, by network and token
	now       time.Time
}

func newRevenueIndex(f *postgres.Facts, claims [][]claim, free listing.FreeHosts, now time.Time) *revenueIndex {
	t := &revenueIndex{
		services: f.Services, chains: map[string]ledger.ChainFacts{}, measured: measuredNetworks(f.Chains),
		byService: map[int64]*ledger.ServiceBuyers{},
		sharing:   map[string][]int{}, dates: newDateCache(now), now: now,
		decimals: countDecimals(listCountedTokens(f.Facilitators)),
	}
	for _, c := range f.Chains {
		t.chains[c.Network] = c
	}
	t.ownership = newOwnership(f.Services, claims, t.measured, free, now)
	t.revenues = t.ownership.divideRevenue(f.Revenue, len(f.Services), now)
	if f.Revenue != nil {
		for i := range f.Revenue.Services {
			t.byService[f.Revenue.Services[i].ServiceID] = &f.Revenue.Services[i]
		}
	}
	return t
}

// status returns whether the revenue of the ith service is measured, and on which networks it was paid within 30 days:
// measured ones and others. The status is unresponsive if the service has failed for 7 days and shares a recipient,
// no-payto if it names no recipient but those of other operators, and unmeasured-network if none of its networks is
// measured.
func (t *revenueIndex) status(i int) (status string, on, off []string) {
	month := t.now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-site.WindowDays["30d"])
	for _, c := range t.ownership.claims[i] {
		switch {
		case !c.isLive(month), c.isForeign() && !c.tenure.owned(dayNumber(month), dayNumber(t.now)):
		case t.measured[c.network]:
			on = insertSorted(on, c.network)
		default:
			off = insertSorted(off, c.network)
		}
	}
	switch {
	case t.ownership.unresponsive[i]:
		return site.TractionUnresponsive, nil, nil
	case len(on)+len(off) == 0:
		return site.TractionNoPayTo, nil, nil
	case len(on) == 0:
		return site.TractionUnmeasured, nil, off
	}
	return site.TractionMeasured, on, off
}

// shared returns the services that are paid now at a recipient that now belongs to the ith service, on a measured
// network, sorted by slug. It includes the ith service, unless no recipient belongs to it.
func (t *revenueIndex) shared(i int) []int {
	var own []recipient
	var key strings.Builder
	for _, c := range t.ownership.claims[i] {
		if slices.ContainsFunc(t.ownership.ownedBy(c.recipient, i), t.isCurrent) {
			own = append(own, c.recipient)
			key.WriteString(c.network + " " + c.payTo + "\n")
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	all, ok := t.sharing[key.String()] // found once for the thousands that may share a recipient
	if !ok {
		for _, r := range own {
			for _, h := range t.ownership.owners[r] {
				if t.isCurrent(h) {
					all = append(all, h.service)
				}
			}
		}
		slices.Sort(all)
		all = slices.Compact(all)
		t.sharing[key.String()] = all
	}
	return all
}

// isCurrent reports whether a recipient belongs to an owner now, and an active endpoint of it names the recipient.
func (t *revenueIndex) isCurrent(o owner) bool {
	return o.until == forever && o.includes(dayNumber(t.now))
}

// traction judges the ith service. Unless its status is measured, all its figures are nil: unknown is not zero.
func (t *revenueIndex) traction(i int) site.Traction {
	status, on, off := t.status(i)
	out := site.Traction{
		Status: status, MeasuredNetworks: []string{}, SettledVia: []string{}, SettledViaDetail: []site.SettledVia{},
		SharedWithServices: []site.SharedWithItem{}, ProQuotaShare: 1, Caveat: unmeasuredCaveat(status, off),
		AllTimeCaveat: allTimeCaveat(nil, t.chains),
	}
	if foreign := t.strangersCaveat(i); status == site.TractionNoPayTo && foreign != "" {
		out.Caveat = strings.TrimSpace(foreign)
	}
	if status != site.TractionMeasured {
		return out
	}
	e, of := &t.revenues[i], t.byService[t.services[i].ID]
	if of == nil {
		of = &ledger.ServiceBuyers{}
	}
	sharing := t.shared(i)
	out.MeasuredNetworks = on
	out.SharedWith = max(0, len(sharing)-1)
	out.SharedPayout = out.SharedWith > 0
	for _, j := range sharing[:min(len(sharing), site.MaxSharedWith+1)] {
		if j != i && len(out.SharedWithServices) < site.MaxSharedWith {
			out.SharedWithServices = append(out.SharedWithServices,
				site.SharedWithItem{Name: t.services[j].Name, Slug: t.services[j].Slug})
		}
	}
	out.ProQuotaShare = 1 / float64(out.SharedWith+1)
	if out.SharedWithStrangers = e.isContested; e.isContested && e.alone.count30 > 0 {
		out.Alone = t.alone(i)
	}
	out.Caveat = measuredCaveat(off, out.SharedWith) + t.strangersCaveat(i) +
		redemptionCaveat(e.count30-countAmounts(of.Amounts))
	out.AllTimeCaveat = allTimeCaveat(on, t.chains)

	out.VolumeUSD30d, out.TxCount30d = new(e.share30.decimal()), &e.count30
	if out.UniqueBuyers30d = buyersOrNil(of.Buyers30d, e.count30); out.UniqueBuyers30d != nil {
		out.TopBuyerShare30d = topShare(of.TopUSD, 1, e.total30)
		out.Top3BuyersShare30d = topShare(of.TopUSD, 3, e.total30)
	}
	addOrganic(&out, &e.monthSums, of)
	out.VolumeUSDAllTime, out.TxCountAllTime = new(e.shareAll.decimal()), &e.countAll
	out.FirstSettlementAt, out.LastSettlementAt = site.TimeOrNull(e.first), site.TimeOrNull(e.last)
	if e.total30.compare(usd{}) > 0 && t.coversTrend(on, e.first) {
		out.Trend7dVs30d = trend(e.whole7, e.whole30)
	}
	out.ConcentratedVolume = isConcentrated(of.TopUSD, e.total30, e.count30)
	out.MedianSettlement30d, out.MaxSettlement30d = medianAndMax(of.Amounts)
	out.SettledViaDetail = e.listFacilitators()
	for _, v := range out.SettledViaDetail {
		out.SettledVia = append(out.SettledVia, v.ID)
	}
	return out
}

// alone returns the sums and buyers of the last 30 days on which the recipients of the ith service were its operator's
// alone.
func (t *revenueIndex) alone(i int) *site.Traction {
	e, of := &t.revenues[i].alone, t.byService[aloneID(t.services[i].ID)]
	if of == nil {
		of = &ledger.ServiceBuyers{}
	}
	out := &site.Traction{Status: site.TractionMeasured, VolumeUSD30d: new(e.share30.decimal()), TxCount30d: &e.count30}
	if out.UniqueBuyers30d = buyersOrNil(of.Buyers30d, e.count30); out.UniqueBuyers30d != nil {
		out.TopBuyerShare30d = topShare(of.TopUSD, 1, e.total30)
	}
	addOrganic(out, e, of)
	return out
}

// addOrganic adds what neither relatives nor scouts paid. Of a shared volume it is the same part as of the volume at the
// recipients. Redemptions, which name no payer, are part of it.
func addOrganic(t *site.Traction, e *monthSums, of *ledger.ServiceBuyers) {
	t.OrganicTxCount30d = new(max(0, e.count30-of.Self.Settlements-of.Scouts.Settlements))
	paid, whole := usdOrZero(of.Self.USD).plus(usdOrZero(of.Scouts.USD)), e.total30.units()
	organic := new(big.Rat).SetInt(e.share30.units())
	if whole.Sign() > 0 {
		part := new(big.Rat).SetFrac(paid.units(), whole)
		organic.Sub(organic, part.Mul(part, organic))
	}
	if organic.Sign() < 0 {
		organic.SetInt64(0)
	}
	t.OrganicVolumeUSD30d = new((&settledSum{usd: organic.Quo(organic, new(big.Rat).SetInt64(usdOne))}).decimal())
	if t.UniqueBuyers30d == nil {
		return
	}
	buyers := of.Buyers30d - of.Self.Buyers - of.Scouts.Buyers
	t.OrganicBuyers30d, t.ReturningBuyers30d = &buyers, new(of.Returning30d)
	t.OneTimeBuyers30d = new(buyers - of.Returning30d)
	t.SelfBuyers30d, t.ScoutBuyers30d = new(of.Self.Buyers), new(of.Scouts.Buyers)
}

// buyers returns what each buyer paid the recipients of the ith service in 30 days, by number, and first what nobody
// knows the payers of. It returns none unless the service is measured.
func (t *revenueIndex) buyers(i int) []site.NumberedBuyer {
	of := t.byService[t.services[i].ID]
	if status, _, _ := t.status(i); status != site.TractionMeasured {
		return nil
	}
	e := &t.revenues[i]
	unknown, usd := e.count30, e.total30
	var list []site.NumberedBuyer
	if of != nil {
		for _, b := range of.All {
			unknown -= b.Settlements
			usd = usd.minus(usdOrZero(string(b.USD)))
		}
		list = of.All
	}
	if unknown <= 0 {
		return list
	}
	return append([]site.NumberedBuyer{{Kind: site.BuyerUnknown, Settlements: unknown, USD: usd.decimal()}}, list...)
}

// release drops the revenue of the ith service. It leaves the numbers that its traction points to.
func (t *revenueIndex) release(i int) {
	e := &t.revenues[i]
	e.via, e.days, e.history = nil, nil, nil
	if of := t.byService[t.services[i].ID]; of != nil {
		of.All, of.TopUSD, of.TopBuyers, of.BuyerDays, of.Amounts = nil, nil, nil, nil, nil
	}
}

// trendAge is the least age, at the beginning of today, of a service's first settlement, and of the measuring of each of
// its networks, from which its trend is known. In a shorter time the rate of 30 days is too low, and everything seems to
// grow.
const trendAge = 30 * 24 * time.Hour

// coversTrend reports whether all of the 30 whole days are after the first settlement and after measuring began on each
// network.
func (t *revenueIndex) coversTrend(networks []string, first time.Time) bool {
	today := dayOfTime(t.now)
	isYoung := func(since time.Time) bool { return today.Sub(since) < trendAge }
	return !first.IsZero() && !isYoung(first) && !slices.ContainsFunc(networks, func(id string) bool {
		return isYoung(*t.chains[id].MeasuredSince)
	})
}

// trend returns the daily rate of 7 UTC days divided by that of 30: (v7 / 7) / (v30 / 30). Both end with yesterday, so
// that no part of a day is compared with whole ones. The volume is that of the service's recipients, not divided. It
// returns nil if nothing was settled in these 30 days.
func trend(v7, v30 usd) *float64 { return ratio(30, v7, v30.times(7)) }

// sumLargest returns what the n largest buyers paid.
func sumLargest(top []string, n int) usd {
	var sum usd
	for _, u := range top[:min(n, len(top))] {
		sum.add(usdOrZero(u))
	}
	return sum
}

// topShare returns the part, 0 to 1, that the n largest buyers paid of the volume of 30 days. The volume is that of the
// service's recipients, not divided. It returns nil if nothing was settled.
func topShare(top []string, n int, volume usd) *float64 { return ratio(1, sumLargest(top, n), volume) }

// Limits of isConcentrated.
const (
	concentratedTenths = 9
	concentratedUSD    = 10
	concentratedCount  = 50
)

// isConcentrated reports whether the three largest buyers paid at least nine tenths of the volume of 30 days. The
// volume is that of the service's recipients, not divided. It must be at least $10 in at least 50 settlements.
func isConcentrated(top []string, volume usd, count int64) bool {
	return count >= concentratedCount && volume.compare(usd{0, usdOne * concentratedUSD}) >= 0 &&
		sumLargest(top, 3).times(10).compare(volume.times(concentratedTenths)) >= 0
}

// countAmounts returns the number of settlements whose amount is one payment: all but redemptions.
func countAmounts(amounts []ledger.AmountCount) (n int64) {
	for _, a := range amounts {
		n += a.Settlements
	}
	return n
}

// medianAndMax returns the median and the maximum of the settlements of 30 days at the service's recipients, not
// divided and without redemptions. The median of an even number is the mean of the two in the middle. Both are nil
// without settlements.
func medianAndMax(amounts []ledger.AmountCount) (median, most *site.Decimal) {
	n := countAmounts(amounts)
	if n == 0 {
		return nil, nil
	}
	at := func(rank int64) usd {
		for _, a := range amounts {
			if rank -= a.Settlements; rank < 0 {
				return usdOrZero(a.USD)
			}
		}
		return usd{}
	}
	low, high := at((n-1)/2), at(n/2)
	return new(midpoint(low, high)), new(at(n - 1).decimal())
}

// midpoint returns the exact mean of a and b, which may have one decimal more.
func midpoint(a, b usd) site.Decimal {
	sum := new(big.Rat).SetInt(a.plus(b).units())
	return (&settledSum{usd: sum.Quo(sum, new(big.Rat).SetInt64(2*usdOne))}).decimal()
}

// flagConcentrated flags concentrated volume.
func flagConcentrated(t *site.Traction) *site.RiskFlag {
	if !t.ConcentratedVolume {
		return nil
	}
	return newFlag(site.RiskWarning, "concentrated_volume",
		"the three largest buyers paid %s%% of 30 days' volume; %d settlements by %d buyers",
		formatPercent(*t.Top3BuyersShare30d), *t.TxCount30d, *t.UniqueBuyers30d)
}

// formatPercent returns a share as a percentage, rounded down to one decimal.
func formatPercent(share float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(int(share*1000))/10), ".0")
}

// series returns a point for each UTC day with a settlement, oldest first: site.SeriesDays of volume, the data of the
// days before them, and site.BuyersDays of buyers, of days with a known payer. All are empty unless the service is
// measured.
func (t *revenueIndex) series(i int) (volume []site.VolumePoint, older olderVolume, buyers []site.BuyersPoint) {
	buyers = []site.BuyersPoint{}
	if status, _, _ := t.status(i); status != site.TractionMeasured {
		return []site.VolumePoint{}, older, buyers
	}
	if of := t.byService[t.services[i].ID]; of != nil {
		for _, d := range of.BuyerDays {
			buyers = append(buyers, site.BuyersPoint{Date: d.Day.UTC().Format(time.DateOnly), UniqueBuyers: d.Buyers})
		}
	}
	volume, older = t.revenues[i].series(dayNumber(t.now)+1-site.SeriesDays, t.dates)
	return volume, older, buyers
}
