package site

import "math"

// HistogramBuckets is the number of buckets of response times on a logarithmic scale. Bucket i contains times from
// 2^(i/4) to 2^((i+1)/4) milliseconds. The first bucket also contains all shorter times, the last one all longer times
// (from about 55 s).
const HistogramBuckets = 64

// HistogramBucket returns the bucket of a response time in milliseconds.
func HistogramBucket(ms int) int {
	if ms <= 1 {
		return 0
	}
	return min(int(4*math.Log2(float64(ms))), HistogramBuckets-1)
}

// HistogramQuantile estimates the q-quantile of the counted response times in milliseconds. The error is at most half a
// bucket, 9 %. It returns false if the histogram is empty.
func HistogramQuantile(counts []int64, q float64) (int, bool) {
	var total int64
	for _, n := range counts {
		total += n
	}
	if total == 0 {
		return 0, false
	}
	rank := int64(math.Ceil(q * float64(total)))
	for i, n := range counts {
		if rank -= n; rank <= 0 {
			return int(math.Round(math.Exp2((float64(i) + 0.5) / 4))), true
		}
	}
	return 0, false
}
