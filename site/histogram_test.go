package site_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tollbook/site"
)

func TestHistogramBuckets(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int]int{
		-5: 0, 0: 0, 1: 0, 2: 4, 3: 6, 4: 8, 7: 11, 8: 12, 1024: 40, 1023: 39, 46340: 61, 55108: 62, 55109: 63,
		60000: 63, math.MaxInt32: 63,
	} {
		if got := site.HistogramBucket(ms); got != want {
			t.Errorf("%d ms is in bucket %d, want %d", ms, got, want)
		}
	}
	last := 0
	for ms := range 100_000 {
		b := site.HistogramBucket(ms)
		if b < last || b >= site.HistogramBuckets {
			t.Fatalf("%d ms is in bucket %d, after %d", ms, b, last)
		}
		last = b
	}
}

func TestHistogramQuantileOfNothing(t *testing.T) {
	t.Parallel()
	for _, counts := range [][]int64{nil, {}, make([]int64, site.HistogramBuckets)} {
		if ms, ok := site.HistogramQuantile(counts, 0.95); ok {
			t.Errorf("the quantile of an empty histogram is %d", ms)
		}
	}
}

// TestHistogramQuantile compares the estimate with the sorted times. The error may be half a bucket, 9.1 %, and the
// rounding to whole milliseconds.
func TestHistogramQuantile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(1, 55_000)), 1, 300).Draw(t, "times")
		q := rapid.SampledFrom([]float64{0.01, 0.5, 0.9, 0.95, 0.99, 1}).Draw(t, "quantile")
		counts := make([]int64, site.HistogramBuckets)
		for _, ms := range times {
			counts[site.HistogramBucket(ms)]++
		}
		slices.Sort(times)
		exact := float64(times[int(math.Ceil(q*float64(len(times))))-1])
		got, ok := site.HistogramQuantile(counts, q)
		if bound := exact*(math.Exp2(1.0/8)-1) + 0.5; !ok || math.Abs(float64(got)-exact) > bound {
			t.Fatalf("the %g quantile of %d times is %d, %t; exactly %g, and %g may be between", q, len(times), got, ok,
				exact, bound)
		}
	})
}
