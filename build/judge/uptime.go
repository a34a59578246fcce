package judge

import (
	"math"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// daysBetween returns the whole days from a time to now, 0 if the time is in the future.
func daysBetween(from, now time.Time) int { return max(0, int(now.Sub(from)/(24*time.Hour))) }

// checkCounter sums roll-ups, which are added oldest first.
//
// Uptime is 100 × the time in which a service was up / the time in which its state was known, to two decimals, nil where
// nothing is known. Both end with the last full hour. A window of 24h has the last 24 full UTC hours, a window of N days
// the last N UTC days, of which today is the last. Checks count up to now.
type checkCounter struct {
	knownMS, upMS                int64
	counted, up, timed, response int64
	days                         int // UTC days with a counted check
	last                         int // the newest of them, by dayNumber
}

func (t *checkCounter) add(r *checks.Rollup) {
	t.knownMS, t.upMS = t.knownMS+r.KnownMS, t.upMS+r.UpMS
	if r.Counted == 0 {
		return
	}
	if day := dayNumber(r.Start); t.days == 0 || day != t.last {
		t.days++
		t.last = day
	}
	t.counted += int64(r.Counted)
	t.up += int64(r.Up)
	t.timed += int64(r.Timed)
	t.response += r.ResponseMS
}

// sumRollups returns the sum of roll-ups.
func sumRollups(rollups []checks.Rollup) (t checkCounter) {
	for i := range rollups {
		t.add(&rollups[i])
	}
	return t
}

// lastHours are the sums of the hours of all services. The hours themselves take much memory and are dropped.
type lastHours struct {
	services      []checkCounter // by service, of the last 24 hours
	checksPerHour float64        // counted checks of the last 24 full hours, divided by 24
}

// sumHours sums the hours of all services.
func sumHours(f *postgres.Facts, now time.Time) lastHours {
	h := lastHours{services: make([]checkCounter, len(f.Services))}
	open, counted := now.UTC().Truncate(time.Hour), 0
	for i := range f.Services {
		h.services[i] = sumRollups(f.Services[i].Hours)
		for _, r := range f.Services[i].Hours {
			if !r.Start.UTC().Truncate(time.Hour).Equal(open) {
				counted += r.Counted
			}
		}
	}
	h.checksPerHour = site.Round2(float64(counted) / 24)
	return h
}

// percentOrNull returns the uptime, nil where nothing is known.
func (t *checkCounter) percentOrNull() *float64 {
	if t.knownMS == 0 {
		return nil
	}
	p := t.percent()
	return &p
}

// percent returns the uptime, rounded half up to two decimals. Some time must be known.
func (t *checkCounter) percent() float64 { return site.SharePercent(t.upMS, t.knownMS) }

// average returns the mean response time in whole milliseconds, nil without a time.
func (t *checkCounter) average() *int {
	return t.averageInto(new(int))
}

// averageInto stores the average in ms and returns ms, nil without a time.
func (t *checkCounter) averageInto(ms *int) *int {
	if t.timed == 0 {
		return nil
	}
	*ms = int(math.Round(float64(t.response) / float64(t.timed)))
	return ms
}

// coverage returns what is behind the uptime of a window with a length.
func (t *checkCounter) coverage(length time.Duration) site.CoverageWindow {
	c := site.CoverageWindow{DaysCovered: t.days, CheckCount: t.counted, KnownMS: t.knownMS, UpMS: t.upMS}
	if length > 0 {
		c.KnownPercent = min(100, site.SharePercent(t.knownMS, length.Milliseconds()))
	}
	return c
}

// uptimeWindows returns the uptime of the four windows. h24 is the sum of the shortest.
func uptimeWindows(f *postgres.ServiceFacts, h24 *checkCounter, now time.Time) site.UptimeWindows {
	var d7, d30, d90 checkCounter
	windows := []struct {
		days int
		sum  *checkCounter
	}{{site.WindowDays["7d"], &d7}, {site.WindowDays["30d"], &d30}, {site.WindowDays["90d"], &d90}}
	today := dayNumber(now)
	start := now.UTC().Truncate(24 * time.Hour)
	length := func(days int) time.Duration { return now.Truncate(time.Hour).Sub(start.AddDate(0, 0, 1-days)) }
	for i := range f.Days {
		d := &f.Days[i]
		age := today - dayNumber(d.Start)
		for _, w := range windows {
			if age < w.days {
				w.sum.add(d)
			}
		}
	}
	return site.UptimeWindows{
		H24: h24.percentOrNull(), D7: d7.percentOrNull(), D30: d30.percentOrNull(), D90: d90.percentOrNull(),
		Coverage: site.Coverage{H24: h24.coverage(24 * time.Hour), D7: d7.coverage(length(7)),
			D30: d30.coverage(length(30)), D90: d90.coverage(length(90))},
	}
}

// responseP95 returns the 95th percentile of the response times of 7 days: the middle of the histogram bucket that
// contains rank ⌈0.95 × n⌉ (see site.HistogramQuantile). It returns nil without times. Only the days of the last 7 have
// histograms.
func responseP95(days []checks.Rollup) *int {
	sum := make([]int64, site.HistogramBuckets)
	for _, d := range days {
		for i, n := range d.Histogram {
			if i < len(sum) {
				sum[i] += n
			}
		}
	}
	ms, ok := site.HistogramQuantile(sum, 0.95)
	if !ok {
		return nil
	}
	return &ms
}

// newUptimePoints returns a point for each UTC day of which something is known, oldest first. Today's ends with the last
// full hour.
func newUptimePoints(f *postgres.ServiceFacts, now time.Time) []site.UptimeDataPoint {
	points, times := make([]site.UptimeDataPoint, 0, len(f.Days)), make([]int, len(f.Days))
	for i := range f.Days {
		var t checkCounter
		d := &f.Days[i]
		t.add(d)
		if t.knownMS == 0 {
			continue
		}
		start := d.Start.UTC()
		end := start.Add(24 * time.Hour)
		if end.After(now) {
			end = now.UTC().Truncate(time.Hour)
		}
		points = append(points, site.UptimeDataPoint{
			PeriodStart: site.NewTime(start), PeriodEnd: site.NewTime(end), UptimePercentage: t.percent(),
			AvgResponseTimeMS: t.averageInto(&times[i]), TotalChecks: t.counted, SuccessfulChecks: t.up,
			KnownMS: t.knownMS, UpMS: t.upMS,
		})
	}
	return points
}

// lastVisit returns the time of a service's last visit if it is after start, else now. Builds without new visits
// publish the same.
func lastVisit(f *postgres.ServiceFacts, start, now time.Time) time.Time {
	if last := f.LastCheckedAt; last != nil && last.After(start) && !last.After(now) {
		return *last
	}
	return now
}
