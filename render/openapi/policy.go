package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/schema"
)

// policyRule is a rule for all requests, as text.
type policyRule struct{ Term, Text string }

// httpPolicy lists the rules for requests to all routes. Package site implements them; tests check that both agree.
func httpPolicy() []policyRule {
	return []policyRule{
		{"An empty parameter", "counts as absent, because forms send them."},
		{"A repeated parameter", "counts once: the first that is not empty wins."},
		{"An unknown parameter", "is ignored."},
		{"Encoding",
			"a value is percent-encoded UTF-8, and `+` is a space. A value that does not decode, or holds NUL, is a " +
				"400; a name that does not decode is ignored; " +
				"a path that does not decode, or holds NUL, is a 404."},
		{"An invalid value",
			fmt.Sprintf(
				"is a 400 that names the parameter, what it got and what it may be. So is a page above %s, a text "+
					"of more than %d characters, "+
					"and a query string of more than %s bytes.", display.Number(site.MaxPage), site.MaxText,
				display.Number(int64(site.Table().Limits.MaxQuery)))},
		{"A filter value that no service has", "is an empty list, not an error."},
		{"Past the end", "a page or window is an empty list with the true `meta`."},
		{"Walking pages",
			"the header `Link` names the next page with rel=next, and pins it: with `snapshot=<id>`, the id that " +
				"`X-Snapshot` told, " +
				"every page comes from one build, for an hour at least, so that no row is missed or met twice."},
		{"How often",
			"where requests are limited, `RateLimit-Policy` and `RateLimit` say how many a client may make and has " +
				"left; one too many is a 429 with `Retry-After`."},
		{"Methods",
			"are GET, HEAD and OPTIONS; of /v1/submit alone POST and OPTIONS. `If-None-Match` with an `ETag` is " +
				"answered with 304 while nothing changed."},
		{"A path that ends in .json",
			"names a file of the snapshot by itself: `/v1/services.json` is `/v1/services`. No parameter of a route " +
				"counts there."},
		{"Everything at once",
			"`/checkpoint.json` names the current snapshot, `/snapshots/<id>.zip` is all of it, `/packs/<hour>.zip` " +
				"holds older rows of the logs. " +
				"They come by ranges too, and count against no limit of requests."},
		{"Unknown", "is `null`, never zero. Instants are UTC with milliseconds, so that they sort as text."},
	}
}

// failure is a status that readers may get, with the response that describes it.
type failure struct {
	code       int
	name, text string
	headers    []string
	example    func() site.Error
}

const (
	headerRequestID = "X-Request-Id"
	headerRetry     = "Retry-After"
	headerLink      = "Link"
	otherError      = "OtherError"
)

func said(code int, kind, message string) func() site.Error {
	return func() site.Error { return site.Error{Code: code, Type: kind, Message: message} }
}

// failures lists them by status.
var failures = []failure{
	{http.StatusNotModified, "NotModified", "The copy named in If-None-Match or If-Modified-Since is still good.", nil,
		nil},
	{http.StatusBadRequest, "BadRequest",
		"A parameter, or a field of a submission, has a value that it may not have; each is named in fields.", nil,
		exampleBadRequest},
	{http.StatusNotFound, "NotFound", "Nothing is at this address, or in no snapshot that is kept.", nil,
		said(http.StatusNotFound, site.ErrorNotFound, "nothing was found at this path")},
	{http.StatusTooManyRequests, "RateLimited",
		"Too many requests from this client; Retry-After says when to come back.",
		[]string{headerRetry, "RateLimit-Policy", "RateLimit"},
		said(http.StatusTooManyRequests, site.ErrorRateLimited,
			"too many requests from this client; wait for the number of seconds in Retry-After")},
	{http.StatusInternalServerError, "InternalError",
		"Something is wrong here. The cause is in our log, under X-Request-Id.", []string{headerRequestID},
		said(http.StatusInternalServerError, site.ErrorInternal, "internal error")},
	{http.StatusServiceUnavailable, "Unavailable", "Nothing is published yet.", []string{headerRetry},
		said(http.StatusServiceUnavailable, site.ErrorUnavailable, "nothing is published yet")},
	{http.StatusMethodNotAllowed, otherError,
		"Any other error, such as 405 for a method that is not GET, HEAD or OPTIONS.", nil,
		said(http.StatusMethodNotAllowed, site.ErrorMethodNotAllowed, "method not allowed; use GET, HEAD, OPTIONS")},
}

