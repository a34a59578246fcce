package judge

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"tollbook/build/judge/directory"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

const qualityRule = "The last 30 UTC days, including today, of all measured facilitators. Self-payment: payer and " +
	"recipient are the same account. Single payer: the remaining volume of recipients with at least 50 settlements, " +
	"if one payer paid at least 90% of it. Neither pattern proves that nothing was sold, and neither detects a " +
	"payer with many accounts."

// newCoverage returns what is measured on chain and what is not. items are the listed services.
func newCoverage(f *postgres.Facts, items []*site.ServiceListItem, t *revenueIndex, o *directory.Observatory,
	operators *operatorIndex, now time.Time) site.CoverageReport {
	c := site.CoverageReport{
		AsOf: site.NewTime(now), Networks: listNetworks(f, items, now),
		CandidateSettlers: o.ListCandidates(f.Chains, describeToken),
		Volume30d: site.VolumeQuality{
			Raw: site.VolumeSum{VolumeUSD: "0"}, SelfPayment: site.VolumeSum{VolumeUSD: "0"},
			SinglePayer: site.VolumeSum{VolumeUSD: "0"},
			Without:     site.VolumeSum{VolumeUSD: "0"}, Rule: qualityRule,
		},
		Operators: groupOperators(f.Services, t.ownership.claims),
	}
	c.Vantages = newVantages(f)
	c.Operators.Links, c.Operators.LinkCount = operators.All()
	c.Voids = listVoids(f.Voids)
	if f.Revenue == nil {
		return c
	}
	w, v := f.Revenue.Quality, &c.Volume30d
	raw, self, single := usdOrZero(w.USD30d), usdOrZero(w.SelfUSD30d), usdOrZero(w.SinglePayerUSD30d)
	v.Raw = site.VolumeSum{VolumeUSD: raw.decimal(), TxCount: w.Settlements30d}
	v.SelfPayment = site.VolumeSum{VolumeUSD: self.decimal(), TxCount: w.SelfSettlements30d}
	v.SinglePayer = site.VolumeSum{VolumeUSD: single.decimal(), TxCount: w.SinglePayerSettlements30d}
	v.Without = site.VolumeSum{VolumeUSD: raw.minus(self).minus(single).decimal(),
		TxCount: w.Settlements30d - w.SelfSettlements30d - w.SinglePayerSettlements30d}
	return c
}

// listVoids returns the voids that nobody lifted, newest first.
func listVoids(voids []checks.Void) []site.Void {
	list := []site.Void{}
	for _, v := range slices.Backward(voids) {
		if v.LiftedAt == nil {
			list = append(list, site.Void{From: site.NewTime(v.From), To: site.NewTime(v.To),
				VoidedAt: site.NewTime(v.VoidedAt), Reason: v.Reason, CheckCount: v.Checks, ServiceCount: v.Services})
		}
	}
	return list
}

// listNetworks returns every network that is read, or on which a service accepts payment now.
func listNetworks(f *postgres.Facts, items []*site.ServiceListItem, now time.Time) []site.NetworkCoverage {
	by := map[string]*site.NetworkCoverage{}
	of := func(id string) *site.NetworkCoverage {
		if by[id] == nil {
			by[id] = &site.NetworkCoverage{Network: shortNetwork(id), NetworkCAIP2: id, Name: networkName(id),
				Tokens: []site.TokenCoverage{}, Timeseries: []site.VolumePoint{}}
			if n, ok := x402.NetworkByID(id); ok {
				by[id].IsMainnet = &n.Mainnet
			}
		}
		return by[id]
	}
	for _, item := range items {
		for _, id := range item.NetworksCAIP2 {
			of(id).ServiceCount++
		}
	}
	settled := sumByNetwork(f, now)
	for i := range f.Chains {
		n := of(f.Chains[i].Network)
		fillChain(n, &f.Chains[i], now)
		if n.Measured {
			n.Timeseries = slices.DeleteFunc(dailyVolume(settled[n.NetworkCAIP2], now), func(p site.VolumePoint) bool {
				return p.TxCount == 0
			})
		}
	}
	list := make([]site.NetworkCoverage, 0, len(by))
	for _, n := range by {
		list = append(list, *n)
	}
	slices.SortFunc(list, func(a, b site.NetworkCoverage) int {
		if a.Measured != b.Measured {
			return map[bool]int{true: -1, false: 1}[a.Measured]
		}
		return cmp.Or(cmp.Compare(b.ServiceCount, a.ServiceCount), cmp.Compare(a.NetworkCAIP2, b.NetworkCAIP2))
	})
	return list
}

// sumByNetwork returns the settlements of all measured facilitators by network. It leaves out test networks, whose
// tokens have no value.
func sumByNetwork(f *postgres.Facts, now time.Time) map[string]windows {
	by := map[string]windows{}
	for i := range f.Facilitators {
		if !isMeasured(&f.Facilitators[i]) {
			continue
		}
		for _, token := range f.Facilitators[i].Tokens {
			if n, isKnown := x402.NetworkByID(token.Network); isKnown && !n.Mainnet {
				continue
			}
			sum := by[token.Network]
			sum.add(sumWindows(token, now))
			by[token.Network] = sum
		}
	}
	return by
}

// fillChain fills in how far a network was read and what was found on it.
func fillChain(n *site.NetworkCoverage, c *ledger.ChainFacts, now time.Time) {
	n.Measured, n.MeasuredSince, n.HeadPolledAt = c.MeasuredSince != nil, timeOrNull(c.MeasuredSince),
		timeOrNull(c.PolledAt)
	n.ComparedNodes = c.ComparedNodes
	n.Filling = &c.BackfillBlocks
	if c.Head > 0 {
		n.HeadBlock = &c.Head
	}
	if c.Block > 0 || c.At != nil {
		n.Cursor = &site.ChainCursor{Time: timeOrNull(c.At)}
		if c.Block > 0 {
			n.Cursor.Block = &c.Block
		}
		if c.At != nil {
			n.Cursor.AgeSeconds = new(max(0, int64(now.Sub(*c.At)/time.Second)))
		}
	}
	for _, s := range c.Authorizations {
		token, name := lookupAsset(c.Network, s.Token, s.Configured)
		row := site.TokenCoverage{TokenAddress: token, AssetName: name, Authorizations30d: s.Authorizations,
			Attributed30d: s.Attributed, Unattributed30d: max(0, s.Authorizations-s.Attributed)}
		row.UnattributedShare = unattributedShare(s)
		n.Tokens = append(n.Tokens, row)
	}
	slices.SortFunc(n.Tokens, func(a, b site.TokenCoverage) int { return cmp.Compare(a.TokenAddress, b.TokenAddress) })
}

// unattributedShare returns the part, 0 to 1, of the authorisations of a token that no known settler sent. It returns
// nil without authorisations.
func unattributedShare(s ledger.AuthorizationFacts) *float64 {
	n := max(0, s.Authorizations-s.Attributed)
	return ratio(1, usd{0, uint64(n)}, usd{0, uint64(max(0, s.Authorizations))})
}

// describeToken returns the address, name and value of an amount of a token; see directory.Describe.
func describeToken(network, token, amount string, configured *ledger.Token) (a, name string, usd *site.Decimal) {
	a, name = lookupAsset(network, token, configured)
	if n, ok := new(big.Int).SetString(amount, 10); ok {
		if unit, valued := unitsPerUSD(network, token, configured); valued {
			usd = new((&settledSum{usd: new(big.Rat).SetFrac(n, unit)}).decimal())
		}
	}
	return a, name, usd
}
