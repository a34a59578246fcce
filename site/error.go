package site

// Types of errors that readers and submitters are told.
const (
	ErrorInvalidParameter = "invalid_parameter"
	ErrorNotFound         = "not_found"
	ErrorMethodNotAllowed = "method_not_allowed"
	ErrorBadRequest       = "bad_request"  // what can't be read as a request
	ErrorRateLimited      = "rate_limited" // with Retry-After
	ErrorInternal         = "internal"
	ErrorValidation       = "validation_failed" // of a submission; fields has every fault
	ErrorDuplicate        = "duplicate"         // of what is listed, or waits for review
	ErrorTooLarge         = "payload_too_large"
	ErrorMediaType        = "unsupported_media_type"
	ErrorUnavailable      = "unavailable" // nothing is published yet
)

// ErrorTypes are the types of every error that readers and submitters may be told.
var ErrorTypes = []string{
	ErrorInvalidParameter, ErrorBadRequest, ErrorValidation, ErrorDuplicate, ErrorNotFound, ErrorMethodNotAllowed,
	ErrorTooLarge,
	ErrorMediaType, ErrorRateLimited, ErrorInternal, ErrorUnavailable,
}

// ErrorBody is the body of every answer that is no success.
type ErrorBody struct {
	Error Error `json:"error"`
}

// Error says what went wrong; Code repeats the HTTP status.
type Error struct {
	Code    int          `json:"code"`
	Type    string       `json:"type"`
	Message string       `json:"message"`
	Fields  []ErrorField `json:"fields,omitempty"` // with a 400
}

// ErrorField names one faulty parameter or field.
type ErrorField struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}
