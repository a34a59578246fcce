package crawl

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"tollbook/crawl/probe"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// maxEndpoints is how many endpoints one visit asks; the least recently probed come first.
const maxEndpoints = 25

// answer is what one endpoint said in this visit.
type answer struct {
	endpoint *postgres.Endpoint
	result   probe.Result
	at       time.Time

	headAt   *time.Time // when HEAD was sent too, nil when it was not
	headFree *bool      // it was served without payment; nil when that is not known
}

// visit asks a service's active endpoints, one after the other, and puts together what is to be kept. It answers false
// when ctx ended meanwhile, or the visit before any endpoint was asked, as when others use up the host's allowance:
// then nothing is kept, and the service is due again when its lease is over.
func (c *Crawler) visit(ctx context.Context, s postgres.DueService) (postgres.Visit, bool) {
	began := c.o.Now()
	limited, cancel := context.WithTimeout(ctx, c.o.Visit)
	defer cancel()
	known := sync.OnceValue(func() map[uuid.UUID]*postgres.Envelope {
		envelopes, err := c.db.Envelopes(limited, s.ID)
		if err != nil && ctx.Err() == nil {
			c.o.Logger.WarnContext(ctx, "visiting without what the endpoints declared before", "service", s.Slug,
				"error", err)
		}
		return envelopes
	})
	asked := c.askedOff(limited, s)
	var answers []answer
	for _, e := range toVisit(s.Endpoints, began) {
		if asked(e.Path) {
			answers = append(answers, answer{endpoint: e, at: c.o.Now(),
				result: probe.Result{Verdict: probe.Inconclusive, Class: classRobots, Reason: askedOffReason,
					FinalURL: s.BaseURL + e.Path}})
			continue
		}
		leave, err := c.hosts.enter(limited, host(s.BaseURL))
		if err != nil {
			break
		}
		r := c.prober.Probe(limited, target(s.BaseURL, e, known))
		leave()
		if limited.Err() != nil {
			break // cut off by us: what it says is about our time, not about the service
		}
		answers = append(answers, answer{endpoint: e, result: r, at: c.o.Now()})
	}
	c.askHeads(limited, s, answers)
	if ctx.Err() != nil || len(answers) == 0 && len(s.Endpoints) > 0 {
		return postgres.Visit{}, false
	}
	v := c.sum(ctx, s, answers, c.o.Now())
	c.log(ctx, s, v)
	return v, true
}

// host is the name and port that a base address is asked at.
func host(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base // the prober refuses it
	}
	return u.Host
}

// toVisit picks the endpoints of a visit: active ones, or all when none is, so that a service can come back.
func toVisit(endpoints []postgres.Endpoint, now time.Time) []*postgres.Endpoint {
	var active, all []*postgres.Endpoint
	for i := range endpoints {
		e := &endpoints[i]
		all = append(all, e)
		if site.IsActive(e.FirstSeenAt, e.LastPaidAt, now) {
			active = append(active, e)
		}
	}
	if len(active) == 0 {
		active = all
	}
	slices.SortStableFunc(active, func(a, b *postgres.Endpoint) int {
		return cmp.Or(timeOr(a.LastProbedAt).Compare(timeOr(b.LastProbedAt)), cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Method, b.Method))
	})
	return active[:min(len(active), maxEndpoints)]
}

