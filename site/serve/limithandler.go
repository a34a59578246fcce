package serve

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"
)

// Limit returns a handler that applies the API's rate limit to another handler. A client without requests left gets a
// 429. It uses the options Logger, Now, RateLimit and Trusted.
func Limit(next http.Handler, o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &handler{
		logger: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), now: o.Now,
		limiter: newRateLimiter(o.RateLimit, o.Now()), trusted: o.Trusted,
	}
	if h.limiter == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.admit(&responseWriter{ResponseWriter: w}, r) {
			next.ServeHTTP(w, r)
		}
	})
}
