package facts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"tollbook/crawl/probe"
	"tollbook/crawl/source"
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

// SourceRequest asks for a page of a public source of services.
type SourceRequest struct {
	URL        string
	Accept     string
	Validators Validators // of the version that the caller has

	// Wait waits before another attempt; nil means real time.
	Wait func(context.Context, time.Duration) error
}

// SourceAnswer is an answer of a public source of services.
type SourceAnswer struct {
	Unchanged  bool // the validators of the request name the current version; Body is empty
	Body       []byte
	Validators Validators
}

// StatusError is an answer of a status that has no list.
type StatusError struct {
	Status int
	After  time.Duration // as Retry-After asks, at most a day; 0 if it does not say
}

func (e *StatusError) Error() string {
	if e.After > 0 {
		return fmt.Sprintf("the answer is %d and asks to wait %s", e.Status, e.After)
	}
	return fmt.Sprintf("the answer is %d", e.Status)
}

// SourceTimeout is the longest time of a request to a source, with its redirects. Its answers may be large.
const SourceTimeout = time.Minute

// Pauses before another attempt. They double from the first to the last.
const (
	firstPause = time.Second
	lastPause  = 32 * time.Second // after a 429 or 5xx
	lastRetry  = 4 * time.Second  // after a request without an answer
	maxWait    = 5 * time.Minute  // longest pause that an answer may ask for
)

// FetchSource requests a page of a public source. After a 429 or 5xx and after a request without an answer it tries
// again, after pauses that double; an answer may ask for a longer one. A larger answer than source.MaxBytes is an
// error, and so is any other status, as a *StatusError.
func (f *Fetcher) FetchSource(ctx context.Context, r SourceRequest) (SourceAnswer, error) {
	wait := r.Wait
	if wait == nil {
		wait = sleep
	}
	for pause := firstPause; ; pause *= 2 {
		doc, err := f.get(ctx, r.URL, request{accept: r.Accept, limit: source.MaxBytes, timeout: SourceTimeout,
			validators: r.Validators, source: true})
		switch {
		case err != nil:
			if pause > lastRetry || !isTemporary(ctx, err) {
				return SourceAnswer{}, err
			}
		case doc.status == http.StatusOK && doc.truncated:
			return SourceAnswer{}, fmt.Errorf("the answer is larger than %d MiB", source.MaxBytes>>20)
		case doc.status == http.StatusOK:
			if len(doc.validators.ETag) > maxValidator || len(doc.validators.LastModified) > maxValidator {
				doc.validators = Validators{}
			}
			return SourceAnswer{Body: doc.body, Validators: doc.validators}, nil
		case doc.status == http.StatusNotModified && r.Validators != Validators{}:
			return SourceAnswer{Unchanged: true}, nil
		case doc.status != http.StatusTooManyRequests && doc.status < 500 || pause > lastPause ||
			doc.retryAfter > maxWait:
			return SourceAnswer{}, &StatusError{doc.status, doc.retryAfter}
		}
		if err := wait(ctx, max(pause, doc.retryAfter)); err != nil {
			return SourceAnswer{}, err
		}
	}
}

// isTemporary reports whether another attempt may get an answer. The rules of the guard do not change.
func isTemporary(ctx context.Context, err error) bool {
	return ctx.Err() == nil && !errors.Is(err, probe.ErrRefused) && !errors.Is(err, ErrElsewhere)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
