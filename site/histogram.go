package site

import "math"

// HistogramBuckets is the number of log-spaced buckets of response times: bucket i holds times from 2^(i/4) up to
// 2^((i+1)/4) milliseconds, the first everything below too and the last everything above (about 55 s).
const HistogramBuckets = 64

// HistogramBucket is the bucket of a response time in milliseconds.
func HistogramBucket(ms int) int {
	if ms <= 1 {
		return 0
	}
	return min(int(4*math.Log2(float64(ms))), HistogramBuckets-1)
}

// HistogramQuantile estimates the response time, in milliseconds, that a share q of the counted ones do not exceed. The
// error is at most half a bucket, 9 %. It answers false without any.
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
