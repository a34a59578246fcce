package probe

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// Head sends HEAD to a URL and reports whether it was served without payment. It returns nil if the answer does not
// show that: a bot filter, a server error, or no answer. Redirects are not followed, because the URL answered before.
// The caller keeps the pace. HEAD is used nowhere else and gives no verdict, because most sellers answer it unpaid.
func (p *Prober) Head(ctx context.Context, address string) (free *bool, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %q is not a URL", ErrRefused, clip(address))
	}
	if u, err = p.guard.canonical(u); err != nil {
		return nil, err
	}
	var r reply
	p.send(ctx, call{method: http.MethodHead, url: u}, p.request, &r)
	if r.answer.Status == 0 {
		return nil, fmt.Errorf("head %s: %w", clip(address), r.err)
	}
	switch verdict, class, _ := judgeStatus(r.answer); {
	case r.answer.Status == http.StatusPaymentRequired:
		return new(false), nil
	case verdict == Open:
		return new(true), nil
	case verdict == Inconclusive && class != ClassWrongMethod, class == ClassServerError, class == ClassInvalidHTTP:
		return nil, nil
	}
	return new(false), nil
}
