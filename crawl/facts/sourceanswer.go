package facts

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Validators name a version of a document (RFC 9110, section 8.8). Empty ones are unknown.
type Validators struct{ ETag, LastModified string }

func (v Validators) set(h http.Header) {
	if v.ETag != "" {
		h.Set("If-None-Match", v.ETag)
	}
	if v.LastModified != "" {
		h.Set("If-Modified-Since", v.LastModified)
	}
}

// maxValidator is the longest validator that is remembered, in bytes.
const maxValidator = 1000

// SourceAnswer is an answer of a public source of services.
type SourceAnswer struct {
	Status     int
	Body       []byte
	Validators Validators
	RetryAfter time.Duration // as the answer asks, at most a day; 0 if it does not say
}

// answerTimeout is the longest time of a request to a source, with its redirects. Its answers may be large.
const answerTimeout = time.Minute

// FetchSource requests a URL of a public source. A status of 304 says that validators name the current version. An
// answer of more than limit bytes is an error.
func (f *Fetcher) FetchSource(ctx context.Context, address, accept string, v Validators, limit int64) (SourceAnswer,
	error) {
	doc, err := f.get(ctx, address, request{accept: accept, limit: limit, timeout: answerTimeout, validators: v})
	if err != nil {
		return SourceAnswer{}, err
	}
	if doc.truncated {
		return SourceAnswer{}, fmt.Errorf("get %s: the answer is larger than %d MiB", address, limit>>20)
	}
	if len(doc.validators.ETag) > maxValidator || len(doc.validators.LastModified) > maxValidator {
		doc.validators = Validators{}
	}
	return SourceAnswer{doc.status, doc.body, doc.validators, doc.retryAfter}, nil
}
