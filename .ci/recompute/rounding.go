package main

import (
	"math/big"
	"time"
)

// day is the length of a UTC day.
const day = 24 * time.Hour

// round returns r with some decimals, halves away from zero.
func round(r *big.Rat, decimals int) *big.Rat {
	rounded, _ := new(big.Rat).SetString(r.FloatString(decimals))
	return rounded
}

// percent returns 100 × part / whole with two decimals, nil if the whole is 0.
func percent(part, whole int) *big.Rat {
	if whole == 0 {
		return nil
	}
	return round(big.NewRat(int64(100*part), int64(whole)), 2)
}

// mean returns sum / count in whole units, nil if there is nothing to divide.
func mean(sum, count int) *big.Rat {
	if count == 0 {
		return nil
	}
	return round(big.NewRat(int64(sum), int64(count)), 0)
}

// midnight returns the beginning of the UTC day of t.
func midnight(t time.Time) time.Time { return t.UTC().Truncate(day) }
