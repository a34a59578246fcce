package judge

import (
	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/postgres"
)

// newScorePoints returns the scores of a service's days with a counted check, oldest first.
func newScorePoints(f *postgres.ServiceFacts, h *price.History) []site.ScorePoint {
	points, times := make([]site.ScorePoint, len(f.DaySums)), make([]int, len(f.DaySums))
	for i, d := range f.DaySums {
		var t checkCounter
		t.add(&postgres.Rollup{Start: d.Day, Counted: d.Counted, Up: d.Up, Timed: d.Timed, ResponseMS: d.ResponseMS})
		points[i] = site.ScorePoint{Date: site.NewTime(d.Day).Day(), UptimePercentage: t.percent(),
			AvgResponseTimeMS: t.averageInto(&times[i]), PriceStability: h.Stability(d.Day)}
		if i == 0 {
			continue
		}
		if last := points[i-1].PriceStability; last != nil && *last == *points[i].PriceStability {
			points[i].PriceStability = last // most days repeat it
		}
	}
	return points
}
