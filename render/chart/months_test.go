package chart

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

var monthsNow = NewCalendar(site.NewTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))

// table returns the rows of a chart as text, and its number of slots.
func table(m Months) string {
	rows := strings.ReplaceAll(strings.ReplaceAll(string(m.Rows), "</th><td", "</th> <td"), "</td><td", "</td> <td")
	_, slots, _ := strings.Cut(string(m.Plot), `data-months="`)
	slots, _, _ = strings.Cut(slots, `"`)
	return strings.TrimSpace(slots + "\n" + strings.TrimSpace(tags.ReplaceAllString(rows, "")))
}

func TestMonths(t *testing.T) {
	t.Parallel()
	low, high := site.Decimal("0.01"), site.Decimal("0.05")
	for _, c := range []struct {
		name string
		got  Months
		want string
	}{
		{"no uptime", NewUptimeMonths(nil, monthsNow), ""},
		{"uptime", NewUptimeMonths([]site.ScorePoint{{Date: "2026-09-30", UptimePercentage: 100},
			{Date: "2026-11-01", UptimePercentage: 50}, {Date: "2026-11-02", UptimePercentage: 100}}, monthsNow),
			"12\nSep 2026 100% 100% 1\nNov 2026 75% 50% 2"},
		{"uptime of years", NewUptimeMonths([]site.ScorePoint{{Date: "2024-12-31", UptimePercentage: 99}}, monthsNow),
			"24\nDec 2024 99% 99% 1"},
		{"uptime of too many years", NewUptimeMonths([]site.ScorePoint{{Date: "2010-12-31"},
			{Date: "2021-12-01", UptimePercentage: 90}}, monthsNow), "60\nDec 2021 90% 90% 1"},
		{"no price", NewPriceMonths([]site.PricePoint{{Date: "2026-09-01"}}, monthsNow), ""},
		{"prices last until the next point", NewPriceMonths([]site.PricePoint{
			{Date: "2026-08-20", MinPriceUSD: &low, MaxPriceUSD: &low}, // also of 1 September
			{Date: "2026-09-15", MinPriceUSD: &high, MaxPriceUSD: &high, Changes: 1},
			{Date: "2026-11-01"}}, monthsNow),
			"12\nAug 2026 $0.01 $0.01 0\nSep 2026 $0.01 $0.05 1\nOct 2026 $0.05 $0.05 0"},
		{"volume", NewVolumeMonths([]site.VolumePoint{{Date: "2026-09-30", VolumeUSD: "1.5", TxCount: 2},
			{Date: "2026-10-01", VolumeUSD: "0", TxCount: 0}, {Date: "2026-11-01", VolumeUSD: "0.25", TxCount: 1},
			{Date: "2026-11-19", VolumeUSD: "0.5", TxCount: 3}}, monthsNow, nil),
			"12\nSep 2026 $1.50 2\nNov 2026 $0.75 4"},
	} {
		if diff := cmp.Diff(c.want, table(c.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestMonthsSize checks that a chart of five years with its table is small.
func TestMonthsSize(t *testing.T) {
	t.Parallel()
	var points []site.ScorePoint
	for day := range 5 * 365 {
		points = append(points, site.ScorePoint{UptimePercentage: float64(day % 101),
			Date: monthsNow.Days[0].at.AddDate(0, 0, day-5*365).Format(time.DateOnly)})
	}
	m := NewUptimeMonths(points, monthsNow)
	if n := len(m.Plot) + len(m.Rows); n > 20_000 || n < 5_000 {
		t.Errorf("%d bytes", n)
	}
	if n := strings.Count(string(m.Plot), `class="month"`); n != 5 {
		t.Errorf("%d ticks, want one for each January: %s", n, fmt.Sprint(m.Plot))
	}
}

// TestVolumeMonthsGaps checks that months that are not measured differ from months without a settlement.
func TestVolumeMonthsGaps(t *testing.T) {
	t.Parallel()
	since := site.NewTime(time.Date(2026, 9, 10, 0, 0, 0, 0, time.UTC))
	m := NewVolumeMonths([]site.VolumePoint{{Date: "2026-11-01", VolumeUSD: "1", TxCount: 1}}, monthsNow, &since)
	_, gaps, _ := strings.Cut(string(m.Plot), `class="gap" d="`)
	gaps, _, _ = strings.Cut(gaps, `"`)
	if n := strings.Count(gaps, "M"); n != 9 { // December to August; September and October were measured
		t.Errorf("%d gaps, want 9", n)
	}
}
