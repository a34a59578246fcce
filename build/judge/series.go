package judge

import (
	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/postgres"
)

// newScorePoints returns the scores of a service's days with a counted check, oldest first.
func newScorePoints(f *postgres.ServiceFacts) []site.ScorePoint {
	points, times := make([]site.ScorePoint, len(f.DaySums)), make([]int, len(f.DaySums))
	// f.PriceDays[first:last] are the days with prices of the 30 days that end with d. On changed of them a price
	// changed.
	first, last, changed := 0, 0, 0
	for i, d := range f.DaySums {
		var t checkCounter
		t.add(&postgres.Rollup{Start: d.Day, Counted: d.Counted, Up: d.Up, Timed: d.Timed, ResponseMS: d.ResponseMS})
		points[i] = site.ScorePoint{Date: site.NewTime(d.Day).Day(), UptimePercentage: t.percent(),
			AvgResponseTimeMS: t.averageInto(&times[i])}
		for ; last < len(f.PriceDays) && !f.PriceDays[last].Day.After(d.Day); last++ {
			changed += min(1, f.PriceDays[last].Moved)
		}
		for ; first < last && f.PriceDays[first].Day.Before(d.Day.AddDate(0, 0, 1-price.StabilityDays)); first++ {
			changed -= min(1, f.PriceDays[first].Moved)
		}
		if last > 0 {
			s := site.Round2(float64(price.StabilityDays-changed) / price.StabilityDays)
			if i > 0 && points[i-1].PriceStability != nil && *points[i-1].PriceStability == s {
				points[i].PriceStability = points[i-1].PriceStability
			} else {
				points[i].PriceStability = &s
			}
		}
	}
	return points
}
