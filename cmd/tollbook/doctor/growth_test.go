package doctor

import (
	"testing"
	"time"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestGrowth checks the growth of a data folder against sums by hand.
func TestGrowth(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	days := func(n int) (list []output.RetainedSnapshot) {
		for i := n; i >= 0; i-- {
			list = append(list, output.RetainedSnapshot{
				ID: archive.SnapshotID(now.AddDate(0, 0, -i), "abcdef"), Bytes: 1000})
		}
		return list
	}
	hourly := func(from time.Duration) map[string]int64 {
		packs := map[string]int64{}
		for at := time.Hour; at <= from; at += time.Hour {
			packs[archive.HourOf(now.Add(-at))] = 10
		}
		return packs
	}
	for _, tt := range []struct {
		about string
		u     usage
		r     output.Retention
		want  int64
		ok    bool
	}{
		{"nothing is built", usage{database: 1}, output.DefaultRetention, 0, false},
		{"a first snapshot", usage{snapshots: days(0)}, output.DefaultRetention, 0, false},
		{"a snapshot and 24 packs a day", usage{days(10), hourly(240 * time.Hour), 0}, output.DefaultRetention, 1240,
			true},
		{"packs of more than a month", usage{days(40), hourly(960 * time.Hour), 0}, output.DefaultRetention, 1000,
			true},
		{"no more days are kept", usage{days(10), nil, 0}, output.Retention{Daily: 11}, 0, true},
		{"no more bytes are kept", usage{days(10), nil, 0}, output.Retention{Daily: 365, Size: 11_500}, 0, true},
		{"a database of ten days", usage{days(10), nil, 5000}, output.Retention{Daily: 11}, 500, true},
	} {
		got, ok := tt.u.growth(tt.r)
		if got != tt.want || ok != tt.ok {
			t.Errorf("%s: %d bytes a day, %v; want %d, %v", tt.about, got, ok, tt.want, tt.ok)
		}
	}
}
