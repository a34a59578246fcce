package probe

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// Head asks an address with HEAD and says whether it was served without payment; nil when the answer does not tell, as
// that of a bot filter, of a server in trouble, or none. Redirects are not followed: the address is one that answered
// before. The caller keeps the pace. It is the one use of HEAD, and no verdict: most sellers answer it unpaid.
func (p *Prober) Head(ctx context.Context, address string) (free *bool, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %q is not an address", ErrRefused, clip(address))
	}
	if u, err = p.guard.canonical(u); err != nil {
		return nil, err
	}
	var r reply
	p.hop(ctx, call{method: http.MethodHead, url: u}, p.request, &r)
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
