package judge

import (
	"time"

	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// newScorePoints returns the scores of a service's days with a counted check, oldest first. today is what this snapshot
// publishes of the service.
func newScorePoints(f *postgres.ServiceFacts, h *price.History, today site.Recorded, now time.Time) []site.ScorePoint {
	points, times := make([]site.ScorePoint, len(f.DaySums)), make([]int, len(f.DaySums))
	uptimes, months := make([]float64, len(f.DaySums)), make([]float64, len(f.DaySums))
	recorded := recordedDays{f.Assessments}
	month, oldest := checkCounter{}, 0 // of the 30 days that end with the day, and its first element of DaySums
	for i, d := range f.DaySums {
		var t checkCounter
		t.add(&checks.Rollup{Start: d.Day, Counted: d.Counted, Up: d.Up, Timed: d.Timed, ResponseMS: d.ResponseMS})
		month.counted, month.up = month.counted+int64(d.Counted), month.up+int64(d.Up)
		for from := d.Day.AddDate(0, 0, 1-site.WindowDays["30d"]); f.DaySums[oldest].Day.Before(from); oldest++ {
			month.counted -= int64(f.DaySums[oldest].Counted)
			month.up -= int64(f.DaySums[oldest].Up)
		}
		uptimes[i], months[i] = t.percent(), month.percent()
		points[i] = site.ScorePoint{Date: site.NewTime(d.Day).Day(), UptimePercentage: uptimes[i],
			AvgResponseTimeMS: t.averageInto(&times[i]), PriceStability: h.Stability(d.Day),
			Uptime24h: &uptimes[i], Uptime30d: &months[i]}
		if end := d.Day.UTC().AddDate(0, 0, 1); end.After(now) {
			points[i].Recorded, points[i].RecordedAt = today, site.NewTime(lastVisit(f, d.Day, now))
		} else {
			points[i].Recorded, points[i].RecordedAt = recorded.take(d.Day), site.NewTime(end)
		}
		if i == 0 {
			continue
		}
		if last := points[i-1].PriceStability; last != nil && *last == *points[i].PriceStability {
			points[i].PriceStability = last // most days repeat it
		}
	}
	return points
}
