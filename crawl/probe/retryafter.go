package probe

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is the longest wait that an answer may ask for. Without it a hostile service could end its checks.
const maxRetryAfter = 24 * time.Hour

// RetryAfter returns the wait that Retry-After asks for, in seconds or as a date, between zero and a day. It returns
// false without a valid header.
func RetryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(v, 10, 63); err == nil {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second, true
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), maxRetryAfter), true
}

// asksToRetry reports whether an answer has a valid Retry-After.
func asksToRetry(h http.Header) bool {
	_, ok := RetryAfter(h, time.Time{})
	return ok
}
