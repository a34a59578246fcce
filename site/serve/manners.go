package serve

import (
	"net/http"

	"tollbook/output"
	"tollbook/site"
)

// Manners are what an answer says beside the bytes of a file. Whoever answers in place of this package, in another
// language, says the same.
type Manners struct {
	Allowed string // methods
	Expose  string // headers that scripts of other sites may read
	Policy  string // Content-Security-Policy of pages
	Errors  map[string]site.Error
}

// TheManners are those of this package. Errors that name a parameter have no message yet.
func TheManners() Manners {
	return Manners{
		Allowed: allowed, Expose: headerExpose[0], Policy: contentPolicy,
		Errors: map[string]site.Error{
			"invalid":      {Code: http.StatusBadRequest, Type: site.ErrorInvalidParameter},
			"unreadable":   unreadable(http.StatusBadRequest),
			"not_found":    errorOf(site.ErrNotFound),
			"not_kept":     errorOf(output.ErrNotKept),
			"method":       errorOf(errMethod),
			"rate_limited": errorOf(errRateLimited),
			"internal":     errorOf(http.ErrAbortHandler), // as any error that is nobody's fault but ours
			"empty":        errorOf(output.ErrEmpty),
			"unreachable":  errorOf(output.ErrUnreachable),
			"unready":      errorOf(&notReadyError{http.ErrAbortHandler}),
		},
	}
}
