package sample

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/load"
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
	first       time.Time      // seen asking
	paid        *time.Time     // last seen asking for what somebody could pay
	envelope    *x402.Envelope // that was last looked at
	fingerprint string         // of envelope
	current     []postgres.Price
	closed      []postgres.Price
	ways        ways
}

// ways are ways to pay at a time, as change records show them, with the recipients that they abbreviate.
type ways struct {
	entries    []site.SnapshotEntry
	recipients []site.Recipient
}

func (w ways) with(more ways) ways {
	return ways{slices.Concat(w.entries, more.entries), slices.Concat(w.recipients, more.recipients)}
}

// report is the state that the last record of a type led to.
type report struct {
	at    time.Time
	known ways
}

// folding is how much time lies between two records of a type: what changes meanwhile is folded into the next.
const folding = time.Hour

// kindsOfChange in the order of their records.
var kindsOfChange = []string{site.SchemaChanged, site.PriceChanged, site.PayToChanged}

func newTerms(s *service, created time.Time) *terms {
	t := &terms{s: s, created: created, original: map[string]bool{}, asked: map[string]*asked{},
		reports: map[string]*report{}}
	for _, e := range s.asOf(0).endpoints {
		t.original[e.key()] = true
	}
	for _, kind := range kindsOfChange {
		t.reports[kind] = &report{}
	}
	return t
}

// observe takes note of what an endpoint asked at a time, and whether it could be paid.
func (t *terms) observe(e endpoint, f finding, at time.Time) {
	if f.envelope == nil {
		return
	}
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
	if f.verdict == paid {
		a.paid = &at
	}
	if a.envelope == f.envelope {
		return // the very answer that was looked at before
	}
	a.envelope = f.envelope
	fingerprint := f.envelope.Fingerprint()
	if fingerprint == a.fingerprint {
		return
	}
	since := at
	if fresh {
		since = a.first
	}
	a.ask(e, fingerprint, since)
	if fresh && t.original[e.key()] { // the first look is no change
		for _, r := range t.reports {
			r.known = r.known.with(a.ways)
		}
		return
	}
	t.dirty = true
}

// ask replaces the whole set of prices by that of the envelope.
func (a *asked) ask(e endpoint, fingerprint string, since time.Time) {
	for _, p := range a.current {
		p.Until = &since
		a.closed = append(a.closed, p)
	}
	a.fingerprint, a.current, a.ways = fingerprint, nil, ways{}
	for i, r := range a.envelope.Accepts {
		if !r.Usable() {
			continue
		}
		p := priceOf(a.id, since, i, r, a.envelope.Version)
		a.current = append(a.current, p)
		a.ways.entries = append(a.ways.entries, site.SnapshotEntry{
			Asset: p.Asset, Extra: p.Extra, PayTo: site.Abbreviate(p.PayTo), Price: p.Amount, Scheme: p.Scheme,
			Network:  r.NetworkCAIP2,
			Endpoint: e.key(), MimeType: textOrNull(a.envelope.Resource.MimeType),
			Resource:  textOrNull(a.envelope.Resource.URL),
			AssetName: r.AssetName, X402Version: p.X402Version, MaxTimeoutSeconds: p.MaxTimeoutSeconds,
		})
		a.ways.recipients = append(a.ways.recipients,
			site.Recipient{Endpoint: e.key(), Network: p.Network, PayTo: p.PayTo})
	}
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func priceOf(id uuid.UUID, since time.Time, position int, r x402.Requirement, version int) postgres.Price {
	caip2 := r.NetworkCAIP2
	return postgres.Price{
		EndpointID: id, Since: since, Position: position, Scheme: r.Scheme, Network: r.Network, NetworkCAIP2: &caip2,
		Asset: r.Asset, PayTo: r.PayTo, Amount: r.Amount, MaxTimeoutSeconds: r.MaxTimeoutSeconds,
		Extra: textOrNull(string(r.StableExtra())), X402Version: version,
	}
}

// report writes the records that are due at a time.
func (t *terms) report(at time.Time) {
	if !t.dirty {
		return
	}
	t.dirty = false
	now := t.ways()
	for _, kind := range kindsOfChange {
		r := t.reports[kind]
		if at.Sub(r.at) < folding {
			t.dirty = true // looked at again by the next visit
			continue
		}
		if len(r.known.entries) == 0 { // nothing was asked before: that is no change either
			r.known = now
			continue
		}
		for _, set := range site.Compare(r.known.entries, now.entries, r.known.recipients, now.recipients) {
			if set.Type == kind {
				t.changes = append(t.changes, postgres.Change{
					Type: kind, ObservedAt: at, Summary: encode(set.Summary), OldSnapshot: encode(r.known.entries),
					NewSnapshot: encode(now.entries),
				})
				r.at = at
			}
		}
		r.known = now
	}
}

// ways is every way to pay the service now, by endpoint as first seen and position.
func (t *terms) ways() ways {
	var w ways
	for _, key := range t.order {
		w = w.with(t.asked[key].ways)
	}
	return w
}

func (t *terms) result() ([]postgres.Price, []load.EndpointHistory, []postgres.Change) {
	var prices []postgres.Price
	var endpoints []load.EndpointHistory
	for _, e := range t.s.endpoints {
		h := load.EndpointHistory{Method: e.declared, Path: e.path, FirstSeenAt: t.created}
		if a := t.asked[e.key()]; a != nil {
			h.FirstSeenAt, h.LastPaidAt, h.Fingerprint = a.first, a.paid, &a.fingerprint
			prices = append(append(prices, a.closed...), a.current...)
		}
		endpoints = append(endpoints, h)
	}
	sortPrices(prices)
	return prices, endpoints, t.changes
}

// sortPrices puts prices into their order: endpoint, since, position.
func sortPrices(list []postgres.Price) {
	slices.SortFunc(list, func(a, b postgres.Price) int {
		return cmp.Or(bytes.Compare(a.EndpointID[:], b.EndpointID[:]), a.Since.Compare(b.Since),
			cmp.Compare(a.Position, b.Position))
	})
}
