package sample

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/postgres/checks"
	offered "tollbook/site/rail"
	"tollbook/site/x402"
)

// verdict is a visitor's verdict on an answer; package probe has the same five.
type verdict int

const (
	paid verdict = iota
	broken
	open
	inconclusive
	failed
)

// finding is what a visitor finds out about an endpoint at a time in the past.
type finding struct {
	verdict
	class    string // of package probe
	status   int    // 0 without an answer
	reason   string
	delay    time.Duration          // to the response headers
	envelope *x402.Envelope         // the payment terms, payable or not; nil for none
	offers   []checks.Offer         // over other protocols than x402, payable
	answer   reply                  // zero without one
	readers  func() []checks.Reader // what agents and browsers are asked for; nil unless the verdict is paid
}

// noTerms stands for the terms of an answer that asks for payment over other protocols alone.
var noTerms = &x402.Envelope{}

// slowLimit is the median response time above which a service is degraded.
const slowLimit = 5 * time.Second

// look returns the finding of a visitor of e at t, for a behaviour of s. It is the answer of the world, read as the
// crawler reads it.
func (s *service) look(behaviour string, e endpoint, t time.Time) finding {
	switch b := behaviours[behaviour]; {
	case b.deaf:
		return unreachable("connection refused")
	case b.expired:
		return unreachable("TLS: certificate has expired or is not yet valid")
	}
	path, _, isTool := strings.Cut(e.path, "#")
	r := request{method: e.method, host: s.Slug + "." + Domain, path: path, accept: "application/json",
		body: e.sampleBody()}
	a := s.answer(behaviour, r, t)
	if a.hang {
		return unreachable("timed out after 15 s")
	}
	// A refusal such as 404 takes the service's response time, too.
	f := finding{status: a.status, delay: max(a.delay, s.responseTime(t)), answer: a,
		reason: fmt.Sprintf("answers %d %s", a.status, http.StatusText(a.status))}
	switch {
	case a.status == http.StatusPaymentRequired, isTool && a.status == http.StatusOK:
		f.read402(s, e, a, t)
		if f.verdict == paid && !isTool {
			f.readers = func() []checks.Reader { return s.readers(behaviour, e, r, t) }
		}
	case a.status < 300:
		f.verdict, f.class, f.reason = open, "open", f.reason+" without asking for payment"
	case a.status == http.StatusForbidden:
		f.verdict, f.class, f.reason = inconclusive, "challenge",
			"a bot filter answered in the service's place (status 403)"
	case a.status == http.StatusTooManyRequests:
		f.verdict, f.class = inconclusive, "rate_limited"
	case a.status == http.StatusNotFound:
		f.verdict, f.class = failed, "gone"
	default:
		f.verdict, f.class = failed, "server_error"
	}
	return f
}

// unreachable returns the finding of a request without an answer.
func unreachable(reason string) finding {
	return finding{verdict: failed, class: "unreachable", reason: reason}
}

func (f *finding) read402(s *service, e endpoint, a reply, t time.Time) {
	c, offers := s.capture(e, a, t)
	for _, o := range offered.OfferTerms(offers) {
		f.offers = append(f.offers, checks.Offer(o))
	}
	switch {
	case c.Platform:
		f.verdict, f.class, f.reason = failed, "host_disabled",
			"the hosting platform answers 402 in the service's place: the deployment is disabled"
	case c.Envelope == nil && len(f.offers) > 0:
		f.verdict, f.class, f.reason = paid, "paid_other", "asks for payment over "+strings.Join(c.Protocols, ", ")
		f.envelope = noTerms
		return
	case c.Envelope == nil:
		f.verdict, f.class, f.reason = broken, "paid_unreadable", "answers 402 without readable payment requirements"
	case c.Envelope.Channel == x402.ChannelHTML:
		f.verdict, f.class, f.reason = broken, "paid_unreadable",
			"states its payment requirements only inside an HTML page"
	case len(c.Envelope.Accepts) == 0:
		f.verdict, f.class, f.reason = broken, "paid_broken", "asks for payment, but lists no payment option"
	case !slices.ContainsFunc(c.Envelope.Accepts, x402.Requirement.Usable):
		f.verdict, f.class, f.reason = broken, "paid_broken",
			"asks for payment, but no option can be paid; row 1: "+c.Envelope.Accepts[0].Unusable()
	default:
		f.verdict, f.class, f.reason = paid, "paid_ok", "asks for payment"
	}
	f.envelope = c.Envelope
}

// capture reads the payment terms of an answer.
func (s *service) capture(e endpoint, a reply, t time.Time) (x402.Captured, []offered.Offer) {
	url := s.baseURL() + e.path
	return x402.Capture(x402.Answer{Status: a.status, Header: a.header, Body: a.body, URL: url}),
		offered.Read(offered.Answer{Header: a.header, URL: url, ReceivedAt: t})
}

// readers returns what a visitor finds that sends a request again as a browser and as a client would, and by the other one of GET and
// POST if the listing declares no method.
func (s *service) readers(behaviour string, e endpoint, r request, t time.Time) (list []checks.Reader) {
	ask := func(as string, r request) {
		a := s.answer(behaviour, r, t)
		reader := checks.Reader{As: as, Method: r.method, Status: a.status, Terms: []checks.Offer{}}
		if a.status == http.StatusPaymentRequired {
			c, offers := s.capture(e, a, t)
			for _, terms := range append(offered.RowTerms(c.Envelope), offered.OfferTerms(offers)...) {
				reader.Terms = append(reader.Terms, checks.Offer(terms))
			}
		}
		list = append(list, reader)
	}
	ask(offered.AsAgent, r)
	r.accept = "text/html"
	ask(offered.AsBrowser, r)
	r.accept = "application/json"
	ask(offered.AsClient, r)
	if e.declared == "" {
		r.method, r.body = http.MethodGet, nil
		if e.method == http.MethodGet {
			r.method, r.body = http.MethodPost, []byte("{}")
		}
		ask(offered.AsOtherMethod, r)
	}
	return list
}

// summarize combines the findings of a visit into a check. An inconclusive check has no status.
func summarize(findings []finding) checks.Check {
	var c checks.Check
	var times []time.Duration
	var odd *finding // the first finding other than paid
	conclusive, answered := 0, 0
	for i := range findings {
		f := &findings[i]
		if f.verdict != inconclusive {
			conclusive++
		}
		if f.verdict != failed && f.verdict != inconclusive {
			answered++
		}
		if f.status != 0 {
			times = append(times, f.delay)
			if c.StatusCode == nil || f.verdict == paid && c.EndpointsFound == 0 {
				c.StatusCode = &f.status
			}
		}
		if f.verdict == paid {
			c.EndpointsFound++
		} else if odd == nil {
			odd = f
		}
	}
	middle := median(times)
	if len(times) > 0 {
		ms := int(middle.Milliseconds())
		c.ResponseTimeMS = &ms
	}
	status := site.StatusOffline
	switch {
	case conclusive == 0:
		status = ""
	case answered == conclusive && c.EndpointsFound == conclusive && middle <= slowLimit:
		status = site.StatusOnline
	case answered > 0:
		status = site.StatusDegraded
	}
	if c.Counted = status != ""; c.Counted {
		c.Status, c.IsUp = &status, status != site.StatusOffline
	} else if len(findings) > 0 {
		c.UncountedReason = &findings[0].class
	}
	if odd != nil {
		c.ErrorMessage = &odd.reason
	}
	return c
}

func median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	half := len(times) / 2
	if len(times)%2 == 1 {
		return times[half]
	}
	return (times[half-1] + times[half]) / 2
}
