package crawl

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"tollbook/crawl/offer"
	"tollbook/crawl/probe"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/rail"
	"tollbook/site/webbotauth"
	"tollbook/site/x402"
)

// Limits of one visit. The least recently probed endpoints come first.
const (
	maxEndpoints = 25 // most endpoints that one visit probes, without unproven ones
	maxUnproven  = 5  // most unproven endpoints beside others
)

// answer is the result of one endpoint in a visit.
type answer struct {
	endpoint *postgres.Endpoint
	result   probe.Result
	at       time.Time

	headAt *time.Time // when HEAD was sent, nil if it was not
	head   probe.HeadAnswer

	lookedAt *time.Time // when readers were compared, nil if they were not
	readers  []checks.Reader
}

// visit probes a service's active endpoints one after the other and returns the facts to store. It returns false if ctx
// ended, or if the visit ended before any endpoint was probed, for example because others used up the host's allowance
// or because there is no contact. Then nothing is stored, and the service is due again when its lease ends. Nothing is
// stored either if this machine's own network failed; then the service is due again soon.
func (c *Crawler) visit(ctx context.Context, s postgres.DueService) (checks.Visit, bool) {
	if c.skips(ctx, s.Slug, s.BaseURL) {
		return checks.Visit{}, false
	}
	began := c.o.Now()
	c.uplink.begin()
	limited, cancel := context.WithTimeout(ctx, c.o.Visit)
	defer cancel()
	envelopes := sync.OnceValue(func() map[uuid.UUID]*checks.Envelope {
		envelopes, err := c.db.Envelopes(limited, s.ID)
		if err != nil && ctx.Err() == nil {
			c.o.Logger.WarnContext(ctx, "read stored envelopes; probing without their hints", "service", s.Slug,
				"error", err)
		}
		return envelopes
	})
	excluded := c.readExclusion(limited, s)
	sessions := toolSessions{}
	defer sessions.end(limited, c, host(s.BaseURL))
	var answers []answer
	for _, e := range pickEndpoints(s.Endpoints, began) {
		if excluded(e.Path) {
			answers = append(answers, answer{endpoint: e, at: c.o.Now(), result: probe.Result{
				Verdict: probe.Inconclusive, Class: classRobots, Reason: robotsReason, FinalURL: s.BaseURL + e.Path,
			}})
			continue
		}
		leave, err := c.hosts.enter(limited, host(s.BaseURL))
		if err != nil {
			break
		}
		r := c.prober.Probe(limited, sessions.target(newTarget(s.BaseURL, e, envelopes), e))
		leave()
		if limited.Err() != nil {
			break // our time limit ended the probe: its result says nothing about the service
		}
		answers = append(answers, answer{endpoint: e, result: r, at: c.o.Now()})
	}
	c.lookAgain(limited, s, answers)
	c.probeHeads(limited, s, answers)
	own := c.endVisit(ctx, &s, answers)
	if own || ctx.Err() != nil || len(answers) == 0 && len(s.Endpoints) > 0 {
		return checks.Visit{}, false
	}
	v := c.newVisit(ctx, s, answers, c.findPlaces(ctx, s), c.o.Now())
	c.logVisit(ctx, s, v)
	return v, true
}

// host returns the host and port of a base URL.
func host(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base // the prober refuses this URL
	}
	return u.Host
}

// pickEndpoints returns the endpoints that a visit probes: the active ones, or all if none is active, so that a
// service can become active again. A few unproven ones follow, so that they can prove themselves. A service that has no
// others is visited by those. The least recently probed comes first.
func pickEndpoints(endpoints []postgres.Endpoint, now time.Time) []*postgres.Endpoint {
	var active, inactive, unproven []*postgres.Endpoint
	for i := range endpoints {
		switch e := &endpoints[i]; {
		case e.IsUnproven():
			unproven = append(unproven, e)
		case e.IsActive(now):
			active = append(active, e)
		default:
			inactive = append(inactive, e)
		}
	}
	least := func(list []*postgres.Endpoint, most int) []*postgres.Endpoint {
		slices.SortStableFunc(list, func(a, b *postgres.Endpoint) int {
			return cmp.Or(timeOr(a.LastProbedAt).Compare(timeOr(b.LastProbedAt)), cmp.Compare(a.Path, b.Path),
				cmp.Compare(a.Method, b.Method))
		})
		return list[:min(len(list), most)]
	}
	if len(active) == 0 {
		active = inactive
	}
	if len(active) == 0 {
		return least(unproven, maxEndpoints)
	}
	return append(least(active, maxEndpoints), least(unproven, maxUnproven)...)
}