// submitFailures lists those that only submissions get.
var submitFailures = []failure{
	{http.StatusRequestTimeout, "SlowBody", "The body did not arrive within ten seconds.", nil,
		said(http.StatusRequestTimeout, site.ErrorBadRequest, "the body did not arrive in time")},
	{http.StatusRequestEntityTooLarge, "TooLarge",
		fmt.Sprintf("A submission has more than %s bytes.", display.Number(site.MaxSubmission)), nil,
		said(http.StatusRequestEntityTooLarge, site.ErrorTooLarge,
			fmt.Sprintf("the body is too large: at most %d bytes are allowed", site.MaxSubmission))},
	{http.StatusUnsupportedMediaType, "UnsupportedMediaType", "A submission is not sent as application/json in UTF-8.",
		nil,
		said(http.StatusUnsupportedMediaType, site.ErrorMediaType, "send application/json, in UTF-8 and not encoded")},
}

// exampleBadRequest returns the error of the parser for a page that is too large.
func exampleBadRequest() site.Error {
	_, err := site.ParseRequest("/v1/services", fmt.Sprintf("per_page=%d", site.MaxPageSize+1))
	var param *site.ParamError
	if !errors.As(err, &param) {
		return site.Error{Code: http.StatusBadRequest, Type: site.ErrorInvalidParameter, Message: "invalid parameter"}
	}
	return site.Error{Code: http.StatusBadRequest, Type: site.ErrorInvalidParameter, Message: err.Error(),
		Fields: []site.ErrorField{{Field: param.Param, Message: param.Message}}}
}

// errorResponses returns the components that operations refer to.
func errorResponses() (schema.Object[*apiResponse], error) {
	var out schema.Object[*apiResponse]
	for _, f := range slices.Concat(failures, submitFailures) {
		r := &apiResponse{Description: f.text}
		for _, h := range f.headers {
			r.Headers = append(r.Headers, schema.Member[*apiHeader]{Name: h,
				Value: &apiHeader{Ref: "#/components/headers/" + h}})
		}
		if f.example != nil {
			example, err := site.Row(site.ErrorBody{Error: f.example()})
			if err != nil {
				return nil, err
			}
			r.Content = schema.Object[mediaType]{{Name: jsonType,
				Value: mediaType{&schema.Schema{Ref: schema.ComponentPath + "ErrorBody"}, json.RawMessage(example)}}}
		}
		out = append(out, schema.Member[*apiResponse]{Name: f.name, Value: r})
	}
	return out, nil
}

// apiHeaders returns the headers of responses that clients can rely on.
var apiHeaders = schema.Object[*apiHeader]{
	{Name: "ETag",
		Value: &apiHeader{
			Description: "Strong validator of these bytes. Of a file's plain form it is the first 32 digits of its " +
				"sha256.", Schema: &schema.Schema{Type: "string"}}},
	{Name: "Last-Modified", Value: &apiHeader{Description: "When the snapshot was built.",
		Schema: &schema.Schema{Type: "string"}}},
	{Name: "Cache-Control", Value: &apiHeader{Description: "Good until the next build is due.",
		Schema: &schema.Schema{Type: "string"}}},
	{Name: "X-Snapshot", Value: &apiHeader{Description: "Id of the snapshot that answered.",
		Schema: &schema.Schema{Type: "string", Pattern: site.SnapshotPattern}}},
	{Name: "X-Snapshot-Warning",
		Value: &apiHeader{Description: "stale where there may be a newer snapshot that can't be read now.",
			Schema: &schema.Schema{Type: "string"}}},
	{Name: headerLink,
		Value: &apiHeader{
			Description: "The address of the next page in the same snapshot, with rel=next, where there is one.",
			Schema:      &schema.Schema{Type: "string"}}},
	{Name: "RateLimit-Policy",
		Value: &apiHeader{
			Description: "Requests that a client may make, and in how many seconds, where that is limited.",
			Schema:      &schema.Schema{Type: "string"}}},
	{Name: "RateLimit", Value: &apiHeader{Description: "Requests left, and seconds until all are there again.",
		Schema: &schema.Schema{Type: "string"}}},
	{Name: headerRequestID, Value: &apiHeader{Description: "Names the failed request in our log.",
		Schema: &schema.Schema{Type: "string"}}},
	{Name: headerRetry, Value: &apiHeader{Description: "Seconds after which to try again.",
		Schema: &schema.Schema{Type: "integer"}}},
}
