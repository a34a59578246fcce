package price

import (
	"maps"
	"math/big"
	"slices"
	"strings"

	"tollbook/site"
)

// Market has the prices of the services of each category. Add the offers of all services, then call Sort, then Rank.
type Market struct {
	lowest, highest map[string]*priceList // by category
}

// NewMarket returns a market without services.
func NewMarket() *Market { return &Market{map[string]*priceList{}, map[string]*priceList{}} }

// Add adds the prices of a service.
func (m *Market) Add(category string, o *Offer) {
	if o.Lowest == nil {
		return
	}
	if m.lowest[category] == nil {
		m.lowest[category], m.highest[category] = newPriceList(), newPriceList()
	}
	m.lowest[category].add(*o.Lowest)
	m.highest[category].add(*o.Highest)
}

// Sort prepares the market for Rank.
func (m *Market) Sort() {
	for _, by := range []map[string]*priceList{m.lowest, m.highest} {
		for _, p := range by {
			p.sort()
		}
	}
}

// priceList counts the services by price.
type priceList struct {
	counts   map[site.Decimal]int // number of services by price
	services int

	// After sort:
	sorted  []site.Decimal // ascending, each once
	cheaper []int          // number of services with a lower price than each
	median  site.Decimal   // of an even number of prices the upper of the two in the middle
	outlier site.Decimal   // OutlierFactor times the median
}

func newPriceList() *priceList { return &priceList{counts: map[site.Decimal]int{}} }

func (p *priceList) add(price site.Decimal) {
	p.counts[price]++
	p.services++
}

func (p *priceList) sort() {
	p.sorted = slices.SortedFunc(maps.Keys(p.counts), site.Decimal.Compare)
	p.cheaper = make([]int, len(p.sorted))
	below := 0
	for i, price := range p.sorted {
		p.cheaper[i] = below
		if below <= p.services/2 {
			p.median = price
		}
		below += p.counts[price]
	}
	p.outlier = multiply(p.median, OutlierFactor)
}

// percentile returns 100 × the number of services with a lower price / the number of other services, to two decimals.
// The cheapest service has 0. It returns nil without a price or another service. The list must contain the price.
func (p *priceList) percentile(price *site.Decimal) *float64 {
	if price == nil || p.services < 2 {
		return nil
	}
	i, _ := slices.BinarySearchFunc(p.sorted, *price, site.Decimal.Compare)
	share := site.Round2(100 * float64(p.cheaper[i]) / float64(p.services-1))
	return &share
}

// Rank is the rank of a service's prices among those of its category.
type Rank struct {
	Percentile, PercentileMax *float64
	Outlier                   *site.Decimal // the median of the category, if the lowest price is an outlier
}

// Rank returns the rank of a service's prices in its category. The market must contain them.
func (m *Market) Rank(category string, o *Offer) Rank {
	if o.Lowest == nil {
		return Rank{}
	}
	low, high := m.lowest[category], m.highest[category]
	r := Rank{Percentile: low.percentile(o.Lowest), PercentileMax: high.percentile(o.Highest)}
	if low.isOutlier(o.Lowest) {
		r.Outlier = &low.median
	}
	return r
}

// A price is an outlier from OutlierFactor times the median of its category on, if the category has OutlierServices
// services with a price.
const (
	OutlierFactor   = 50
	OutlierServices = 5
)

// isOutlier reports whether a lowest price is at least OutlierFactor times the median. A median of zero has no
// multiples.
func (p *priceList) isOutlier(lowest *site.Decimal) bool {
	return lowest != nil && p.services >= OutlierServices && p.median != "0" && lowest.Compare(p.outlier) >= 0
}

// multiply returns n times d, exactly, or "" if d is no number.
func multiply(d site.Decimal, n int64) site.Decimal {
	r, ok := new(big.Rat).SetString(string(d))
	if !ok {
		return ""
	}
	_, frac, _ := strings.Cut(string(d), ".")
	product, err := site.ParseDecimal(r.Mul(r, new(big.Rat).SetInt64(n)).FloatString(len(frac)))
	if err != nil {
		return "" // impossible: products of decimals are not negative
	}
	return product
}
