package chart

import (
	"strings"
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
		p := site.UptimeDataPoint{PeriodStart: site.NewTime(start), TotalChecks: total, SuccessfulChecks: ok,
			AvgResponseTimeMS: ms}
		if total > 0 {
			p.UptimePercentage = site.Round2(100 * float64(ok) / float64(total))
		}
		return p
	}
	s := NewStrip([]site.UptimeDataPoint{
		point(90, 1, 1, ms(9000)), // before the first day shown
		point(89, 96, 96, ms(500)),
		point(3, 95, 96, ms(1000)),
		point(2, 0, 1, nil),
		point(1, 0, 0, nil), // a day without a check is a gap, not 0%
		point(0, 48, 96, ms(1)),
		point(-1, 1, 1, ms(9000)), // after now
	}, NewCalendar(now))

	uptime, speed, rows := strings.Split(string(s.Uptime), "\n"), strings.Split(string(s.Speed), "\n"),
		strings.Split(string(s.Rows), "\n")
	if len(uptime) != 91 || len(speed) != 4 || len(rows) != 91 {
		t.Fatalf("%d, %d and %d lines", len(uptime), len(speed), len(rows))
	}
	for i, want := range map[int]string{
		0: "<g><title>23 Aug 2026: 100% of 96\u00a0checks</title>" +
			`<rect class="up" x="0" y="0" width="8" height="40"/></g>`,
		1: `<g><title>24 Aug 2026: no checks</title><rect class="gap" x="10" y="37" width="8" height="3"/><rect ` +
			`class="touch" x="10" width="8" height="40"/></g>`,
		86: "<g><title>17 Nov 2026: 98.96% of 96\u00a0checks</title>" +
			`<rect class="down" x="860" width="8" height="6"/><rect class="up" x="860" y="6" width="8" ` +
			`height="34"/></g>`,
		87: "<g><title>18 Nov 2026: 0% of 1\u00a0check</title>" +
			`<rect class="down" x="870" width="8" height="40"/></g>`,
		88: `<g><title>19 Nov 2026: no checks</title><rect class="gap" x="880" y="37" width="8" height="3"/><rect ` +
			`class="touch" x="880" width="8" height="40"/></g>`,
		89: "<g><title>20 Nov 2026: 50% of 96\u00a0checks</title>" +
			`<rect class="down" x="890" width="8" height="20"/><rect class="up" x="890" y="20" width="8" ` +
			`height="20"/></g>`,
	} {
		if diff := cmp.Diff(want, uptime[i]); diff != "" {
			t.Errorf("day %d (-want +got):\n%s", i, diff)
		}
	}
	wantSpeed := []string{
		`<rect x="0" y="30" width="8" height="30"><title>23 Aug 2026: 500` + "\u00a0ms</title></rect>",
		`<rect x="860" y="0" width="8" height="60"><title>17 Nov 2026: 1,000` + "\u00a0ms</title></rect>",
		`<rect x="890" y="58" width="8" height="2"><title>20 Nov 2026: 1` + "\u00a0ms</title></rect>",
		"",
	}
	if diff := cmp.Diff(wantSpeed, speed); diff != "" {
		t.Errorf("response times (-want +got):\n%s", diff)
	}
	for i, want := range map[int]string{
		86: `<tr><th scope="row"><time datetime="2026-11-17T00:00:00.000Z">17 Nov 2026</time></th><td ` +
			`class="num">98.96%</td><td ` +
			`class="num">96` + "\u00a0" + `checks</td><td class="num">1,000` + "\u00a0ms</td></tr>",
		87: `<tr><th scope="row"><time datetime="2026-11-18T00:00:00.000Z">18 Nov 2026</time></th><td ` +
			`class="num">0%</td><td class="num">1` + "\u00a0" + `check</td><td class="num">` + string(noneHTML) +
			"</td></tr>",
		88: `<tr><th scope="row"><time datetime="2026-11-19T00:00:00.000Z">19 Nov 2026</time></th><td class="num ` +
			`quiet" colspan="3">no checks</td></tr>`,
	} {
		if diff := cmp.Diff(want, rows[i]); diff != "" {
			t.Errorf("row %d (-want +got):\n%s", i, diff)
		}
	}
	if s.Covered != 4 || s.Slowest != "1,000\u00a0ms" {
		t.Errorf("%d covered, slowest %s", s.Covered, s.Slowest)
	}
	if want := "Checked on 4 of the last 90 days; lowest uptime 0% on 18 Nov 2026."; s.Summary != want {
		t.Errorf("summary %q, want %q", s.Summary, want)
	}
}

func TestStripSummary(t *testing.T) {
	t.Parallel()
	now := site.NewTime(time.Date(2026, 11, 20, 23, 45, 0, 0, time.UTC))
	if s := NewStrip(nil, NewCalendar(now)); s.Covered != 0 || strings.Count(string(s.Rows), "no checks") != 90 ||
		s.Slowest != "" || s.Speed != "" || s.Summary != "No checks in the last 90 days." {
		t.Errorf("without points: %d covered, %s, %q", s.Covered, s.Rows, s.Summary)
	}
	whole := []site.UptimeDataPoint{{PeriodStart: now, UptimePercentage: 100, TotalChecks: 1, SuccessfulChecks: 1}}
	if s := NewStrip(whole, NewCalendar(now)); s.Summary != "Checked on 1 of the last 90 days; no checks failed." {
		t.Errorf("a whole day: %q", s.Summary)
	}
}
