package probe

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"tollbook/site/hint"
)

// Facts returns what the result says about an endpoint for its hints. listed is the URL that was probed, and endpoint
// its name.
func (r Result) Facts(endpoint, listed string) hint.Facts {
	f := hint.Facts{Endpoint: endpoint, URL: listed, Method: r.Method, AnsweredURL: r.FinalURL, Captured: r.Captured,
		Offers: r.Offers, Body: r.Answer.Body}
	if r.Verdict == Paid || r.Verdict == Broken {
		f.Header = r.Answer.Header
	}
	for _, c := range r.Calls {
		if c.Method != r.Method || c.Status == 0 {
			continue
		}
		try := hint.NewTry(c.Method, c.URL, c.Body, c.Status)
		if hint.HasInput(listed, c.URL, c.Body) {
			f.Example = &try
		} else {
			f.Bare = &try
		}
	}
	return f
}

// AskAsBrowser sends what a page in a browser sends before it pays, to an endpoint that asked for payment: the preflight
// OPTIONS, and the same request again with an origin. If that request contains the declared example, and the probe sent
// none without it, it also sends one without. It returns nil if no page can pay by the terms. The caller keeps the pace
// before the first request.
func (p *Prober) AskAsBrowser(ctx context.Context, r Result, listed string) *hint.Browser {
	f := r.Facts("", listed)
	sent, err := url.Parse(r.FinalURL)
	headers := hint.PreflightHeaders(&f, r.Sent.Body != nil)
	if err != nil || headers == "" || r.Verdict != Paid || strings.Contains(r.FinalURL, "#") {
		return nil
	}
	b := &hint.Browser{Method: r.Method, Body: r.Sent.Body != nil}
	again := call{method: r.Method, url: sent, body: r.Sent.Body, contentType: r.Sent.Header.Get("Content-Type")}
	origin := http.Header{"Origin": {hint.Origin}}
	b.Preflight = p.ask(ctx, call{method: http.MethodOptions, url: sent, header: http.Header{"Accept": {"*/*"},
		"Origin": {hint.Origin}, "Access-Control-Request-Method": {r.Method},
		"Access-Control-Request-Headers": {headers}}}, false)
	again.header = origin
	b.Request = p.ask(ctx, again, true)
	if f.Bare != nil || !hint.HasInput(listed, r.FinalURL, r.Sent.Body) {
		return b
	}
	u, err := url.Parse(listed)
	if err != nil {
		return b
	}
	bare := call{method: r.Method, url: new(*sent)}
	bare.url.RawQuery = u.RawQuery
	if hasBody(r.Method) {
		bare.body, bare.contentType = []byte("{}"), "application/json"
	}
	if b.Bare = p.ask(ctx, bare, true); b.Bare != nil {
		b.BareText = hint.NewTry(bare.method, bare.url.String(), bare.body, 0).Text
	}
	return b
}

// ask sends one request, without redirects, and returns the part of its answer that decides what a browser does; nil
// without an answer. paced says that a request was sent before.
func (p *Prober) ask(ctx context.Context, c call, paced bool) *hint.Answer {
	if paced && p.pace != nil && p.pace(ctx, c.url.Host) != nil {
		return nil
	}
	var r reply
	p.send(ctx, c, p.request, &r)
	if r.answer.Status == 0 || isChallenge(r.answer) {
		return nil // a bot filter says nothing about the endpoint
	}
	return hint.NewAnswer(r.answer.Status, r.answer.Header)
}
