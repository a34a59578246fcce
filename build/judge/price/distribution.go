package price

import (
	"strconv"
	"strings"

	"tollbook/site"
)

// classBounds are the bounds between classes of prices in dollars: 1, 2 and 5 times each power of ten from 0.0001 to
// 100. All categories have the same, so that they can be compared.
var classBounds = listClassBounds()

func listClassBounds() (bounds []site.Decimal) {
	for exponent := -4; exponent <= 2; exponent++ {
		for _, digit := range []int{1, 2, 5} {
			d := strconv.Itoa(digit)
			if exponent < 0 {
				d = "0." + strings.Repeat("0", -exponent-1) + d
			} else {
				d += strings.Repeat("0", exponent)
			}
			bounds = append(bounds, site.Decimal(d))
		}
	}
	return bounds
}

// Distributions returns the distribution of the lowest prices of each category. It needs Sort.
func (m *Market) Distributions() map[string]*site.CategoryPrices {
	of := make(map[string]*site.CategoryPrices, len(m.lowest))
	for category, p := range m.lowest {
		of[category] = p.distribution()
	}
	return of
}

// all returns the price of each service.
func (p *priceList) all() []site.Decimal {
	list := make([]site.Decimal, 0, p.services)
	for _, price := range p.sorted {
		for range p.counts[price] {
			list = append(list, price)
		}
	}
	return list
}

func (p *priceList) distribution() *site.CategoryPrices {
	classes := make([]site.PriceClass, len(classBounds)+1)
	for i := range classBounds {
		classes[i].BelowUSD, classes[i+1].FromUSD = &classBounds[i], &classBounds[i]
	}
	first, last := len(classes), 0
	for _, price := range p.sorted {
		at := 0
		for at < len(classBounds) && price.Compare(classBounds[at]) >= 0 {
			at++
		}
		classes[at].ServiceCount += p.counts[price]
		first, last = min(first, at), max(last, at)
	}
	out := &site.CategoryPrices{ServiceCount: p.services, OperatorCount: len(p.votes), Classes: classes[first : last+1]}
	if out.MedianUSD = p.median; p.median == "" { // nobody has a vote
		out.MedianUSD = site.Median(p.all())
	}
	return out
}
