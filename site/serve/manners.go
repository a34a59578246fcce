package serve

import (
	"net/http"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
)

// Manners are what an answer says beside the bytes of a file. Whoever answers in place of this package, in another
// language, says the same.
type Manners struct {
	Allowed string // methods
	Expose  string // headers that scripts of other sites may read
	Policy  string // Content-Security-Policy of pages

	ExposeZip string // in place of Expose, of downloads
	Errors    map[string]site.Error
	Calls     map[string]string // patterns of what is no file, by name: submissions
}

// TheManners are those of this package. Errors that name a parameter have no message yet.
func TheManners() Manners {
	calls := map[string]string{}
	for _, c := range site.Calls {
		calls[c.Name] = c.Pattern
	}
	return Manners{
		Calls:   calls,
		Allowed: allowed, Expose: headerExpose[0], Policy: contentPolicy, ExposeZip: headerExposeZip[0],
		Errors: map[string]site.Error{
			"invalid":        {Code: http.StatusBadRequest, Type: site.ErrorInvalidParameter},
			"unreadable":     badRequest(http.StatusBadRequest),
			"not_found":      errorOf(site.ErrNotFound),
			"not_kept":       errorOf(output.ErrNotRetained),
			"method":         errorOf(errMethod),
			"no_submissions": errorOf(errNoSubmissions),
			"range":          errorOf(errRange),
			"rate_limited":   errorOf(errRateLimited),
			"internal":       errorOf(http.ErrAbortHandler), // as any error that is nobody's fault but ours
			"empty":          errorOf(output.ErrEmpty),
			"unreachable":    errorOf(archive.ErrUnreachable),
			"unready":        errorOf(&notReadyError{http.ErrAbortHandler}),
		},
	}
}
