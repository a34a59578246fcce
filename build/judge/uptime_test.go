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
	sum := func(start time.Time, counted, up int) checks.Rollup {
		return checks.Rollup{Start: start, Checks: counted, Counted: counted, Up: up, Timed: up,
			ResponseMS: int64(100 * up)}
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
			H24: site.CoverageWindow{DaysCovered: 2, CheckCount: 6},
			D7:  site.CoverageWindow{DaysCovered: 2, CheckCount: 13},
			D30: site.CoverageWindow{DaysCovered: 3, CheckCount: 23},
			D90: site.CoverageWindow{DaysCovered: 5, CheckCount: 43},
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
	want90 := []string{"0823 0824 00:00", "1021 1022 00:00", "1022 1023 00:00", "1114 1115 00:00", "1120 1120 12:30"}
	if diff := cmp.Diff(want90, periods); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
}
