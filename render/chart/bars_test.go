package chart

import (
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
	b := NewBars("Volume", []site.VolumePoint{
		point(90, "9000", 9), // before the first day shown
		point(3, "0.000001", 1),
		point(2, "0", 0), // nothing settled is no bar
		point(1, "250.5", 2), point(0, "1000.125", 7),
	}, NewCalendar(now), &since)
	want := []string{"Volume, US dollars", "$1,500", "$1,000", "$500", "$0", "grid M0 0H900M0 33H900M0 66H900",
		"gap M4 100V97", "bar M864 100V99M884 100V83M894 100V33"}
	if diff := cmp.Diff(want, parts(b.Plot, "")); diff != "" {
		t.Errorf("chart (-want +got):\n%s", diff)
	}
	if want := "$1,250.63 on 3 of the last 90 days; maximum $1,000.13 on 20 Nov 2026. Measured since 24 Aug 2026; " +
		"earlier volume is unknown."; b.Summary != want {
		t.Errorf("summary %q, want %q", b.Summary, want)
	}
	if len(b.Days) != 3 || b.Days[0].Exact != "$0.000001" || b.Days[2].Exact != "$1,000.125" {
		t.Errorf("rows are %+v", b.Days)
	}
	none := NewBars("Volume", nil, NewCalendar(now), nil)
	if none.Summary != "No settlements in the last 90 days." || none.Plot != "" {
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
