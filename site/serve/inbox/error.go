package inbox

import (
	"errors"
	"net/http"
	"strconv"

	"tollbook/site"
	"tollbook/site/message"
)

// ErrorOf returns the response to what is sent and refused, and false for any other error.
func ErrorOf(err error) (site.Error, bool) {
	var wrong *message.Error
	var twice *site.DuplicateError
	var over *site.SubmissionLimitError
	var unvisited *site.UnvisitedError
	var key *keyError
	e := site.Error{Code: http.StatusBadRequest}
	switch {
	case errors.As(err, &wrong):
		e.Type, e.Message, e.Fields = site.ErrorValidation, "the "+wrong.What+" is invalid: "+wrong.Error(),
			wrong.Fields
	case errors.As(err, &twice):
		e.Type, e.Message, e.Fields = site.ErrorDuplicate, twice.Message,
			[]site.ErrorField{{Field: "url", Message: twice.Message}}
	case errors.As(err, &key):
		e.Type, e.Message, e.Fields = site.ErrorInvalidParameter, key.Error(),
			[]site.ErrorField{{Field: "Idempotency-Key", Message: key.message}}
	case errors.Is(err, site.ErrKeyReused):
		return ErrorOf(&keyError{site.ErrKeyReused.Error() + "; use a new key"})
	case errors.Is(err, errBrokenBody):
		e.Type, e.Message, e.Fields = site.ErrorBadRequest, "the body ended early",
			[]site.ErrorField{{Field: "body", Message: "ended early"}}
	case errors.Is(err, errForeignForm):
		e.Type, e.Message = site.ErrorBadRequest, "the form is on a page of another site; use the one of this directory"
	case errors.As(err, &over):
		e.Code, e.Type, e.Message = http.StatusTooManyRequests, site.ErrorRateLimited, over.Message
	case errors.As(err, &unvisited):
		e.Code, e.Type, e.Message = http.StatusConflict, site.ErrorUnvisited, unvisited.Message
	case errors.Is(err, errMedia):
		e.Code, e.Type, e.Message = http.StatusUnsupportedMediaType, site.ErrorMediaType,
			"send application/json in UTF-8 without Content-Encoding"
	case errors.Is(err, errTooLarge):
		e.Code, e.Type, e.Message = http.StatusRequestEntityTooLarge, site.ErrorTooLarge,
			"the body is too large: at most "+strconv.Itoa(site.MaxSubmission)+" bytes are allowed"
	case errors.Is(err, errSlowBody):
		e.Code, e.Type, e.Message = http.StatusRequestTimeout, site.ErrorBadRequest, "the body did not arrive in time"
	case errors.Is(err, errCrowded):
		e.Code, e.Type, e.Message = http.StatusServiceUnavailable, site.ErrorUnavailable,
			"too many submissions at once; try again"
	case errors.Is(err, site.ErrNoDatabase):
		e.Code, e.Type, e.Message = http.StatusServiceUnavailable, site.ErrorUnavailable,
			"the database does not answer, so nothing can be stored or read; try again later"
	default:
		return e, false
	}
	return e, true
}
