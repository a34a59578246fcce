package money

import (
	"math"
	"math/big"

	"tollbook/site/display"
)

// Distance returns how far a ratio is from 1, up or down. A ratio of 0 is the farthest.
func Distance(ratio float64) float64 {
	if ratio <= 0 {
		return math.MaxFloat64
	}
	return math.Abs(math.Log(ratio))
}

// PriceChange words a change of a price: a percentage up to tenfold, then a factor.
func PriceChange(ratio *big.Rat) string {
	if ratio.Cmp(big.NewRat(10, 1)) >= 0 {
		f, _ := ratio.Float64()
		if f >= 1e6 {
			return "more than 1,000,000×"
		}
		return display.Number(int64(math.Round(f))) + "×"
	}
	hundredths := new(big.Rat).Mul(new(big.Rat).Sub(ratio, big.NewRat(1, 1)), big.NewRat(100, 1))
	text := hundredths.FloatString(0)
	switch {
	case text == "0" || text == "-0":
		return "less than 1%"
	case text == "-100":
		return "more than −99%"
	case ratio.Cmp(big.NewRat(1, 1)) < 0:
		return "−" + text[1:] + "%"
	}
	return "+" + text + "%"
}

// VolumeTrend compares the average day of the last 7 days with that of the last 30: "+13%". The direction is "up",
// "down" or "" for a change of up to 5%.
func VolumeTrend(trend *float64) (way, text string) {
	if trend == nil {
		return "", ""
	}
	text = percentChange(*trend)
	switch {
	case *trend > 1.05:
		return "up", text
	case *trend < .95:
		return "down", text
	}
	return "", text
}

// percentChange returns how far a ratio is from 1, in percent: "+13%", "−5%", "0%".
func percentChange(ratio float64) string {
	switch percent := int64(math.Round((ratio - 1) * 100)); {
	case percent > 0:
		return "+" + display.Number(percent) + "%"
	default:
		return display.Number(percent) + "%"
	}
}
