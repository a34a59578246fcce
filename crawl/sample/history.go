package sample

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/load"
)

const (
	day = 24 * time.Hour

	historyDays = 90 // UTC days of history, including the day of the start
	rawDays     = 7  // UTC days before that day whose checks are stored one by one

	cadence    = 15 * time.Minute // between visits in the past
	maxOfVisit = 25               // endpoints of one visit
)

// Histories returns the ninety days of each service before start, by slug: the findings of a visitor every quarter of
// an hour. Equal starts give equal histories. The checks have no service id yet.
func Histories(start time.Time) []load.History {
	list := make([]load.History, 0, len(cast()))
	for _, s := range cast() {
		list = append(list, s.history(start, rawDays))
	}
	return list
}

// past computes a service's history from its first visit to the start.
type past struct {
	s         *service
	start     time.Time
	today     time.Time // its UTC day
	raw       time.Time // from here on checks are stored one by one
	states    []*service
	incidents []incident
	seen      map[lookKey]finding
	terms     *terms
	evidence  *evidence

	visits int
	last   *string // status of the last conclusive visit
	up     bool
	fails  int        // consecutive offline visits
	since  *time.Time // the first of these visits

	counted []checks.Check // before raw: what Spans needs of them

	h load.History
}

// lookKey is the input of a finding, for services whose answers do not depend on the time.
type lookKey struct {
	behaviour string
	state     int
	endpoint  int
}

func newPast(s *service, start time.Time) *past {
	start = start.UTC().Truncate(time.Millisecond)
	p := &past{
		s: s, start: start, today: start.Truncate(day), incidents: s.incidents(start),
		seen: map[lookKey]finding{}, h: load.History{Slug: s.Slug},
	}
	for n := range len(s.Change) + 1 {
		p.states = append(p.states, s.asOf(n))
	}
	return p
}

// history computes the service's history. The checks of the last raw UTC days before the day of the start are stored
// one by one.
func (s *service) history(start time.Time, raw int) load.History {
	p := newPast(s, start)
	start = p.start
	p.raw = p.today.Add(-time.Duration(raw) * day)
	created := s.created(start)
	p.terms, p.evidence = newTerms(s, created), newEvidence(s)
	r := rand.New(rand.NewPCG(s.seed, 2))
	first := p.today.Add(-(historyDays - 1) * day)
	if created.After(first) {
		first = created
	}
	wait := func(around time.Duration) time.Duration {
		return time.Duration(float64(around) * (0.8 + 0.4*r.Float64())).Truncate(time.Millisecond)
	}
	for t := first.Add(wait(cadence / 4)); t.Before(start); t = t.Add(wait(site.Interval(cadence, p.since, t))) {
		if to, gap := p.gap(t); gap {
			t = to
			continue
		}
		p.visit(t)
	}
	p.addKnown()
	p.terms.addTo(&p.h)
	p.h.Responses, p.h.FailingSince = p.evidence.visits(), p.since
	return p.h
}

// addKnown adds to the days for how long the state of the service was known.
func (p *past) addKnown() {
	for _, span := range checks.Spans(p.counted, p.raw) {
		for at := span.From.Truncate(day); at.Before(span.To); at = at.Add(day) {
			p.day(at).AddSpan(span, day)
		}
	}
}

// day returns the sums of a UTC day, which may be new.
func (p *past) day(at time.Time) *checks.Rollup {
	i, found := slices.BinarySearchFunc(p.h.Days, at, func(d checks.Rollup, at time.Time) int {
		return d.Start.Compare(at)
	})
	if !found {
		p.h.Days = slices.Insert(p.h.Days, i, checks.Rollup{Start: at, Histogram: make([]int64, site.HistogramBuckets)})
	}
	return &p.h.Days[i]
}

