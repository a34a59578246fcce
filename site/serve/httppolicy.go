package serve

import (
	"net/http"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/routes"
)

// HTTPPolicy contains the headers and errors of responses, for programs in other languages that serve the same files.
type HTTPPolicy struct {
	Allowed string // methods
	Expose  string // headers that scripts of other origins may read
	Policy  string // Content-Security-Policy of pages

	License   string // value of Link in responses with JSON, after the link to the next page
	ExposeZip string // replaces Expose for downloads
	Errors    map[string]site.Error
	Calls     map[string]string // methods and patterns of paths that are not files, by name: submissions
}

// NewHTTPPolicy returns the policy of this package. The message of "invalid" is empty, because it depends on the
// parameter.
func NewHTTPPolicy() HTTPPolicy {
	calls := map[string]string{}
	for _, c := range routes.Calls {
		calls[c.Name] = c.Method + " " + c.Pattern
	}
	return HTTPPolicy{
		Calls:   calls,
		Allowed: allowed, Expose: headerExpose[0], Policy: contentPolicy, ExposeZip: headerExposeZip[0],
		License: headerLicense[0],
		Errors: map[string]site.Error{
			"invalid":        {Code: http.StatusBadRequest, Type: site.ErrorInvalidParameter},
			"unreadable":     badRequestError(http.StatusBadRequest),
			"not_found":      errorOf(site.ErrNotFound),
			"not_kept":       errorOf(output.ErrNotRetained),
			"method":         errorOf(errMethod),
			"no_submissions": errorOf(errNoSubmissions),
			"range":          errorOf(errRange),
			"rate_limited":   errorOf(errRateLimited),
			"internal":       errorOf(http.ErrAbortHandler), // stands for any internal error
			"empty":          errorOf(output.ErrEmpty),
			"unreachable":    errorOf(archive.ErrUnreachable),
			"unready":        errorOf(&notReadyError{http.ErrAbortHandler}),
		},
	}
}
