// This file owns which service of each category is the cheapest and which is the most used. It picks only what
// /v1/best recommends and what the advice calls good. It must never know how rows are made or where they are stored.

package directory

import (
	"cmp"
	"time"

	"tollbook/site"
	"tollbook/site/search"
)

// PicksOf returns what is published of a service if it is picked, nil if it must not be.
func PicksOf(row *site.ServiceRow, now time.Time) *site.Pick {
	if row.AdviceLevel != site.AdviceGood {
		return nil
	}
	price, condition, network, ok := search.ComparedPrice(row, now)
	if !ok {
		return nil
	}
	return &site.Pick{Slug: row.Slug, Name: row.Name, PriceUSD: price, PriceCondition: condition, Network: network,
		UniqueBuyers30d:  row.Assessment.Traction.UniqueBuyers30d,
		OrganicBuyers30d: row.Assessment.Traction.OrganicBuyers30d}
}

// Picks are the picks of each category.
type Picks map[string]picks

type picks struct{ cheapest, mostUsed *site.Pick }

// Add adds a service of a category. p is nil if it must not be picked.
func (p Picks) Add(category string, one *site.Pick) {
	if one == nil {
		return
	}
	of := p[category]
	if one.PriceUSD != nil && (of.cheapest == nil || compare(one, of.cheapest, byPrice, byBuyers) < 0) {
		of.cheapest = one
	}
	if n := one.OrganicBuyers30d; n != nil && *n > 0 &&
		(of.mostUsed == nil || compare(one, of.mostUsed, byBuyers, byPrice) < 0) {
		of.mostUsed = one
	}
	p[category] = of
}

// Set adds the picks to the categories.
func (p Picks) Set(tags []site.Tag) {
	for i := range tags {
		of := p[tags[i].Tag]
		tags[i].Cheapest, tags[i].MostUsed = of.cheapest, of.mostUsed
	}
}

// compare orders two services by one order, then by another, then by slug.
func compare(a, b *site.Pick, first, second func(a, b *site.Pick) int) int {
	return cmp.Or(first(a, b), second(a, b), cmp.Compare(a.Slug, b.Slug))
}

// byPrice orders the lowest price first, each price on a condition after those without one, and unknown prices last.
func byPrice(a, b *site.Pick) int {
	switch {
	case a.PriceUSD == nil && b.PriceUSD == nil:
		return 0
	case a.PriceUSD == nil:
		return 1
	case b.PriceUSD == nil:
		return -1
	}
	if isConditional := a.PriceCondition != nil; isConditional != (b.PriceCondition != nil) {
		if isConditional {
			return 1
		}
		return -1
	}
	return a.PriceUSD.Compare(*b.PriceUSD)
}

// byBuyers orders the most organic buyers first; an unknown number is like none.
func byBuyers(a, b *site.Pick) int { return cmp.Compare(buyers(b), buyers(a)) }

func buyers(p *site.Pick) int64 {
	if p.OrganicBuyers30d == nil {
		return 0
	}
	return *p.OrganicBuyers30d
}