func timeOr(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// target asks an endpoint as it was declared, by what it said of itself last time where nobody else did. Most endpoints
// do without the latter, which is read when it is asked for.
func target(base string, e *postgres.Endpoint, known func() map[uuid.UUID]*postgres.Envelope) probe.Target {
	t := probe.Target{URL: base + e.Path}
	if e.MethodDeclared {
		t.Method = e.Method
	} else {
		t.MethodHint = e.Method
	}
	if e.Fingerprint == nil {
		return t // it never answered with an envelope
	}
	t.Discovery = func() *x402.Discovery {
		last := known()[e.ID]
		if last == nil {
			return nil
		}
		a := x402.Answer{Status: last.StatusCode, Header: last.Header, Body: last.Body, Truncated: last.Truncated,
			URL: last.URL}
		if envelope := x402.Capture(a).Envelope; envelope != nil {
			return envelope.Discovery
		}
		return nil
	}
	return t
}

// sum makes one check of a visit's answers.
func (c *Crawler) sum(ctx context.Context, s postgres.DueService, answers []answer, now time.Time) postgres.Visit {
	v := postgres.Visit{Check: postgres.Check{ServiceID: s.ID, CheckedAt: now, ID: uuid.New()}, Lease: s.NextCheckAt}
	verdicts := map[uuid.UUID]string{} // the latest conclusive one of each active endpoint
	for _, e := range s.Endpoints {
		if e.Verdict != nil && site.IsActive(e.FirstSeenAt, e.LastPaidAt, now) {
			verdicts[e.ID] = *e.Verdict
		}
	}
	conclusive := false
	for _, a := range answers {
		if a.result.Verdict == probe.Refused {
			c.o.Logger.WarnContext(ctx, "refused by our own guard", "service", s.Slug, "path", a.endpoint.Path,
				"reason", a.result.Reason)
		}
		e := c.endpointVisit(a)
		if e.Verdict != nil {
			conclusive = true
			verdicts[e.ID] = *e.Verdict
		}
		if e.Paid {
			v.LastSuccessAt = &e.ProbedAt
		}
		v.Endpoints = append(v.Endpoints, e)
	}
	describe(&v.Check, answers)
	settle(&v.Check, s.Service, verdicts, conclusive)
	v.FailingSince = s.FailingSince
	switch {
	case v.Check.ConsecutiveFailures == 0:
		v.FailingSince = nil
	case s.FailingSince == nil:
		v.FailingSince = &now
	}
	v.NextCheckAt = now.Add(c.jitter(site.Interval(s.CheckInterval, v.FailingSince, now)))
	if err := c.compare(ctx, s, &v, answers); err != nil {
		c.o.Logger.WarnContext(ctx, "changes not compared", "service", s.Slug, "error", err)
		v.Changes, v.Told, v.Untold = nil, nil, s.LastCheckedAt
	}
	return v
}

// jitter makes an interval shorter or longer by up to the share o.Jitter, so that visits spread.
func (c *Crawler) jitter(interval time.Duration) time.Duration {
	r := rand.Float64
	if c.o.Rand != nil {
		r = c.o.Rand
	}
	return time.Duration(float64(interval) * (1 + c.o.Jitter*(2*r()-1)))
}

// describe fills in what the answers of this visit measured: the first paid answer's status, else the first one's; the
// median time to the response headers; the number of paid ones; the first reason when not all were paid.
func describe(check *postgres.Check, answers []answer) {
	var times []int
	for _, a := range answers {
		r := a.result
		if r.Status != 0 {
			times = append(times, int(r.ResponseTime.Milliseconds()))
			if check.StatusCode == nil || r.Verdict == probe.Paid && check.EndpointsFound == 0 {
				check.StatusCode = &r.Status
			}
		}
		if r.Verdict == probe.Paid {
			check.EndpointsFound++
		} else if check.ErrorMessage == nil {
			reason := clean(r.Reason, 300)
			check.ErrorMessage = &reason
		}
	}
	if len(times) > 0 {
		slices.Sort(times)
		median := (times[(len(times)-1)/2] + times[len(times)/2]) / 2
		check.ResponseTimeMS = &median
	}
}

// slow is the median response time above which a check is degraded, in milliseconds.
const slow = 5000

// settle says the status of a check from the latest conclusive verdict of every active endpoint: online all paid;
// offline none answered; else degraded, as also when the median is slow. A visit without a conclusive answer keeps the
// last word and counts in nothing.
func settle(check *postgres.Check, before postgres.Service, verdicts map[uuid.UUID]string, conclusive bool) {
	check.Counted, check.ConsecutiveFailures = conclusive, before.ConsecutiveFailures
	if !conclusive {
		check.Status = before.LastStatus
		check.IsUp = before.LastStatus != nil && *before.LastStatus != site.StatusOffline
		return
	}
	paid, failed := 0, 0
	for _, v := range verdicts {
		switch probe.Verdict(v) {
		case probe.Paid:
			paid++
		case probe.Failed:
			failed++
		}
	}
	status := site.StatusDegraded
	switch {
	case failed == len(verdicts):
		status = site.StatusOffline
	case paid == len(verdicts) && (check.ResponseTimeMS == nil || *check.ResponseTimeMS <= slow):
		status = site.StatusOnline
	}
	check.Status, check.IsUp = &status, status != site.StatusOffline
	if check.IsUp {
		check.ConsecutiveFailures = 0
	} else {
		check.ConsecutiveFailures++
	}
}

// endpointVisit is what is kept of one answer.
func (c *Crawler) endpointVisit(a answer) postgres.EndpointVisit {
	r := a.result
	e := postgres.EndpointVisit{
		ID: a.endpoint.ID, ProbedAt: a.at, Class: r.Class, Reason: clean(r.Reason, 300), HeadAt: a.headAt,
		HeadFree: a.headFree,
	}
	if conclusive(r.Verdict) {
		verdict := string(r.Verdict)
		e.Verdict, e.Paid = &verdict, r.Verdict == probe.Paid
	}
	if r.Verdict == probe.Paid || r.Verdict == probe.Broken {
		if !a.endpoint.MethodDeclared && a.endpoint.Method != r.Method {
			e.Method = r.Method
		}
	}
	if r.Status != 0 {
		ms := int(r.ResponseTime.Milliseconds())
		e.ResponseTimeMS = &ms
	}
	envelope := r.Captured.Envelope
	if envelope == nil {
		e.Answer = newAnswer(a)
		return e
	}
	e.Envelope = newEnvelope(a)
	e.Description = textOrNull(envelope.Resource.Description, a.endpoint.Description)
	e.MimeType = textOrNull(envelope.Resource.MimeType, a.endpoint.MimeType)
	fingerprint := envelope.Fingerprint()
	e.Fingerprint = &fingerprint
	if a.endpoint.Fingerprint == nil || *a.endpoint.Fingerprint != fingerprint {
		e.Repriced, e.Prices = true, pricesOf(a.endpoint.ID, a.at, envelope)
	}
	return e
}

// textOrNull is the service's own words where it says any and they differ from what is known.
func textOrNull(said string, known *string) *string {
	said = clean(said, 500)
	if said == "" || known != nil && *known == said {
		return nil
	}
	return &said
}

// maxExtra bounds the extra that is kept of a price, in bytes; the envelope has the rest.
const maxExtra = 4000

// pricesOf are the rows of an envelope that somebody could pay by.
func pricesOf(endpoint uuid.UUID, since time.Time, envelope *x402.Envelope) []postgres.Price {
	var prices []postgres.Price
	for i, r := range envelope.Accepts {
		if !r.Usable() {
			continue
		}
		p := postgres.Price{
			EndpointID: endpoint, Since: since, Position: i, Scheme: clean(r.Scheme, 100),
			Network: clean(r.Network, 100),
			Asset:   clean(r.Asset, 300), PayTo: clean(r.PayTo, 300), Amount: r.Amount,
			MaxTimeoutSeconds: r.MaxTimeoutSeconds, X402Version: envelope.Version,
		}
		if r.NetworkCAIP2 != "" {
			p.NetworkCAIP2 = &r.NetworkCAIP2
		}
		if extra := r.StableExtra(); r.Extra != nil && len(extra) <= maxExtra { // a part of it would be no JSON
			text := clean(string(extra), maxExtra)
			p.Extra = &text
		}
		prices = append(prices, p)
	}
	return prices
}

// clean makes a stranger's text fit for the database: valid UTF-8 without NUL, at most n runes.
func clean(s string, n int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// log writes one line a check.
func (c *Crawler) log(ctx context.Context, s postgres.DueService, v postgres.Visit) {
	attrs := []slog.Attr{
		slog.String("service", s.Slug), slog.Bool("counted", v.Check.Counted), slog.Bool("up", v.Check.IsUp),
		slog.Int("paid", v.Check.EndpointsFound), slog.Int("asked", len(v.Endpoints)),
	}
	if v.Check.Status != nil {
		attrs = append(attrs, slog.String("status", *v.Check.Status))
	}
	if v.Check.ResponseTimeMS != nil {
		attrs = append(attrs, slog.Int("ms", *v.Check.ResponseTimeMS))
	}
	if v.Check.ErrorMessage != nil {
		attrs = append(attrs, slog.String("reason", *v.Check.ErrorMessage))
	}
	c.o.Logger.LogAttrs(ctx, slog.LevelInfo, "check", attrs...)
}
