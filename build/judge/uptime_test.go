package judge

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

func TestUptimeWindows(t *testing.T) {
	t.Parallel()
	today := now.Truncate(24 * time.Hour)
	// as if each check were known for a minute
	sum := func(start time.Time, counted, up int) checks.Rollup {
		return checks.Rollup{Start: start, Checks: counted, Counted: counted, Up: up, Timed: up,
			ResponseMS: int64(100 * up), KnownMS: int64(counted) * 60_000, UpMS: int64(up) * 60_000}
	}
	window := func(days int, checks int64, up int64, percent float64) site.CoverageWindow {
		return site.CoverageWindow{DaysCovered: days, CheckCount: checks, KnownMS: checks * 60_000, UpMS: up * 60_000,
			KnownPercent: percent}
	}
	f := &postgres.ServiceFacts{Facts: checks.Facts{
		Hours: []checks.Rollup{sum(now.Truncate(time.Hour).Add(-24*time.Hour), 4, 2),
			sum(now.Truncate(time.Hour), 2, 1)},
		Days: []checks.Rollup{
			sum(today.AddDate(0, 0, -89), 10, 0), // the oldest day of 90
			sum(today.AddDate(0, 0, -30), 10, 5), // a day too old for 30
			sum(today.AddDate(0, 0, -29), 10, 5),
			sum(today.AddDate(0, 0, -6), 10, 9),
			sum(today, 3, 3),
		},
	}}
	day := sumRollups(f.Hours)
	got := uptimeWindows(f, &day, now)
	want := site.UptimeWindows{
		H24: new(50.0), D7: new(92.31), D30: new(73.91), D90: new(51.16),
		Coverage: site.Coverage{
			H24: window(2, 6, 3, 0.42), D7: window(2, 13, 12, 0.14), D30: window(3, 23, 17, 0.05),
			D90: window(5, 43, 22, 0.03),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(site.UptimeWindows{}, uptimeWindows(&postgres.ServiceFacts{}, &checkCounter{},
		now)); diff != "" {
		t.Errorf("windows without checks (-want +got):\n%s", diff)
	}
	points := newUptimePoints(f, now)
	var periods []string
	for _, p := range points {
		periods = append(periods, p.PeriodStart.Format("0102")+" "+p.PeriodEnd.Format("0102 15:04"))
	}
	want90 := []string{"0823 0824 00:00", "1021 1022 00:00", "1022 1023 00:00", "1114 1115 00:00", "1120 1120 12:00"}
	if diff := cmp.Diff(want90, periods); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
}

// TestUptimeIsByTime checks that the uptime of a service does not depend on how often it was visited: a service that
// fails is visited less.
func TestUptimeIsByTime(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	end := dateOf(11, 30)
	// visited as the crawler visits a service that was up for some time, then down until the end
	visits := func(length, down time.Duration) (list []checks.Check) {
		var since *time.Time
		for at := end.Add(-length); at.Before(end); {
			c := checks.Check{CheckedAt: at, Counted: true, IsUp: at.Before(end.Add(-down))}
			if !c.IsUp && since == nil {
				since = new(at)
			}
			interval := site.Interval(15*time.Minute, since, at)
			c.IntervalS = int(interval / time.Second)
			list, at = append(list, c), at.Add(interval)
		}
		return list
	}
	uptime := func(list []checks.Check, length time.Duration) float64 {
		sum := checks.Rollup{Start: end.Add(-length)}
		for _, s := range checks.Spans(list, end) {
			sum.AddSpan(s, length)
		}
		all := sumRollups([]checks.Rollup{sum})
		return *all.percentOrNull()
	}
	for _, test := range []struct {
		about        string
		length, down time.Duration
		want         float64
	}{
		{"down 2 days of 30", 30 * day, 2 * day, 93.33},
		{"down 5 days of 30", 30 * day, 5 * day, 83.33},
		{"down 10 days of 30", 30 * day, 10 * day, 66.67},
		{"down 20 days of 30", 30 * day, 20 * day, 33.33},
		{"down 40 days of 90", 90 * day, 40 * day, 55.56},
		{"never down", 30 * day, 0, 100},
	} {
		if got := uptime(visits(test.length, test.down), test.length); got != test.want {
			t.Errorf("%s: uptime %v, want %v", test.about, got, test.want)
		}
	}
	// down for 23 hours and more, and back an hour ago
	down := visits(4*day, 4*day)
	for i := range down {
		if down[i].IsUp = !down[i].CheckedAt.Before(end.Add(-time.Hour)); down[i].IsUp {
			down[i].IntervalS = 900
		}
	}
	if got := uptime(down, day); got != 4.17 {
		t.Errorf("back an hour ago: uptime %v, want 4.17", got)
	}
	// nobody looked for three of four days
	list := []checks.Check{{CheckedAt: end.Add(-4 * day), Counted: true, IsUp: true, IntervalS: 900},
		{CheckedAt: end.Add(-time.Hour), Counted: true, IntervalS: 900}}
	if got := uptime(list, 4*day); got != 50 {
		t.Errorf("a gap: uptime %v, want 50: an hour up, an hour down, and nothing is known of the rest", got)
	}
	// a check that does not count says nothing, and ends nothing
	list = []checks.Check{{CheckedAt: end.Add(-time.Hour), Counted: true, IsUp: true, IntervalS: 900},
		{CheckedAt: end.Add(-30 * time.Minute), IsUp: false}}
	if got := uptime(list, day); got != 100 {
		t.Errorf("an uncounted check: uptime %v, want 100", got)
	}
}
