package price

import (
	"math/big"
	"slices"

	"tollbook/site"
)

// Statistics returns the statistics of prices. The average and the median are rounded to nine
// decimals.
func Statistics(prices []site.Decimal) site.StatsPricing {
	if len(prices) == 0 {
		return site.StatsPricing{}
	}
	slices.SortFunc(prices, site.Decimal.Compare)
	n, median := len(prices), site.Median(prices)
	return site.StatsPricing{
		AvgPriceUSD: averagePrice(prices), MinPriceUSD: &prices[0], MaxPriceUSD: &prices[n-1],
		MedianPriceUSD: averagePrice([]site.Decimal{median}),
	}
}

// averagePrice returns the mean of prices, rounded to nine decimals. Halves are rounded up.
func averagePrice(prices []site.Decimal) *site.Decimal {
	sum := new(big.Rat)
	for _, p := range prices {
		if r, ok := new(big.Rat).SetString(string(p)); ok {
			sum.Add(sum, r)
		}
	}
	sum.Quo(sum, new(big.Rat).SetInt64(int64(len(prices))))
	d, err := site.ParseDecimal(sum.FloatString(9))
	if err != nil {
		return nil // impossible: the mean of decimals is not negative
	}
	return &d
}
