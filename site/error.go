package site

import (
	"errors"
	"strings"
)

// ErrNotFound is the error for a path, or an id in it, that does not exist.
var ErrNotFound = errors.New("not found")

// Types of errors in responses.
const (
	ErrorInvalidParameter = "invalid_parameter"
	ErrorNotFound         = "not_found"
	ErrorMethodNotAllowed = "method_not_allowed"
	ErrorBadRequest       = "bad_request"  // not a valid HTTP request
	ErrorRateLimited      = "rate_limited" // has the header Retry-After
	ErrorInternal         = "internal"
	ErrorValidation       = "validation_failed" // of a submission; fields contains every error
	ErrorDuplicate        = "duplicate"         // the service is listed or waits for review
	ErrorUnvisited        = "unvisited"         // checks of the service are paused or have ended
	ErrorTooLarge         = "payload_too_large"
	ErrorMediaType        = "unsupported_media_type"
	ErrorUnavailable      = "unavailable" // no snapshot is published yet, or a store or the database does not answer
)

// ErrorTypes are the types of all errors in responses.
var ErrorTypes = []string{
	ErrorInvalidParameter, ErrorBadRequest, ErrorValidation, ErrorDuplicate, ErrorNotFound, ErrorMethodNotAllowed,
	ErrorUnvisited, ErrorTooLarge, ErrorMediaType, ErrorRateLimited, ErrorInternal, ErrorUnavailable,
}

// ErrorBody is the body of every error response.
type ErrorBody struct {
	// What went wrong.
	Error Error `json:"error"`
}

// CatalogueErrorBody is the body of an error response below /discovery.
//
// The conformance vectors of the bazaar extension of x402 want a string there, as facilitators send it.
type CatalogueErrorBody struct {
	// As [Error.Message].
	Error string `json:"error"`
	// As [Error.Code].
	Code int `json:"code"`
	// As [Error.Type].
	Type string `json:"type" enum:"ErrorTypes"`
	// As [Error.Fields].
	Fields []ErrorField `json:"fields,omitempty"`
}

// CataloguePath is the folder of the paths that answer as the catalogue of a facilitator does.
const CataloguePath = "/discovery"

// ErrorBodyAt returns the body of an error response at a path: a CatalogueErrorBody below CataloguePath, else an
// ErrorBody.
func ErrorBodyAt(path string, e Error) any {
	if path == CataloguePath || strings.HasPrefix(path, CataloguePath+"/") {
		return CatalogueErrorBody{Error: e.Message, Code: e.Code, Type: e.Type, Fields: e.Fields}
	}
	return ErrorBody{Error: e}
}

// Error says what went wrong.
//
// Code is the HTTP status.
type Error struct {
	// The HTTP status code.
	Code int `json:"code"`
	// Kind of error, for programs.
	Type string `json:"type" enum:"ErrorTypes"`
	// Message for people.
	Message string `json:"message"`
	// Each invalid parameter or field; only with status 400.
	Fields []ErrorField `json:"fields,omitempty"`
}

// ErrorField is one invalid parameter or field.
type ErrorField struct {
	// Name of the parameter or field.
	Field string `json:"field"`
	// As [Error.Message].
	Message string `json:"message"`
}
