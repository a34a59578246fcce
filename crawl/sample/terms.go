package sample

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// terms follow what a service asked to be paid: rows of prices, and the records of their changes.
type terms struct {
	s        *service
	created  time.Time
	original map[string]bool // keys of the endpoints that were there from the beginning
	order    []string        // keys of endpoints in the order they were first seen
	asked    map[string]*asked
	dirty    bool // something changed that report has not looked at
	reports  map[string]*report
	changes  []postgres.Change
}

// asked is what one endpoint asks.
type asked struct {
	id          uuid.UUID
	first, last time.Time // seen paid
	envelope    *x402.Envelope
	fingerprint string // of envelope
	current     []postgres.Price
	closed      []postgres.Price
	entries     []entry
}

// report is the state that the last record of a type led to.
type report struct {
	at    time.Time
	known []entry
}

// folding is how much time lies between two records of a type: what changes meanwhile is folded into the next.
const folding = time.Hour

func newTerms(s *service, created time.Time) *terms {
	t := &terms{s: s, created: created, original: map[string]bool{}, asked: map[string]*asked{}, reports: map[string]*report{}}
	for _, e := range s.asOf(0).endpoints {
		t.original[e.key()] = true
	}
	for _, kind := range []string{site.SchemaChanged, site.PriceChanged, site.PayToChanged} {
		t.reports[kind] = &report{}
	}
	return t
}

// observe takes note of what an endpoint asked at a time.
func (t *terms) observe(e endpoint, env *x402.Envelope, at time.Time) {
	a := t.asked[e.key()]
	fresh := a == nil
	if fresh {
		a = &asked{id: postgres.EndpointID(t.s.Slug, e.declared, e.path), first: at}
		if t.original[e.key()] {
			a.first = t.created
		}
		t.asked[e.key()] = a
		t.order = append(t.order, e.key())
	}
	a.last = at
	if a.envelope == env {
		return // the very answer that was looked at before
	}
	a.envelope = env
	fingerprint := env.Fingerprint()
	if fingerprint == a.fingerprint {
		return
	}
	since := at
	if a.fingerprint == "" {
		since = a.first
	}
	for _, p := range a.current {
		p.Until = &since
		a.closed = append(a.closed, p)
	}
	a.fingerprint, a.current, a.entries = fingerprint, nil, nil
	for i, r := range env.Accepts {
		if r.Usable() {
			a.current = append(a.current, priceOf(a.id, since, i, r, env.Version))
			a.entries = append(a.entries, entryOf(e, r, env))
		}
	}
	if fresh && t.original[e.key()] { // the first look is no change
		for _, r := range t.reports {
			r.known = append(slices.Clip(r.known), a.entries...)
		}
		return
	}
	t.dirty = true
}

func priceOf(id uuid.UUID, since time.Time, position int, r x402.Requirement, version int) postgres.Price {
	caip2 := r.NetworkCAIP2
	return postgres.Price{
		EndpointID: id, Since: since, Position: position, Scheme: r.Scheme, Network: r.Network, NetworkCAIP2: &caip2,
		Asset: r.Asset, PayTo: r.PayTo, Amount: r.Amount, MaxTimeoutSeconds: r.MaxTimeoutSeconds, Extra: textOrNull(string(r.Extra)), X402Version: version,
	}
}

// report writes the records that are due at a time.
func (t *terms) report(at time.Time) {
	if !t.dirty {
		return
	}
	t.dirty = false
	now := t.snapshot()
	for _, kind := range []string{site.SchemaChanged, site.PriceChanged, site.PayToChanged} {
		r := t.reports[kind]
		switch {
		case at.Sub(r.at) < folding:
			t.dirty = true // looked at again by the next visit
		default:
			if c, ok := changeOf(kind, r.known, now); ok {
				c.ObservedAt = at
				t.changes = append(t.changes, c)
				r.at = at
			}
			r.known = now
		}
	}
}

// snapshot is every way to pay the service now, by endpoint as first seen and position.
func (t *terms) snapshot() []entry {
	list := []entry{}
	for _, key := range t.order {
		list = append(list, t.asked[key].entries...)
	}
	return list
}

func (t *terms) result() ([]postgres.Price, []postgres.EndpointHistory, []postgres.Change) {
	var prices []postgres.Price
	var endpoints []postgres.EndpointHistory
	for _, e := range t.s.endpoints {
		h := postgres.EndpointHistory{Method: e.declared, Path: e.path, FirstSeenAt: t.created}
		if a := t.asked[e.key()]; a != nil {
			h.FirstSeenAt, h.LastPaidAt, h.Fingerprint = a.first, &a.last, &a.fingerprint
			prices = append(append(prices, a.closed...), a.current...)
		}
		endpoints = append(endpoints, h)
	}
	sortPrices(prices)
	return prices, endpoints, t.changes
}
