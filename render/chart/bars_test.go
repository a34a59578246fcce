package chart

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

func TestBars(t *testing.T) {
	t.Parallel()
	now := site.NewTime(time.Date(2026, 11, 20, 23, 45, 0, 0, time.UTC))
	since := site.NewTime(now.AddDate(0, 0, -88))
	point := func(daysAgo int, usd site.Decimal, n int64) site.VolumePoint {
		return site.VolumePoint{Date: now.AddDate(0, 0, -daysAgo).Format(time.DateOnly), VolumeUSD: usd, TxCount: n}
	}
	b := NewBars([]site.VolumePoint{
		point(90, "9000", 9), // before the first day shown
		point(3, "0.000001", 1),
		point(2, "0", 0), // nothing settled is no bar
		point(1, "250.5", 2), point(0, "1000.125", 7),
	}, NewCalendar(now), &since)
	want := []string{
		`<g><title>23 Aug 2026: not measured</title><rect class="gap" x="0" y="97" width="8" height="3"/><rect ` +
			`class="touch" x="0" width="8" height="100"/></g>`,
		"<g><title>17 Nov 2026: $0.000001 in 1\u00a0settlement</title>" +
			`<rect class="bar" x="860" y="98" width="8" height="2"/><rect class="touch" x="860" width="8" ` +
			`height="100"/></g>`,
		"<g><title>19 Nov 2026: $250.50 in 2\u00a0settlements</title>" +
			`<rect class="bar" x="880" y="75" width="8" height="25"/><rect class="touch" x="880" width="8" ` +
			`height="100"/></g>`,
		"<g><title>20 Nov 2026: $1,000.13 in 7\u00a0settlements</title>" +
			`<rect class="bar" x="890" y="0" width="8" height="100"/><rect class="touch" x="890" width="8" ` +
			`height="100"/></g>`,
		"",
	}
	if diff := cmp.Diff(want, strings.Split(string(b.Columns), "\n")); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	if want := "$1,250.63 on 3 of the last 90 days; maximum $1,000.13 on 20 Nov 2026. Measured since 24 Aug 2026; " +
		"earlier volume is unknown."; b.Summary != want {
		t.Errorf("summary %q, want %q", b.Summary, want)
	}
	if len(b.Days) != 3 || b.Days[0].Exact != "$0.000001" || b.Days[2].Exact != "$1,000.125" {
		t.Errorf("rows are %+v", b.Days)
	}
	none := NewBars(nil, NewCalendar(now), nil)
	if none.Summary != "No settlements in the last 90 days." || none.Columns != "" || none.Most != "" {
		t.Errorf("bars of nothing are %+v", none)
	}
}

func TestSpark(t *testing.T) {
	t.Parallel()
	now := site.NewTime(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC))
	got := Spark([]site.VolumePoint{{Date: "2026-11-18", VolumeUSD: "0", TxCount: 0},
		{Date: "2026-11-19", VolumeUSD: "1", TxCount: 1}, {Date: "2026-11-20", VolumeUSD: "4", TxCount: 1}},
		NewCalendar(now))
	if want := "M176 24v-6h2v6zM178 24v-24h2v24z"; got != want {
		t.Errorf("spark %q, want %q", got, want)
	}
	if got := Spark([]site.VolumePoint{{Date: "2026-11-20"}}, NewCalendar(now)); got != "" {
		t.Errorf("spark of nothing %q", got)
	}
}
