package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/schema"
)

// policyRule is a rule for all requests, as text.
type policyRule struct{ Term, Text string }

// httpPolicy lists the rules for requests to all routes. Package site implements them; tests check that both agree.
func httpPolicy() []policyRule {
	return []policyRule{
		{"An empty parameter", "is ignored, because forms send empty fields."},
		{"A repeated parameter", "counts once, with the first value that is not empty."},
		{"An unknown parameter",
			"is ignored. If the response is JSON, the header `X-Unknown-Parameters` names it with the nearest known " +
				"one, such as `verifed (did you mean verified?)`. With `strict=1` the request is answered with 400 " +
				"instead. Unknown parameters change neither the body nor its `ETag`. A shared cache must have the " +
				"whole query string in its key."},
		{"Encoding",
			"a value is percent-encoded UTF-8, and `+` is a space. A value that does not decode, or contains NUL, is " +
				"answered with 400. A name that does not decode is unknown. A path that does not decode, or contains " +
				"NUL, is answered with 404."},
		{"An invalid value",
			fmt.Sprintf(
				"is answered with 400; the error names the parameter, its value and the allowed values. The same "+
					"applies to a page above %s, a text of more than %d characters and a query string of more than "+
					"%s bytes.", display.Number(site.MaxPage), routes.MaxText,
				display.Number(int64(routes.Table().Limits.MaxQuery)))},
		{"A filter value that no service has",
			"returns an empty list, not an error. If nothing has the value of `network`, `category`, `method`, `source` " +
				"or `service`, the header `X-Unknown-Values` and `meta.unknown_values` name the nearest ones; with " +
				"`strict=1`, and for networks and categories in `/v1/search` and `/v1/best`, the answer is 400. " +
				"Networks are found by abbreviation, name or CAIP-2 id, and categories by name, in any case."},
		{"A page or window past the end", "is an empty list with the correct `meta`."},
		{"Reading all pages",
			"the header `Link` contains the URL of the next page with rel=next. This URL has `snapshot=<id>`, the " +
				"ID in `X-Snapshot`, so all pages come from one snapshot and no row is missing or " +
				"repeated. That snapshot stays available for at least an hour."},
		{"Licence",
			"every response of JSON has a header `Link` with rel=license, the address of the data's licence. It " +
				"follows the link to the next page, if there is one."},
		{"Rate limits",
			"if requests are limited, `RateLimit-Policy` contains the limit and `RateLimit` the number of requests " +
				"left. Requests above the limit are answered with 429 and `Retry-After`."},
		{"Methods",
			"are GET, HEAD and OPTIONS; for /v1/submit, /v1/suggestions and /v1/services/{slug}/recheck they are " +
				"POST and OPTIONS. A request with the current `ETag` in `If-None-Match` is answered with 304."},
		{"A path that ends in .json",
			"is a file of the snapshot: `/v1/services.json` is the file of `/v1/services`. Its only parameters are " +
				"`snapshot` and `strict`."},
		{"Complete downloads",
			"`/checkpoint.json` names the current snapshot, `/snapshots/<id>.zip` contains all of it, and " +
				"`/packs/<hour>.zip` contains older rows of the logs. These files support range requests and do not " +
				"count in rate limits."},
		{"Unknown values", "are `null`, never zero."},
		{"US dollars", "are numbers, in fields whose names end in `_usd`. `price_usd`, `median_usd` and " +
			"`median_price_usd` are text in some types, without the rounding of a number; each says which it is."},
		{"Times", "are UTC with milliseconds, so that they sort as text."},
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
	{http.StatusNotModified, "NotModified",
		"The copy named in If-None-Match is current, or If-Modified-Since is exactly its Last-Modified.", nil, nil},
	{http.StatusBadRequest, "BadRequest",
		"A parameter or a field of a submission or suggestion has an invalid value; `fields` names each.", nil,
		exampleBadRequest},
	{http.StatusNotFound, "NotFound", "Nothing exists at this path, or the snapshot is no longer stored.", nil,
		said(http.StatusNotFound, site.ErrorNotFound, "nothing was found at this path")},
	{http.StatusTooManyRequests, "RateLimited",
		"Too many requests from this client; wait for the number of seconds in Retry-After.",
		[]string{headerRetry, "RateLimit-Policy", "RateLimit"},
		said(http.StatusTooManyRequests, site.ErrorRateLimited,
			"too many requests from this client; wait for the number of seconds in Retry-After")},
	{http.StatusInternalServerError, "InternalError",
		"The server failed. Its log has the cause under the X-Request-Id.", []string{headerRequestID},
		said(http.StatusInternalServerError, site.ErrorInternal, "internal error")},
	{http.StatusServiceUnavailable, "Unavailable", "Nothing is published yet.", []string{headerRetry},
		said(http.StatusServiceUnavailable, site.ErrorUnavailable, "nothing is published yet")},
	{http.StatusMethodNotAllowed, otherError,
		"Any other error, such as 405 for a method that is not GET, HEAD or OPTIONS.", nil,
		said(http.StatusMethodNotAllowed, site.ErrorMethodNotAllowed, "method not allowed; use GET, HEAD, OPTIONS")},
}

// submitFailures lists those that only submissions and suggestions get.
var submitFailures = []failure{
	{http.StatusRequestTimeout, "SlowBody", "The body did not arrive within ten seconds.", nil,
		said(http.StatusRequestTimeout, site.ErrorBadRequest, "the body did not arrive in time")},
	{http.StatusRequestEntityTooLarge, "TooLarge",
		fmt.Sprintf("The body has more than %s bytes.", display.Number(site.MaxSubmission)), nil,
		said(http.StatusRequestEntityTooLarge, site.ErrorTooLarge,
			fmt.Sprintf("the body is too large: at most %d bytes are allowed", site.MaxSubmission))},
	{http.StatusUnsupportedMediaType, "UnsupportedMediaType", "The body is not application/json in UTF-8.",
		nil,
		said(http.StatusUnsupportedMediaType, site.ErrorMediaType, "send application/json, in UTF-8 and not encoded")},
}

// unvisitedFailure is one that only re-checks get.
var unvisitedFailure = failure{http.StatusConflict, "Unvisited",
	"The directory does not visit the service: its checks are paused or have ended.", nil,
	said(http.StatusConflict, site.ErrorUnvisited, "checks of this service are paused")}

// exampleBadRequest returns the error of the parser for a page that is too large.
func exampleBadRequest() site.Error {
	_, err := routes.ParseRequest("/v1/services", fmt.Sprintf("per_page=%d", site.MaxPageSize+1))
	var param *routes.ParamError
	if !errors.As(err, &param) {
		return site.Error{Code: http.StatusBadRequest, Type: site.ErrorInvalidParameter, Message: "invalid parameter"}
	}
	return site.Error{Code: http.StatusBadRequest, Type: site.ErrorInvalidParameter, Message: err.Error(),
		Fields: []site.ErrorField{{Field: param.Param, Message: param.Message}}}
}

// cataloguePrefix precedes the names of the error responses below site.CataloguePath.
const cataloguePrefix = "Catalogue"

// errorResponses returns the components that operations refer to.
func errorResponses() (schema.Object[*apiResponse], error) {
	var out schema.Object[*apiResponse]
	for _, f := range slices.Concat(failures, submitFailures, []failure{unvisitedFailure}) {
		r, catalogue := &apiResponse{Description: f.text}, &apiResponse{Description: f.text}
		for _, h := range f.headers {
			r.Headers = append(r.Headers, schema.Member[*apiHeader]{Name: h,
				Value: &apiHeader{Ref: "#/components/headers/" + h}})
		}
		if f.example != nil {
			example, err := encode.Row(site.ErrorBody{Error: f.example()})
			if err != nil {
				return nil, err
			}
			r.Content = schema.Object[mediaType]{{Name: jsonType,
				Value: mediaType{&jsonschema.Schema{Ref: schema.ComponentPath + "ErrorBody"}, json.RawMessage(example)}}}
			if example, err = encode.Row(site.ErrorBodyAt(site.CataloguePath, f.example())); err != nil {
				return nil, err
			}
			catalogue.Headers, catalogue.Content = r.Headers, schema.Object[mediaType]{{Name: jsonType, Value: mediaType{
				&jsonschema.Schema{Ref: schema.ComponentPath + "CatalogueErrorBody"}, json.RawMessage(example)}}}
		}
		out = append(out, schema.Member[*apiResponse]{Name: f.name, Value: r})
		if isOfReaders := slices.ContainsFunc(failures, func(o failure) bool { return o.name == f.name }); isOfReaders &&
			f.example != nil {
			out = append(out, schema.Member[*apiResponse]{Name: cataloguePrefix + f.name, Value: catalogue})
		}
	}
	return out, nil
}

// apiHeaders returns the headers of responses that clients can rely on.
var apiHeaders = schema.Object[*apiHeader]{
	{Name: "ETag",
		Value: &apiHeader{
			Description: "Strong validator of the body. For an uncompressed file it is the first 32 digits of its " +
				"SHA-256.", Schema: &jsonschema.Schema{Type: "string"}}},
	{Name: "Last-Modified",
		Value: &apiHeader{Description: "Time at which the snapshot was built. It is earlier after a rollback.",
			Schema: &jsonschema.Schema{Type: "string"}}},
	{Name: "Cache-Control", Value: &apiHeader{Description: "Allows caching until the next build is due.",
		Schema: &jsonschema.Schema{Type: "string"}}},
	{Name: "X-Snapshot", Value: &apiHeader{Description: "ID of the snapshot that the response comes from.",
		Schema: &jsonschema.Schema{Type: "string", Pattern: routes.SnapshotPattern}}},
	{Name: "X-Snapshot-Warning",
		Value: &apiHeader{Description: "stale if a newer snapshot may exist that cannot be read now.",
			Schema: &jsonschema.Schema{Type: "string"}}},
	{Name: routes.HeaderUnknown,
		Value: &apiHeader{
			Description: "Unknown parameters of the request, which were ignored, each with the nearest known one; at " +
				"most eight. Absent if there are none.",
			Schema: &jsonschema.Schema{Type: "string"}}},
	{Name: routes.HeaderUnknownValues,
		Value: &apiHeader{
			Description: "Networks and categories of the request that are unknown, each with the nearest known names. " +
				"Absent if there are none.",
			Schema: &jsonschema.Schema{Type: "string"}}},
	{Name: headerLink,
		Value: &apiHeader{
			Description: "URL of the next page in the same snapshot, with rel=next, if there is one; then the " +
				"licence of the data, with rel=license.",
			Schema: &jsonschema.Schema{Type: "string"}}},
	{Name: "RateLimit-Policy",
		Value: &apiHeader{
			Description: "Number of requests that a client may make, and in how many seconds, if limited.",
			Schema:      &jsonschema.Schema{Type: "string"}}},
	{Name: "RateLimit", Value: &apiHeader{Description: "Number of requests left, and seconds until the limit is reset.",
		Schema: &jsonschema.Schema{Type: "string"}}},
	{Name: headerRequestID, Value: &apiHeader{Description: "ID of the failed request in the server's log.",
		Schema: &jsonschema.Schema{Type: "string"}}},
	{Name: headerRetry, Value: &apiHeader{Description: "Seconds to wait before the next request.",
		Schema: &jsonschema.Schema{Type: "integer"}}},
}
