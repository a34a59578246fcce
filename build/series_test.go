package build

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// TestLastDays cuts the days of each period out of those of 90 days.
func TestLastDays(t *testing.T) {
	t.Parallel()
	today := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	var points []site.UptimeDataPoint
	for _, ago := range []int{89, 30, 29, 6, 0} {
		points = append(points, site.UptimeDataPoint{PeriodStart: site.NewTime(today.AddDate(0, 0, -ago))})
	}
	var got []string
	for _, period := range site.Windows {
		for _, p := range lastDays(points, period, today) {
			got = append(got, period+" "+p.PeriodStart.Format("0102"))
		}
	}
	want := []string{
		"24h 1120",
		"7d 1114", "7d 1120",
		"30d 1022", "30d 1114", "30d 1120",
		"90d 0823", "90d 1021", "90d 1022", "90d 1114", "90d 1120",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("days by period (-want +got):\n%s", diff)
	}
}