func timeOr(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// newTarget returns the probe of an endpoint: as it was declared, else by the discovery document in its last envelope.
// The prober calls Discovery only if it needs it, so that most endpoints do without reading envelopes.
func newTarget(base string, e *postgres.Endpoint, envelopes func() map[uuid.UUID]*checks.Envelope) probe.Target {
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
		last := envelopes()[e.ID]
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

// countedAnswers returns the answers that the status and the measurements of a visit count: all but those of unproven
// endpoints that did not ask for payment now either, unless the service has no other endpoints.
func countedAnswers(s postgres.DueService, answers []answer) []answer {
	isUnproven := func(a answer) bool { return a.endpoint.IsUnproven() && a.result.Verdict != probe.Paid }
	isProven := func(e postgres.Endpoint) bool { return !e.IsUnproven() }
	counted := slices.DeleteFunc(slices.Clone(answers), isUnproven)
	if len(counted) == 0 && !slices.ContainsFunc(s.Endpoints, isProven) {
		return answers
	}
	return counted
}

// newVisit combines a visit's answers into one check. places is nil where no other place visits services.
func (c *Crawler) newVisit(ctx context.Context, s postgres.DueService, answers []answer, places *places,
	now time.Time) checks.Visit {
	v := checks.Visit{Check: checks.Check{ServiceID: s.ID, CheckedAt: now, ID: uuid.New()}, Lease: s.NextCheckAt}
	if c.o.Vantage != "" {
		v.Check.Vantage = &c.o.Vantage
	}
	verdicts := map[uuid.UUID]string{} // the latest conclusive verdict of each active endpoint
	for _, e := range s.Endpoints {
		if e.Verdict != nil && e.IsActive(now) {
			verdicts[e.ID] = *e.Verdict
		}
	}
	counted, conclusive := countedAnswers(s, answers), false
	for _, a := range counted {
		if isConclusive(a.result.Verdict) {
			conclusive = true
			verdicts[a.endpoint.ID] = string(a.result.Verdict)
		}
	}
	for _, a := range answers {
		if a.result.Verdict == probe.Refused {
			c.o.Logger.WarnContext(ctx, "the guard refused to probe the endpoint", "service", s.Slug, "path",
				a.endpoint.Path,
				"reason", a.result.Reason)
		}
		e := c.newEndpointVisit(a)
		if e.Paid {
			v.LastSuccessAt = &e.ProbedAt
		}
		v.Endpoints = append(v.Endpoints, e)
	}
	setMeasurements(&v.Check, counted)
	before := s.Service
	if conclusive && isAfterGap(&s, now) { // the failures before are not in a row with this one
		before.ConsecutiveFailures, before.FailingSince = 0, nil
	}
	setStatus(&v.Check, before, verdicts, conclusive, counted)
	if places.weigh(&v, s.Service, answers) {
		before = s.Service
	}
	v.FailingSince = before.FailingSince
	switch {
	case v.Check.ConsecutiveFailures == 0:
		v.FailingSince = nil
	case before.FailingSince == nil:
		v.FailingSince = &now
	}
	interval := site.Interval(s.CheckInterval, v.FailingSince, now)
	v.Check.IntervalS = int(interval / time.Second)
	v.NextCheckAt = now.Add(c.jitter(interval))
	if v.Question != nil && len(v.Question.Of) > 0 {
		v.NextCheckAt = now // the service is due at once for those places
	}
	if err := c.addChanges(ctx, s, &v, answers); err != nil {
		c.o.Logger.WarnContext(ctx, "compare prices with the previous ones; the next visit tries again", "service",
			s.Slug, "error", err)
		v.Changes, v.ClearedTypes, v.BaselineAt = nil, nil, s.LastCheckedAt
	}
	return v
}

// isAfterGap reports whether the state that the last conclusive visit found is not known any more (see checks.Spans).
func isAfterGap(s *postgres.DueService, now time.Time) bool {
	var last time.Time
	for _, e := range s.Endpoints {
		if e.VerdictAt != nil && e.VerdictAt.After(last) {
			last = *e.VerdictAt
		}
	}
	return !last.IsZero() && now.Sub(last) > site.KnownFor(site.Interval(s.CheckInterval, s.FailingSince, last))
}

// jitter changes an interval randomly by up to the share o.Jitter either way, so that visits spread out.
func (c *Crawler) jitter(interval time.Duration) time.Duration {
	r := rand.Float64
	if c.o.Rand != nil {
		r = c.o.Rand
	}
	return time.Duration(float64(interval) * (1 + c.o.Jitter*(2*r()-1)))
}

// setMeasurements sets what the answers of a visit measured. The status code is that of the first paid answer, else of
// the first answer. The response time is the median of the answers' times (see answerTime). The error message is the reason of
// the first answer that was not paid.
func setMeasurements(check *checks.Check, answers []answer) {
	var times []int
	for _, a := range answers {
		r := a.result
		if r.Status != 0 {
			times = append(times, int(answerTime(&r).Milliseconds()))
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

// answerTime returns how long a service took to answer: from the start of a request to the response headers, without
// the time that looking up its name, connecting and TLS took. Only the first request of a visit opens a connection, so
// times with that part would depend on the number of endpoints.
func answerTime(r *probe.Result) time.Duration {
	opening := r.Phases.DNS + r.Phases.Connect + r.Phases.TLS
	return max(r.ResponseTime-opening, r.Phases.FirstByte) // a connection that was opened in vain overlaps with the answer
}

// slowMS is the median response time above which a check is degraded, in milliseconds.
const slowMS = 5000

// setStatus sets the status of a check from the latest conclusive verdict of every active endpoint: online if all are
// paid and the median is not slow, offline if all failed, else degraded. A visit without a conclusive answer repeats
// the previous status and does not count, because of the class of its first answer.
func setStatus(check *checks.Check, before postgres.Service, verdicts map[uuid.UUID]string, conclusive bool,
	answers []answer) {
	check.Counted, check.ConsecutiveFailures = conclusive, before.ConsecutiveFailures
	if !conclusive {
		reason := site.NoEndpoints
		if len(answers) > 0 {
			reason = answers[0].result.Class
		}
		check.UncountedReason = &reason
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
	case paid == len(verdicts) && (check.ResponseTimeMS == nil || *check.ResponseTimeMS <= slowMS):
		status = site.StatusOnline
	}
	check.Status, check.IsUp = &status, status != site.StatusOffline
	if check.IsUp {
		check.ConsecutiveFailures = 0
	} else {
		check.ConsecutiveFailures++
	}
}

// newEndpointVisit returns the facts to store about one answer.
func (c *Crawler) newEndpointVisit(a answer) checks.EndpointVisit {
	r := a.result
	e := checks.EndpointVisit{
		ID: a.endpoint.ID, ProbedAt: a.at, Class: r.Class, Reason: clean(r.Reason, 300), HeadAt: a.headAt,
		HeadFree: a.head.Free, LookedAt: a.lookedAt, Readers: a.readers,
		Signed: webbotauth.IsSigned(r.Sent.Header),
	}
	if a.head.Free != nil {
		e.HeadURL, e.HeadStatus = new(clean(r.FinalURL, 500)), &a.head.Status
	}
	if isConclusive(r.Verdict) {
		verdict := string(r.Verdict)
		e.Verdict, e.Paid = &verdict, r.Verdict == probe.Paid
	}
	if r.Verdict == probe.Paid || r.Verdict == probe.Broken {
		if !a.endpoint.MethodDeclared && a.endpoint.Method != r.Method {
			e.Method = r.Method
		}
	}
	if r.Status != 0 {
		ms := int(answerTime(&r).Milliseconds())
		e.ResponseTimeMS = &ms
	}
	envelope := r.Captured.Envelope
	isTool := x402.ToolOf(r.FinalURL) != ""
	if isConclusive(r.Verdict) && (r.Status == http.StatusPaymentRequired || isTool && asksPayment(r)) {
		e.AsksPayment, e.Offers = true, newOffers(r.Offers)
		e.OffersChanged = !offer.IsSame(e.Offers, a.endpoint.Offers) || isKindChanged(a)
	}
	switch {
	case envelope == nil && r.Class != probe.ClassPaidOther:
		e.Response = newAnswer(a)
		return e
	case envelope == nil: // it asks for payment, but over x402 no more
		envelope = &x402.Envelope{}
	}
	e.Envelope = newEnvelope(a)
	if r.Captured.Envelope == nil && a.endpoint.Fingerprint == nil {
		return e
	}
	e.Description = ownText(envelope.Resource.Description, a.endpoint.Description)
	e.MimeType = ownText(envelope.Resource.MimeType, a.endpoint.MimeType)
	fingerprint := envelope.Fingerprint()
	e.Fingerprint = &fingerprint
	if a.endpoint.Fingerprint == nil || *a.endpoint.Fingerprint != fingerprint || isKindChanged(a) {
		e.PricesChanged, e.Prices = true, newPrices(a.endpoint.ID, a.at, envelope, e.Signed)
	}
	return e
}

// asksPayment reports whether an answer asks for payment, well or badly.
func asksPayment(r probe.Result) bool { return r.Verdict == probe.Paid || r.Verdict == probe.Broken }

// isKindChanged reports whether an answer is to a signed request and the one before it was not, or the other way
// round. A service may ask other terms of a crawler that it knows. So each kind of request has terms of its own, and
// terms of one kind are not compared with those of the other.
func isKindChanged(a answer) bool {
	return a.endpoint.Verdict != nil && a.endpoint.Signed != webbotauth.IsSigned(a.result.Sent.Header)
}

// newOffers returns the offers that can be paid, as they are stored.
func newOffers(offers []rail.Offer) (list []checks.Offer) {
	for _, o := range offers {
		if o.Usable() {
			list = append(list, checks.Offer(o.Terms))
		}
	}
	return list
}

// ownText returns a service's text about itself, nil if it is empty or equal to the stored one.
func ownText(text string, envelopes *string) *string {
	text = clean(text, 500)
	if text == "" || envelopes != nil && *envelopes == text {
		return nil
	}
	return &text
}

// maxExtra bounds the stored extra of a price, in bytes, and maxExtras the stored extras of an endpoint's prices in
// all. Four of the longest fit. The stored envelope has all of them.
const (
	maxExtra  = 4000
	maxExtras = 16_000
)

// newPrices returns the requirements of an envelope that can be paid, as rows. signed says whether the request was.
func newPrices(endpoint uuid.UUID, since time.Time, envelope *x402.Envelope, signed bool) []checks.Price {
	var prices []checks.Price
	extras := 0 // bytes
	for i, r := range envelope.Accepts {
		if !r.Usable() {
			continue
		}
		p := checks.Price{
			EndpointID: endpoint, Since: since, Position: i, Scheme: clean(r.Scheme, 100),
			Network: clean(r.Network, 100), Asset: clean(r.Asset, 300), PayTo: clean(r.PayTo, 300), Amount: r.Amount,
			MaxTimeoutSeconds: r.MaxTimeoutSeconds, X402Version: envelope.Version, Signed: signed,
		}
		if r.NetworkCAIP2 != "" {
			p.NetworkCAIP2 = &r.NetworkCAIP2
		}
		// a part of an extra would not be valid JSON
		if extra := r.StableExtra(); r.Extra != nil && len(extra) <= min(maxExtra, maxExtras-extras) {
			text := clean(string(extra), maxExtra)
			p.Extra = &text
			extras += len(extra)
		}
		prices = append(prices, p)
	}
	return prices
}

// clean makes a stranger's text fit for the database: valid UTF-8 without NUL, at most n characters.
func clean(s string, n int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// logVisit logs one line for each check.
func (c *Crawler) logVisit(ctx context.Context, s postgres.DueService, v checks.Visit) {
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
