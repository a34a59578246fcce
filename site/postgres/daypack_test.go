package postgres

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
)

// Days come out of a pack as they went in, with the histograms that were asked for; where some of those are missing, nothing does.
func TestDayPack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.OneOf(rapid.IntRange(0, 200), rapid.IntRange(0, math.MaxInt32))
		day, kept := int32(rapid.IntRange(-1000, 40_000).Draw(t, "day")), int32(rapid.IntRange(-1000, 40_000).Draw(t, "first histogram kept"))
		var days []Rollup
		for range rapid.IntRange(0, 100).Draw(t, "days") {
			d := Rollup{ServiceID: 7, Start: dayTime(day), Checks: count.Draw(t, "checks"), Counted: count.Draw(t, "counted"), Up: count.Draw(t, "up"),
				Timed: count.Draw(t, "timed"), ResponseMS: rapid.Int64Min(0).Draw(t, "ms")}
			if day >= kept {
				d.Histogram = make([]int64, site.HistogramBuckets)
				for range rapid.IntRange(0, 5).Draw(t, "buckets") {
					d.Histogram[rapid.IntRange(0, site.HistogramBuckets-1).Draw(t, "bucket")] = int64(count.Draw(t, "timed of a bucket"))
				}
			}
			days = append(days, d)
			day += int32(rapid.IntRange(1, 40).Draw(t, "days between"))
		}
		packed := packRollups(days, kept)
		asked := kept + int32(rapid.IntRange(-3, 50).Draw(t, "histograms asked for"))
		var want, got []Rollup
		if asked >= kept {
			for _, d := range days {
				if dayNumber(d.Start) < asked {
					d.Histogram = nil
				}
				want = append(want, d)
			}
		}
		whole, err := unpackRollups(7, packed, asked, func(d Rollup) { got = append(got, d) })
		if err != nil {
			t.Fatal(err)
		}
		if whole != (asked >= kept) {
			t.Errorf("whole is %t, histograms are kept from %d and asked for from %d", whole, kept, asked)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A damaged pack is an error or other days, and never more than its bytes may hold.
func TestDamagedDayPack(t *testing.T) {
	t.Parallel()
	histogram := make([]int64, site.HistogramBuckets)
	histogram[3], histogram[60] = 5, 300
	whole := packRollups([]Rollup{{Start: time.Unix(0, 0), Checks: 96, Counted: 95, Up: 90, Timed: 90, ResponseMS: 12_345, Histogram: histogram}}, 0)
	for n := 1; n < len(whole); n++ { // of the first byte alone it is a pack without days
		if _, err := unpackRollups(1, whole[:n], 0, func(Rollup) {}); (err == nil) != (n == 1) {
			t.Errorf("the first %d of %d bytes: %v", n, len(whole), err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		days := 0
		_, _ = unpackRollups(1, b, int32(rapid.Int32().Draw(t, "histograms")), func(Rollup) { days++ })
		if days > len(b)/6 {
			t.Errorf("%d bytes hold %d days", len(b), days)
		}
	})
}
