package serve

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"
)

// Limit holds the clients of another handler to a rate, as those of the API are: who has no request left is answered
// here. Of the options it takes Now, RateLimit and Trusted.
func Limit(next http.Handler, o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &handler{
		logger: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), now: o.Now,
		limiter: newLimiter(o.RateLimit, o.Now()), trusted: o.Trusted,
	}
	if h.limiter == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.admit(&reply{ResponseWriter: w}, r) {
			next.ServeHTTP(w, r)
		}
	})
}
