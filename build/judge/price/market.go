package price

import (
	"maps"
	"math/big"
	"slices"
	"strings"

	"tollbook/site"
)

// Market has the prices of the services of each category, or on each network. Add the prices of all services, then call
// Sort, then Rank. An operator has one vote in each category, however many services it lists there: its dearest price.
type Market struct {
	lowest, highest map[string]*priceList // by category
	operators       []int                 // by service, after Sort
}

// NewMarket returns a market without services.
func NewMarket() *Market {
	return &Market{lowest: map[string]*priceList{}, highest: map[string]*priceList{}}
}

// Add adds the prices of the ith service.
func (m *Market) Add(category string, i int, o *Offer) {
	if o.Lowest == nil {
		return
	}
	m.AddPrices(category, i, *o.Lowest, o.Plausible, o.Highest)
}

// AddPrices adds the lowest price of the ith service, its lowest plausible price and its highest price; nil for none.
func (m *Market) AddPrices(category string, i int, lowest site.Decimal, plausible, highest *site.Decimal) {
	if m.lowest[category] == nil {
		m.lowest[category], m.highest[category] = newPriceList(), newPriceList()
	}
	m.lowest[category].add(i, lowest, plausible)
	if highest != nil {
		m.highest[category].add(i, *highest, IsPlausible(highest))
	}
}

// IsPlausible returns a price if it is plausible, else nil.
func IsPlausible(price *site.Decimal) *site.Decimal {
	if price == nil || price.Compare(site.LeastPlausibleUSD) < 0 {
		return nil
	}
	return price
}

// Sort prepares the market for Rank. operators has a number for the operator of each service.
func (m *Market) Sort(operators []int) {
	m.operators = operators
	for _, by := range []map[string]*priceList{m.lowest, m.highest} {
		for _, p := range by {
			p.sort(operators)
		}
	}
}

// priceList has the prices of services and the votes of their operators.
type priceList struct {
	counts   map[site.Decimal]int // number of services by price
	services int
	voting   map[int]site.Decimal // the plausible price of each service that has one

	// After sort:
	sorted  []site.Decimal       // prices of services, ascending, each once
	votes   map[int]site.Decimal // by operator
	ordered []site.Decimal       // votes, ascending
	median  site.Decimal         // of votes; "" without one
	outlier site.Decimal         // OutlierFactor times the median
}

func newPriceList() *priceList {
	return &priceList{counts: map[site.Decimal]int{}, voting: map[int]site.Decimal{}, votes: map[int]site.Decimal{}}
}

func (p *priceList) add(i int, price site.Decimal, plausible *site.Decimal) {
	p.counts[price]++
	p.services++
	if plausible != nil {
		p.voting[i] = *plausible
	}
}

func (p *priceList) sort(operators []int) {
	p.sorted = slices.SortedFunc(maps.Keys(p.counts), site.Decimal.Compare)
	for i, price := range p.voting {
		if vote, ok := p.votes[operators[i]]; !ok || price.Compare(vote) > 0 {
			p.votes[operators[i]] = price
		}
	}
	p.ordered = slices.SortedFunc(maps.Values(p.votes), site.Decimal.Compare)
	p.median = site.Median(p.ordered)
	p.outlier = multiply(p.median, OutlierFactor)
}

// percentile returns 100 × the number of other operators with a lower vote / the number of other operators, to two
// decimals. The cheapest has 0. It returns nil without a price or another operator.
func (p *priceList) percentile(price *site.Decimal, operator int) *float64 {
	if price == nil {
		return nil
	}
	cheaper, _ := slices.BinarySearchFunc(p.ordered, *price, site.Decimal.Compare)
	others := len(p.ordered)
	if own, ok := p.votes[operator]; ok {
		others--
		if own.Compare(*price) < 0 {
			cheaper--
		}
	}
	if others == 0 {
		return nil
	}
	share := site.Round2(100 * float64(cheaper) / float64(others))
	return &share
}

// dearer returns how many other operators have a higher vote, and how many other operators have one.
func (p *priceList) dearer(price site.Decimal, operator int) (dearer, others int) {
	upTo, _ := slices.BinarySearchFunc(p.ordered, price, func(vote, price site.Decimal) int {
		if vote.Compare(price) <= 0 {
			return -1
		}
		return 1
	})
	dearer, others = len(p.ordered)-upTo, len(p.ordered)
	if own, ok := p.votes[operator]; ok {
		others--
		if own.Compare(price) > 0 {
			dearer--
		}
	}
	return dearer, others
}

// Rank is the rank of a service's prices among those of its category.
type Rank struct {
	Percentile, PercentileMax *float64
	Others                    int           // operators but its own that have a vote
	Dearer                    int           // those of them whose vote is higher
	Outlier                   *site.Decimal // the median of the category, if the lowest price is an outlier
}

// Rank returns the rank of the ith service's prices in its category. The market must contain them.
func (m *Market) Rank(category string, i int, o *Offer) Rank {
	if o.Lowest == nil {
		return Rank{}
	}
	low, high, operator := m.lowest[category], m.highest[category], m.operators[i]
	r := Rank{Percentile: low.percentile(o.Lowest, operator), PercentileMax: high.percentile(o.Highest, operator)}
	r.Dearer, r.Others = low.dearer(*o.Lowest, operator)
	if low.isOutlier(o.Lowest) {
		r.Outlier = &low.median
	}
	return r
}

// A price is an outlier from OutlierFactor times the median of its category on, if OutlierOperators operators have a
// plausible price there.
const (
	OutlierFactor    = 50
	OutlierOperators = 5
)

// isOutlier reports whether a lowest price is at least OutlierFactor times the median.
func (p *priceList) isOutlier(lowest *site.Decimal) bool {
	return lowest != nil && len(p.votes) >= OutlierOperators && lowest.Compare(p.outlier) >= 0
}

// Networks returns the prices on each network.
func (m *Market) Networks() map[string]*site.NetworkPrices {
	of := make(map[string]*site.NetworkPrices, len(m.lowest))
	for network, p := range m.lowest {
		n := &site.NetworkPrices{ServiceCount: p.services, OperatorCount: len(p.votes), LowestUSD: p.sorted[0],
			HighestUSD: p.sorted[len(p.sorted)-1]}
		if p.median != "" {
			n.MedianUSD = &p.median
		}
		of[network] = n
	}
	return of
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
