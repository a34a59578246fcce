package main

import (
	"math/big"
	"time"
)

const economicsRule = "Economics"

// stability returns (30 - days on which a price changed) / 30 over the 30 days that end with a date, from the points of
// the price series. It is nil before the first price.
func stability(prices []node, date string) *big.Rat {
	last, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return nil
	}
	first := last.Add(-29 * day).Format(time.DateOnly)
	known, changed := false, int64(0)
	for _, point := range prices {
		at := point.get("date").text()
		known = known || at <= date
		if first <= at && at <= date && point.get("changes").int() > 0 {
			changed++
		}
	}
	if !known {
		return nil
	}
	return round(big.NewRat(30-changed, 30), 2)
}
