// This file makes the page of the market: which facilitator settles how much on which network, whose volume changed
// most, and what is bought in each category. It must never know a route or a template.

package money

import (
	"cmp"
	"math/big"
	"slices"

	"tollbook/render/chart"
	"tollbook/site"
	"tollbook/site/display"
)

// moverShare is the share of all volume of 30 days below which a change is not shown: small sums double by chance.
var moverShare = big.NewRat(1, 100)

// Limits of the page of the market.
const (
	maxMarketNetworks     = 8
	maxMarketFacilitators = 20
	maxMovers             = 8
)

// Market is the body of the page of the market.
type Market struct {
	Networks []MarketNetwork // the largest volume first
	Rows     []MarketRow     // facilitators, the largest volume first
	More     int             // facilitators that are left out
	Others   int             // networks that are left out
	Movers   []Mover         // facilitators on a network, the largest change first
	Floor    site.Decimal    // volume in US dollars of 30 days below which a change is left out
	Demand   []Demand        // categories, the largest organic volume first
	Prices   []PriceTrend    // categories with recorded prices of several weeks, the most services first
}

// MarketNetwork is a column of the grid: a main network and its volume of 30 days.
type MarketNetwork struct {
	Chip
	Volume site.Decimal
	Share  string // percentage of all volume
}

// MarketRow is a facilitator with a cell per network.
type MarketRow struct {
	FacilitatorID, Name string
	Volume              site.Decimal // on all networks
	Share, Change       string       // of all volume; against the 30 days before
	Payers              *int64       // upper bound
	Cells               []MarketCell
}

// MarketCell is a facilitator on a network. Without a settlement in 60 days it is empty.
type MarketCell struct {
	Volume        *site.Decimal
	Share, Change string // of the network's volume
}

// Mover is a facilitator whose volume on a network changed.
type Mover struct {
	FacilitatorID, Name string
	On                  Chip
	Volume, Before      site.Decimal
	Way, Change         string
	ratio               float64
}

// Demand is what organic buyers bought of the services of a category.
type Demand struct {
	site.CategoryDemand
	Name, Key string
	Share     string // percentage of the organic volume of all categories
	Median    *site.Decimal
}

// PriceTrend is the median price of a category by week.
type PriceTrend struct {
	Name, Key   string
	Spark       string // data of a path
	Width       int    // of the spark
	Since       string // the first week, as pages show it
	First, Last site.Decimal
	Way, Change string
}

// NewMarket returns the body of the page. named returns how pages show a network, category the key of a category's
// page, "" without one.
func NewMarket(s *site.Snapshot, named func(caip2 string) Chip, category func(name string) string) Market {
	networks, all := marketNetworks(s)
	m := Market{Floor: site.DecimalOf(new(big.Rat).Mul(all, moverShare))}
	m.addMovers(networks, all, named)
	m.Others = max(0, len(networks)-maxMarketNetworks)
	networks = networks[:len(networks)-m.Others]
	for _, n := range networks {
		m.Networks = append(m.Networks, MarketNetwork{named(n.NetworkCAIP2), site.DecimalOf(n.volume),
			share(n.volume, all)})
	}
	m.addRows(s.Facilitators, networks, all)
	m.addDemand(s.Tags, category)
	m.addPrices(s.Tags, category)
	return m
}

// marketNetwork is a measured main network with a settlement in 60 days, and its volume of 30.
type marketNetwork struct {
	*site.NetworkCoverage
	volume *big.Rat
}

// marketNetworks returns these networks, the largest volume first, and the volume of all.
func marketNetworks(s *site.Snapshot) (networks []marketNetwork, all *big.Rat) {
	all = new(big.Rat)
	for i := range s.Coverage.Networks {
		n := &s.Coverage.Networks[i]
		if !n.Measured || n.IsMainnet != nil && !*n.IsMainnet || len(n.Facilitators) == 0 {
			continue
		}
		volume := new(big.Rat)
		for _, f := range n.Facilitators {
			volume.Add(volume, f.VolumeUSD30d.Rational())
		}
		networks = append(networks, marketNetwork{n, volume})
		all.Add(all, volume)
	}
	slices.SortStableFunc(networks, func(a, b marketNetwork) int {
		return cmp.Or(b.volume.Cmp(a.volume), cmp.Compare(a.NetworkCAIP2, b.NetworkCAIP2))
	})
	return networks, all
}

