package facts

import (
	"context"
	"time"
)

// Response is what a host sent, with any status, to an unpaid GET of a document of its API.
type Response struct {
	Status     int
	Body       []byte // at most the limit of the request
	Truncated  bool   // the body is longer
	RetryAfter time.Duration
	Took       time.Duration // from the request to the end of the body, with redirects, without waiting for hosts
}

// Ask requests a document of an API. It ignores robots.txt, which is about pages. The guard checks the URL and each
// redirect; a redirect that is not followed is ErrElsewhere.
func (f *Fetcher) Ask(ctx context.Context, address string, limit int64) (Response, error) {
	doc, err := f.get(ctx, address, request{accept: "application/json", limit: limit})
	return Response{doc.status, doc.body, doc.truncated, doc.retryAfter, doc.took}, err
}
