package chart

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// TestStack checks the shapes of the parts of a column: each begins where the one below it ends, with a gap if it is
// high enough, and the top is that of the total. A small column is visible.
func TestStack(t *testing.T) {
	t.Parallel()
	now := site.NewTime(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
	cal := NewCalendar(now)
	point := func(day int, usd site.Decimal) site.VolumePoint {
		return site.VolumePoint{Date: cal.Days[StripDays-1-day].Key, VolumeUSD: usd, TxCount: 1}
	}
	since := site.NewTime(now.AddDate(0, 0, -4))
	s := NewStack("Volume", []Part{
		{Key: "a", Points: []site.VolumePoint{point(3, "50"), point(2, "0.0001"), point(1, "0.1"), point(0, "0")}},
		{Key: "b", Points: []site.VolumePoint{point(3, "1"), point(1, "0.2")}},
		{Key: "c", Others: true, Points: []site.VolumePoint{point(3, "49"), point(1, "30")}},
	}, cal, &since)
	paths := func(class string) string {
		_, rest, _ := strings.Cut(string(s.Plot), `class="`+class+`" d="`)
		d, _, _ := strings.Cut(rest, `"`)
		return d
	}
	want := map[string]string{
		"part-1":     "M864 200V100M874 200V199",
		"part-2":     "M864 100V98M884 200V199",
		"part-other": "M864 97V0M884 198V139",
	}
	got := map[string]string{}
	for class := range want {
		got[class] = paths(class)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shapes (-want +got):\n%s", diff)
	}
	if n := strings.Count(paths("gap"), "M"); n != StripDays-5 {
		t.Errorf("%d days are not measured, want %d", n, StripDays-5)
	}
	table := "day,total,a,b,c\r\n2026-11-21,100,50,1,49\r\n2026-11-22,0.0001,0.0001,0,0\r\n" +
		"2026-11-23,30.3,0.1,0.2,30\r\n2026-11-24,0,0,0,0\r\n"
	if diff := cmp.Diff(table, string(s.CSV())); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if empty := NewStack("Volume", nil, cal, nil); empty.Plot != "" || empty.Rows != "" {
		t.Errorf("a chart without parts: %s", empty.Plot)
	}
}
