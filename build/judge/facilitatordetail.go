package judge

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"tollbook/build/judge/revenue"
	"tollbook/site"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// newFacilitator judges a facilitator, without the services that it settles for: revenue.FacilitatorServices adds them.
func newFacilitator(f *ledger.FacilitatorFacts, now time.Time) site.FacilitatorDetail {
	item, byNetwork := newFacilitatorItem(f, now)
	d := site.FacilitatorDetail{
		FacilitatorListItem: item, Settlers: []site.FacilitatorSettler{},
		Buyers: site.BuyersByChain{ByChain: []site.FacilitatorBuyers{}}, Services: []site.FacilitatorService{},
	}
	d.Days, d.ChainDays = listDays(byNetwork)
	for i := range f.Settlers {
		d.Settlers = append(d.Settlers, newSettler(f, &f.Settlers[i]))
	}
	slices.SortFunc(d.Settlers, func(a, b site.FacilitatorSettler) int {
		return cmp.Or(cmp.Compare(a.NetworkCAIP2, b.NetworkCAIP2), cmp.Compare(a.Address, b.Address))
	})
	for _, c := range d.Chains {
		for _, token := range f.Tokens {
			if isMeasured(f) && token.Network == c.NetworkCAIP2 && token.Token == c.TokenAddressNorm {
				d.Buyers.ByChain = append(d.Buyers.ByChain, site.FacilitatorBuyers{
					Network: c.Network, NetworkCAIP2: c.NetworkCAIP2, TokenAddress: c.TokenAddress,
					AssetName:       c.AssetName,
					UniqueBuyers7d:  buyersOrNil(token.Buyers7d, c.TxCount7d),
					UniqueBuyers30d: buyersOrNil(token.Buyers30d, c.TxCount30d),
					UniqueBuyersAll: buyersOrNil(token.BuyersAll, c.TxCountAll),
				})
			}
		}
	}
	revenue.AddFacilitator(&d, now)
	return d
}

// buyersOrNil returns a number of buyers, nil if there are settlements and none of them names its payer.
func buyersOrNil(buyers, settlements int64) *int64 {
	if buyers == 0 && settlements > 0 {
		return nil
	}
	return &buyers
}

// newSettler returns an account of a facilitator.
func newSettler(f *ledger.FacilitatorFacts, s *ledger.Settler) site.FacilitatorSettler {
	row := site.FacilitatorSettler{
		Network: shortNetwork(s.Network), NetworkCAIP2: s.Network, Address: x402.SpellAddress(s.Network, s.Address),
		Tokens: append([]string{}, s.Tokens...),
		Since:  timeOrNull(s.Since), Deprecated: s.Deprecated, Enabled: !s.Deprecated, Source: site.SettlerListed,
		Kind: site.SettlerAccount,
	}
	if x402.IsMark(s.Network, s.Address) {
		row.Kind, _, _ = strings.Cut(s.Address, ":")
	}
	if isMeasured(f) {
		row.LastSeenAt = site.TimeOrNull(f.LastAt[[2]string{s.Network, s.Address}])
	}
	if s.Accepted {
		row.Source = site.SettlerAccepted
	}
	if len(s.Tokens) != 1 {
		return row
	}
	if a, ok := x402.LookupAsset(s.Network, s.Tokens[0]); ok {
		row.TokenName, row.TokenDecimals = &a.Symbol, &a.Decimals
		return row
	}
	for _, t := range f.Tokens {
		if t.Network == s.Network && t.Token == s.Tokens[0] && t.Configured != nil {
			row.TokenName, row.TokenDecimals = &t.Configured.Symbol, &t.Configured.Decimals
		}
	}
	return row
}

// listDays returns the days of all networks together and of each network. windows are by CAIP-2 id.
func listDays(byNetwork map[string]windows) (total, chains []site.FacilitatorPoint) {
	var whole windows
	for _, network := range slices.Sorted(maps.Keys(byNetwork)) {
		whole.add(byNetwork[network])
		for date, day := range byNetwork[network].days {
			chains = append(chains, site.FacilitatorPoint{Date: date, Network: new(shortNetwork(network)),
				NetworkCAIP2: new(network), VolumeUSD: day.decimal(), TxCount: day.count})
		}
	}
	for date, day := range whole.days {
		total = append(total, site.FacilitatorPoint{Date: date, VolumeUSD: day.decimal(), TxCount: day.count})
	}
	slices.SortFunc(total, func(a, b site.FacilitatorPoint) int { return cmp.Compare(a.Date, b.Date) })
	slices.SortFunc(chains, func(a, b site.FacilitatorPoint) int {
		return cmp.Or(cmp.Compare(a.Date, b.Date), cmp.Compare(*a.NetworkCAIP2, *b.NetworkCAIP2))
	})
	return total, chains
}

// shortNetwork returns a network's abbreviation, or its CAIP-2 ID without one.
func shortNetwork(id string) string { return cmp.Or(x402.Abbreviation(id), id) }
