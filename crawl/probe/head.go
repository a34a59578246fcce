package probe

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// HeadAnswer is the answer to a HEAD request.
type HeadAnswer struct {
	Free   *bool // whether it was served without payment; nil if the answer does not show that
	Status int   // 0 without an answer
}

// Head sends HEAD to a URL and reports whether it was served without payment. Free is nil if the answer does not show
// that: a bot filter, a server error, or no answer. Redirects are not followed, because the URL answered before.
// The caller keeps the pace. HEAD is used nowhere else and gives no verdict, because most sellers answer it unpaid.
func (p *Prober) Head(ctx context.Context, address string) (HeadAnswer, error) {
	u, err := url.Parse(address)
	if err != nil {
		return HeadAnswer{}, fmt.Errorf("%w: %q is not a URL", ErrRefused, clip(address))
	}
	if u, err = p.guard.canonical(u); err != nil {
		return HeadAnswer{}, err
	}
	var r reply
	p.send(ctx, call{method: http.MethodHead, url: u}, p.request, &r)
	if r.answer.Status == 0 {
		return HeadAnswer{}, fmt.Errorf("head %s: %w", clip(address), r.err)
	}
	got := HeadAnswer{Status: r.answer.Status}
	switch verdict, class, _ := judgeStatus(r.answer); {
	case r.answer.Status == http.StatusPaymentRequired:
		got.Free = new(false)
	case verdict == Open:
		got.Free = new(true)
	case verdict == Inconclusive && class != ClassWrongMethod, class == ClassServerError, class == ClassInvalidHTTP:
	default:
		got.Free = new(false)
	}
	return got, nil
}