// addRows adds the facilitators that settled on one of the networks in 60 days.
func (m *Market) addRows(facilitators []site.FacilitatorDetail, networks []marketNetwork, all *big.Rat) {
	for i := range facilitators {
		f := &facilitators[i]
		row := MarketRow{FacilitatorID: f.FacilitatorID, Name: f.Name, Volume: f.VolumeUSD30d,
			Share: share(f.VolumeUSD30d.Rational(), all), Change: change(f.Trend30dVsPrev30d),
			Payers: f.Buyers.TotalUpperBound30d, Cells: make([]MarketCell, len(networks))}
		settles := false
		for k, n := range networks {
			for _, on := range n.Facilitators {
				if on.FacilitatorID == f.FacilitatorID {
					settles = true
					row.Cells[k] = MarketCell{&on.VolumeUSD30d, share(on.VolumeUSD30d.Rational(), n.volume),
						change(on.Trend30dVsPrev30d)}
				}
			}
		}
		if settles {
			m.Rows = append(m.Rows, row)
		}
	}
	slices.SortStableFunc(m.Rows, func(a, b MarketRow) int {
		return cmp.Or(b.Volume.Compare(a.Volume), cmp.Compare(a.FacilitatorID, b.FacilitatorID))
	})
	m.More = max(0, len(m.Rows)-maxMarketFacilitators)
	m.Rows = m.Rows[:len(m.Rows)-m.More]
}

// addMovers adds the facilitators whose volume on a network changed most, of those with enough of it in one of the two
// periods.
func (m *Market) addMovers(networks []marketNetwork, all *big.Rat, named func(caip2 string) Chip) {
	for _, n := range networks {
		for _, f := range n.Facilitators {
			ratio := f.Trend30dVsPrev30d
			if ratio == nil || *ratio == 1 || all.Sign() == 0 ||
				f.VolumeUSD30d.Compare(m.Floor) < 0 && f.VolumeUSDPrev30d.Compare(m.Floor) < 0 {
				continue
			}
			mover := Mover{FacilitatorID: f.FacilitatorID, Name: f.Name, On: named(n.NetworkCAIP2),
				Volume: f.VolumeUSD30d, Before: f.VolumeUSDPrev30d, Way: "up", Change: change(ratio), ratio: *ratio}
			if *ratio < 1 {
				mover.Way = "down"
			}
			m.Movers = append(m.Movers, mover)
		}
	}
	slices.SortStableFunc(m.Movers, func(a, b Mover) int {
		return cmp.Or(cmp.Compare(Distance(b.ratio), Distance(a.ratio)), cmp.Compare(a.FacilitatorID, b.FacilitatorID),
			cmp.Compare(a.On.Title, b.On.Title))
	})
	m.Movers = m.Movers[:min(len(m.Movers), maxMovers)]
}

// addPrices adds the categories with recorded prices of several weeks.
func (m *Market) addPrices(tags []site.Tag, category func(name string) string) {
	for _, t := range tags {
		n := len(t.PriceWeeks)
		if n < 2 {
			continue
		}
		p := PriceTrend{Name: display.Name(t.Tag), Key: category(t.Tag), First: t.PriceWeeks[0].MedianUSD,
			Last: t.PriceWeeks[n-1].MedianUSD, Since: chart.WeekLabel(t.PriceWeeks[0].Week), Way: "unchanged"}
		p.Spark, p.Width = chart.WeekSpark(t.PriceWeeks)
		if way := p.Last.Compare(p.First); way != 0 {
			p.Way = "up"
			if way < 0 {
				p.Way = "down"
			}
			p.Change = PriceChange(new(big.Rat).Quo(p.Last.Rational(), p.First.Rational()))
		}
		m.Prices = append(m.Prices, p)
	}
}

// addDemand adds the categories of which a service is measured.
func (m *Market) addDemand(tags []site.Tag, category func(name string) string) {
	all := new(big.Rat)
	for _, t := range tags {
		if t.Demand != nil {
			all.Add(all, t.Demand.OrganicVolumeUSD30d.Rational())
		}
	}
	for _, t := range tags {
		if t.Demand == nil {
			continue
		}
		d := Demand{CategoryDemand: *t.Demand, Name: display.Name(t.Tag), Key: category(t.Tag),
			Share: share(t.Demand.OrganicVolumeUSD30d.Rational(), all)}
		if t.Prices != nil {
			d.Median = &t.Prices.MedianUSD
		}
		m.Demand = append(m.Demand, d)
	}
	slices.SortStableFunc(m.Demand, func(a, b Demand) int {
		return cmp.Or(b.OrganicVolumeUSD30d.Compare(a.OrganicVolumeUSD30d), cmp.Compare(a.Name, b.Name))
	})
}