// gap reports whether t is in a gap without visits, and returns the end of the gap.
func (p *past) gap(t time.Time) (to time.Time, ok bool) {
	for _, g := range p.s.Gaps {
		from, to := p.today.Add(-time.Duration(g[0])*day), p.today.Add(-time.Duration(g[1]-1)*day)
		if !t.Before(from) && t.Before(to) {
			return to, true
		}
	}
	return time.Time{}, false
}

// visit adds the check at t, and its payment terms.
func (p *past) visit(t time.Time) {
	behaviour, state := p.at(t)
	endpoints := p.states[state].endpoints
	n := min(len(endpoints), maxOfVisit)
	findings := make([]finding, n)
	for i := range n {
		j := (p.visits*maxOfVisit + i) % len(endpoints) // the least recently visited first
		f := p.look(behaviour, state, j, t)
		for _, x := range p.incidents {
			if !t.Before(x.from) && t.Before(x.to) {
				f = x.afflict(f, i, n)
				break
			}
		}
		p.terms.observe(endpoints[j], f, t)
		p.evidence.observe(endpoints[j], f, t)
		findings[i] = f
	}
	p.terms.report(t)
	p.visits++
	p.record(summarize(findings), t)
}

// at returns the behaviour at t, and the number of changes until then.
func (p *past) at(t time.Time) (behaviour string, state int) {
	behaviour = p.s.Behaviour
	if p.s.Before != "" && t.Before(daysBefore(p.start, p.s.Since)) {
		behaviour = p.s.Before
	}
	for state < len(p.s.Change) && !t.Before(p.s.changed(state, p.start)) {
		state++
	}
	return behaviour, state
}

// look is service.look with a cache, for findings in which only the response time depends on the time.
func (p *past) look(behaviour string, state, endpoint int, t time.Time) finding {
	s := p.states[state]
	at := t.Add(time.Duration(endpoint) * time.Second)
	if behaviours[behaviour].varies {
		return s.look(behaviour, s.endpoints[endpoint], at)
	}
	key := lookKey{behaviour, state, endpoint}
	f, ok := p.seen[key]
	if !ok {
		f = s.look(behaviour, s.endpoints[endpoint], at)
		if f.status != 0 {
			f.delay -= s.responseTime(at)
		}
		p.seen[key] = f
	}
	if f.status != 0 { // without an answer there is no response time
		f.delay += s.responseTime(at)
	}
	return f
}

// checkIDs returns the ids of the past's checks.
var checkIDs = uuid.NewSHA1(uuid.NameSpaceDNS, []byte(Domain))

// record stores a check by itself or in its day's sum.
func (p *past) record(c checks.Check, t time.Time) {
	switch {
	case !c.Counted:
		c.Status, c.IsUp = p.last, p.up
	case c.IsUp:
		p.last, p.up, p.fails, p.since = c.Status, true, 0, nil
	default:
		if p.fails == 0 {
			p.since = &t
		}
		p.last, p.up, p.fails = c.Status, false, p.fails+1
	}
	c.CheckedAt, c.ConsecutiveFailures = t, p.fails
	c.IntervalS = int(site.Interval(cadence, p.since, t) / time.Second)
	if !t.Before(p.raw) {
		c.ID = uuid.NewSHA1(checkIDs, []byte(p.s.Slug+" "+t.Format(site.TimeLayout)))
		p.h.Checks = append(p.h.Checks, c)
		return
	}
	if c.Counted {
		p.counted = append(p.counted, checks.Check{CheckedAt: t, Counted: true, IsUp: c.IsUp, IntervalS: c.IntervalS})
	}
	sum(p.day(t.Truncate(day)), c)
}

// sum adds a check to its day.
func sum(r *checks.Rollup, c checks.Check) {
	r.Checks++
	if !c.Counted {
		return
	}
	r.Counted++
	if c.IsUp {
		r.Up++
	}
	if c.ResponseTimeMS != nil {
		r.Timed++
		r.ResponseMS += int64(*c.ResponseTimeMS)
		r.Histogram[site.HistogramBucket(*c.ResponseTimeMS)]++
	}
}
