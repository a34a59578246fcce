package aggregate

import (
	"math/big"
	"slices"

	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/snapshot"
)

// categoryPrices returns how the lowest prices of the services of a category are distributed, nil without a price.
func categoryPrices(details []snapshot.Node, category string) any {
	var prices []*big.Rat
	for _, s := range details {
		price := s.Get("min_price_usd").Number()
		if price != nil && s.Get("category").Text() == category && !conformance.SpeaksOther(s) {
			prices = append(prices, price)
		}
	}
	if len(prices) == 0 {
		return nil
	}
	slices.SortFunc(prices, (*big.Rat).Cmp)
	var classes []any
	var from *big.Rat
	left := len(prices)
	for bound := big.NewRat(1, 10_000); left > 0; bound = nextBound(bound) {
		below, count := bound, 0
		if bound.Cmp(big.NewRat(500, 1)) > 0 {
			below = nil
		}
		for _, p := range prices {
			if (from == nil || p.Cmp(from) >= 0) && (below == nil || p.Cmp(below) < 0) {
				count++
			}
		}
		if left -= count; count > 0 || len(classes) > 0 {
			classes = append(classes, map[string]any{"from_usd": ratOrNull(from), "below_usd": ratOrNull(below),
				"service_count": count})
		}
		from = below
	}
	return map[string]any{"service_count": len(prices), "classes": classes,
		"median_usd": prices[len(prices)/2]}
}

// nextBound returns the bound of prices after one: each is 1, 2 or 5 times a power of ten.
func nextBound(bound *big.Rat) *big.Rat {
	digit := new(big.Rat).Set(bound)
	for digit.Cmp(big.NewRat(1, 1)) < 0 {
		digit.Mul(digit, big.NewRat(10, 1))
	}
	for digit.Cmp(big.NewRat(10, 1)) >= 0 {
		digit.Quo(digit, big.NewRat(10, 1))
	}
	if digit.Cmp(big.NewRat(2, 1)) == 0 {
		return new(big.Rat).Mul(bound, big.NewRat(5, 2))
	}
	return new(big.Rat).Mul(bound, big.NewRat(2, 1))
}

func ratOrNull(r *big.Rat) any {
	if r == nil {
		return nil
	}
	return r
}
