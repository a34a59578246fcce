package judge

import (
	"time"

	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// newScorePoints returns the scores of a service's days of which something is known, oldest first. today is what this snapshot
// publishes of the service.
func newScorePoints(f *postgres.ServiceFacts, h *price.History, today site.Recorded, now time.Time) []site.ScorePoint {
	sums := make([]checks.DaySum, 0, len(f.DaySums))
	for _, d := range f.DaySums {
		if d.KnownMS > 0 {
			sums = append(sums, d)
		}
	}
	points, times := make([]site.ScorePoint, len(sums)), make([]int, len(sums))
	uptimes, months := make([]float64, len(sums)), make([]float64, len(sums))
	recorded := recordedDays{f.Assessments}
	month, oldest := checkCounter{}, 0 // of the 30 days that end with the day, and its first element of sums
	for i, d := range sums {
		var t checkCounter
		t.add(&checks.Rollup{Start: d.Day, Counted: d.Counted, Up: d.Up, Timed: d.Timed, ResponseMS: d.ResponseMS,
			KnownMS: d.KnownMS, UpMS: d.UpMS})
		month.knownMS, month.upMS = month.knownMS+d.KnownMS, month.upMS+d.UpMS
		for from := d.Day.AddDate(0, 0, 1-site.WindowDays["30d"]); sums[oldest].Day.Before(from); oldest++ {
			month.knownMS, month.upMS = month.knownMS-sums[oldest].KnownMS, month.upMS-sums[oldest].UpMS
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
