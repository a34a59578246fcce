package judge

import (
	"cmp"
	"slices"
	"time"

	"tollbook/site"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
	"tollbook/site/x402/address"
)

// newFacilitator judges a facilitator, without the services that it settles for. servicesByFacilitator adds those.
func newFacilitator(f *ledger.FacilitatorFacts, now time.Time) site.FacilitatorDetail {
	d := site.FacilitatorDetail{
		FacilitatorListItem: newFacilitatorItem(f, now), Settlers: []site.FacilitatorSettler{},
		Buyers: []site.FacilitatorBuyers{}, Services: []site.FacilitatorService{},
	}
	for _, s := range f.Settlers {
		d.Settlers = append(d.Settlers, site.FacilitatorSettler{
			Network: shortNetwork(s.Network), NetworkCAIP2: s.Network, Address: address.Spell(s.Network, s.Address),
			Tokens: append([]string{}, s.Tokens...),
			Since:  timeOrNull(s.Since), Deprecated: s.Deprecated,
		})
	}
	slices.SortFunc(d.Settlers, func(a, b site.FacilitatorSettler) int {
		return cmp.Or(cmp.Compare(a.NetworkCAIP2, b.NetworkCAIP2), cmp.Compare(a.Address, b.Address))
	})
	for _, c := range d.Chains {
		for _, token := range f.Tokens {
			if isMeasured(f) && token.Network == c.NetworkCAIP2 && token.Token == c.TokenAddressNorm {
				d.Buyers = append(d.Buyers, site.FacilitatorBuyers{
					Network: c.Network, NetworkCAIP2: c.NetworkCAIP2, TokenAddress: c.TokenAddress,
					AssetName:      c.AssetName,
					UniqueBuyers7d: token.Buyers7d, UniqueBuyers30d: token.Buyers30d, UniqueBuyersAll: token.BuyersAll,
				})
			}
		}
	}
	return d
}

// servicesByFacilitator adds services to the facilitators that settled their payments, by the services' traction.
type servicesByFacilitator map[string]*site.FacilitatorDetail // by ID

func newServicesByFacilitator(s *site.Snapshot) servicesByFacilitator {
	at := servicesByFacilitator{}
	for i := range s.Facilitators {
		at[s.Facilitators[i].FacilitatorID] = &s.Facilitators[i]
	}
	return at
}

func (at servicesByFacilitator) add(l *site.Listing) {
	d := &l.Detail
	for _, v := range d.Assessment.Traction.SettledViaDetail {
		if f := at[v.ID]; f != nil {
			f.Services = append(f.Services, site.FacilitatorService{Slug: d.Slug, Name: d.Name,
				VolumeUSD30d: v.VolumeUSD30d, TxCount30d: v.TxCount30d})
		}
	}
}

func (at servicesByFacilitator) end() {
	for _, f := range at {
		f.ServiceCount = len(f.Services)
		slices.SortFunc(f.Services, func(a, b site.FacilitatorService) int {
			return cmp.Or(b.VolumeUSD30d.Compare(a.VolumeUSD30d), cmp.Compare(b.TxCount30d, a.TxCount30d),
				cmp.Compare(a.Slug, b.Slug))
		})
		f.Services = slices.Clip(f.Services[:min(len(f.Services), site.FacilitatorServices)])
	}
}

// shortNetwork returns a network's abbreviation, or its CAIP-2 ID without one.
func shortNetwork(id string) string { return cmp.Or(x402.Abbreviation(id), id) }
