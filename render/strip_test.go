package render

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

func TestStrip(t *testing.T) {
	t.Parallel()
	now := site.NewTime(time.Date(2026, 11, 20, 23, 45, 0, 0, time.UTC))
	ms := func(n int) *int { return &n }
	point := func(daysAgo int, ok, total int64, ms *int) site.UptimeDataPoint {
		start := now.Truncate(24*time.Hour).AddDate(0, 0, -daysAgo)
		p := site.UptimeDataPoint{PeriodStart: site.NewTime(start), TotalChecks: total, SuccessfulChecks: ok, AvgResponseTimeMS: ms}
		if total > 0 {
			p.UptimePercentage = site.Round2(100 * float64(ok) / float64(total))
		}
		return p
	}
	s := newStrip([]site.UptimeDataPoint{
		point(90, 1, 1, ms(9000)), // before the first day shown
		point(89, 96, 96, ms(500)),
		point(3, 95, 96, ms(1000)),
		point(2, 0, 96, nil),
		point(1, 0, 0, nil), // a day without a check is a gap, not 0 %
		point(0, 48, 96, ms(1)),
		point(-1, 1, 1, ms(9000)), // after now
	}, now)

	type column struct {
		Known                     bool
		UpY, UpH, DownH, SpeedH   int
		Title, SpeedTitle, Uptime string
	}
	shown := func(i int) column {
		d := s.Days[i]
		return column{d.Known, d.UpY, d.UpH, d.DownH, d.SpeedH, d.Title, d.SpeedTitle, percent(d.UptimeShown)}
	}
	for i, want := range map[int]column{
		0:  {true, 0, 40, 0, 30, "23 Aug 2026: 100\u00a0% of 96\u00a0checks", "23 Aug 2026: 500\u00a0ms", "100\u00a0%"},
		1:  {Title: "24 Aug 2026: no check"},
		86: {true, 6, 34, 6, 60, "17 Nov 2026: 98.96\u00a0% of 96\u00a0checks", "17 Nov 2026: 1,000\u00a0ms", "98.96\u00a0%"},
		87: {true, 40, 0, 40, 0, "18 Nov 2026: 0\u00a0% of 96\u00a0checks", "", "0\u00a0%"},
		88: {Title: "19 Nov 2026: no check"},
		89: {true, 20, 20, 20, 2, "20 Nov 2026: 50\u00a0% of 96\u00a0checks", "20 Nov 2026: 1\u00a0ms", "50\u00a0%"},
	} {
		if diff := cmp.Diff(want, shown(i)); diff != "" {
			t.Errorf("day %d (-want +got):\n%s", i, diff)
		}
	}
	if len(s.Days) != 90 || s.Covered != 4 || s.Gaps != 86 || *s.Slowest != 1000 {
		t.Errorf("%d days, %d covered, %d gaps, slowest %d", len(s.Days), s.Covered, s.Gaps, *s.Slowest)
	}
	if want := "4\u00a0days with checks, 86 without; lowest 0\u00a0% on 18 Nov 2026."; s.Summary != want {
		t.Errorf("summary %q, want %q", s.Summary, want)
	}
	if s := newStrip(nil, now); s.Covered != 0 || len(s.Days) != 90 || s.Summary != "No check in the last 90 days." {
		t.Errorf("without points: %d covered, %d days, %q", s.Covered, len(s.Days), s.Summary)
	}
}

func TestPageNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		current, total int
		want           []int
	}{
		{1, 1, []int{1}},
		{1, 3, []int{1, 2, 3}},
		{1, 9, []int{1, 2, 0, 9}},
		{5, 9, []int{1, 0, 4, 5, 6, 0, 9}},
		{9, 9, []int{1, 0, 8, 9}},
		{1, 0, nil},
		{12, 3, []int{1, 0, 3}},
	} {
		if diff := cmp.Diff(c.want, pageNumbers(c.current, c.total)); diff != "" {
			t.Errorf("page %d of %d (-want +got):\n%s", c.current, c.total, diff)
		}
	}
}
