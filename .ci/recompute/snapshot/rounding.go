package snapshot

import (
	"math/big"
	"time"
)

// Day is the length of a UTC day.
const Day = 24 * time.Hour

// Round returns r with some decimals, halves away from zero.
func Round(r *big.Rat, decimals int) *big.Rat {
	rounded, _ := new(big.Rat).SetString(r.FloatString(decimals))
	return rounded
}

// Percent returns 100 × part / whole with two decimals, nil if the whole is 0.
func Percent(part, whole int) *big.Rat {
	if whole == 0 {
		return nil
	}
	return Round(big.NewRat(int64(100*part), int64(whole)), 2)
}

// Mean returns sum / count in whole units, nil if there is nothing to divide.
func Mean(sum, count int) *big.Rat {
	if count == 0 {
		return nil
	}
	return Round(big.NewRat(int64(sum), int64(count)), 0)
}

// Midnight returns the beginning of the UTC day of t.
func Midnight(t time.Time) time.Time { return t.UTC().Truncate(Day) }
