package sample

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"

	others "tollbook/crawl/offer"
	"tollbook/site"
	"tollbook/site/change"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/load"
	"tollbook/site/x402"
)

// terms records a service's payment terms over time: rows of prices, and records of their changes.
type terms struct {
	s          *service
	created    time.Time
	original   map[string]bool // keys of the endpoints that existed from the beginning
	order      []string        // keys of endpoints in the order they were first seen
	byEndpoint map[string]*endpointTerms
	dirty      bool // something changed since report ran
	reports    map[string]*report
	changes    []checks.Change
}

// endpointTerms are the terms of one endpoint.
type endpointTerms struct {
	id          uuid.UUID
	first       time.Time      // first time with terms
	paid        *time.Time     // last time with payable terms
	envelope    *x402.Envelope // the last envelope
	fingerprint string         // of envelope
	current     []checks.Price
	closed      []checks.Price
	ways        ways
	offers      []checks.OfferSet // over other protocols, oldest first
}

// ways are the ways to pay at a time, as in change records, with the full recipients.
type ways struct {
	entries    []site.SnapshotEntry
	recipients []change.Recipient
}

func (w ways) with(more ways) ways {
	return ways{slices.Concat(w.entries, more.entries), slices.Concat(w.recipients, more.recipients)}
}

// report is the state that the last record of a type ended with.
type report struct {
	at       time.Time
	reported ways
}

// folding is the time between two records of a type. Changes meanwhile are folded into the next record.
const folding = time.Hour

// kindsOfChange are the types of changes in the order of their records.
var kindsOfChange = []string{site.SchemaChanged, site.PriceChanged, site.PayToChanged}

func newTerms(s *service, created time.Time) *terms {
	t := &terms{s: s, created: created, original: map[string]bool{}, byEndpoint: map[string]*endpointTerms{},
		reports: map[string]*report{}}
	for _, e := range s.asOf(0).endpoints {
		t.original[e.key()] = true
	}
	for _, kind := range kindsOfChange {
		t.reports[kind] = &report{}
	}
	return t
}

// observe records the terms of an endpoint at a time, and whether they are payable.
func (t *terms) observe(e endpoint, f finding, at time.Time) {
	if f.envelope == nil {
		return
	}
	a := t.byEndpoint[e.key()]
	fresh := a == nil
	if fresh {
		a = &endpointTerms{id: postgres.EndpointID(t.s.Slug, e.declared, e.path), first: at}
		if t.original[e.key()] {
			a.first = t.created
		}
		t.byEndpoint[e.key()] = a
		t.order = append(t.order, e.key())
	}
	if f.verdict == paid {
		a.paid = &at
	}
	since := at
	if fresh {
		since = a.first
	}
	a.offer(f.offers, since)
	if f.envelope == noTerms && a.fingerprint == "" {
		return
	}
	if a.envelope == f.envelope {
		return // the same answer as before
	}
	a.envelope = f.envelope
	fingerprint := f.envelope.Fingerprint()
	if fingerprint == a.fingerprint {
		return
	}
	a.ask(e, fingerprint, since, f.offers)
	if fresh && t.original[e.key()] { // the first terms are no change
		for _, r := range t.reports {
			r.reported = r.reported.with(a.ways)
		}
		return
	}
	t.dirty = true
}

// offer replaces the offers over other protocols, if they differ.
func (a *endpointTerms) offer(offers []checks.Offer, since time.Time) {
	var current []checks.Offer
	last := len(a.offers) - 1
	if last >= 0 && a.offers[last].Until == nil {
		current = a.offers[last].Offers
	}
	if reflect.DeepEqual(current, offers) {
		return
	}
	if current != nil {
		a.offers[last].Until = &since
	}
	if len(offers) > 0 {
		a.offers = append(a.offers, checks.OfferSet{EndpointID: a.id, Since: since, Offers: offers})
	}
}

// ask replaces the prices by those of the envelope, and the ways to pay by both these and the offers over other
// protocols.
func (a *endpointTerms) ask(e endpoint, fingerprint string, since time.Time, offers []checks.Offer) {
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
		payTo := x402.SpellAddress(r.NetworkCAIP2, p.PayTo)
		a.ways.entries = append(a.ways.entries, site.SnapshotEntry{
			Asset: x402.SpellAddress(r.NetworkCAIP2, p.Asset), Extra: p.Extra, PayTo: site.Abbreviate(payTo),
			Price:  p.Amount,
			Scheme: p.Scheme, Network: r.NetworkCAIP2,
			Endpoint: e.key(), MimeType: site.TextOrNull(a.envelope.Resource.MimeType),
			Resource:  site.TextOrNull(a.envelope.Resource.URL),
			AssetName: r.AssetName, X402Version: p.X402Version, MaxTimeoutSeconds: p.MaxTimeoutSeconds,
		})
		a.ways.recipients = append(a.ways.recipients,
			change.Recipient{Endpoint: e.key(), Network: r.NetworkCAIP2, PayTo: payTo})
	}
	entries, recipients := others.Entries(offers, others.Label{Endpoint: e.key()})
	a.ways = a.ways.with(ways{entries, recipients})
}

func priceOf(id uuid.UUID, since time.Time, position int, r x402.Requirement, version int) checks.Price {
	caip2 := r.NetworkCAIP2
	return checks.Price{
		EndpointID: id, Since: since, Position: position, Scheme: r.Scheme, Network: r.Network, NetworkCAIP2: &caip2,
		Asset: r.Asset, PayTo: r.PayTo, Amount: r.Amount, MaxTimeoutSeconds: r.MaxTimeoutSeconds,
		Extra: site.TextOrNull(string(r.StableExtra())), X402Version: version,
	}
}

// report adds the records that are due at a time.
func (t *terms) report(at time.Time) {
	if !t.dirty {
		return
	}
	t.dirty = false
	now := t.ways()
	for _, kind := range kindsOfChange {
		r := t.reports[kind]
		if at.Sub(r.at) < folding {
			t.dirty = true // the next visit checks again
			continue
		}
		if len(r.reported.entries) == 0 { // without terms before there is no change
			r.reported = now
			continue
		}
		for _, set := range change.Compare(r.reported.entries, now.entries, r.reported.recipients, now.recipients) {
			if set.Type == kind {
				t.changes = append(t.changes, checks.Change{
					Type: kind, ObservedAt: at, Summary: encode(set.Summary), OldSnapshot: encode(r.reported.entries),
					NewSnapshot: encode(now.entries),
				})
				r.at = at
			}
		}
		r.reported = now
	}
}

// ways returns every way to pay the service, ordered by the endpoint's first appearance and position.
func (t *terms) ways() ways {
	var w ways
	for _, key := range t.order {
		w = w.with(t.byEndpoint[key].ways)
	}
	return w
}

// addTo adds the terms to a history.
func (t *terms) addTo(to *load.History) {
	for _, e := range t.s.endpoints {
		h := load.EndpointHistory{Method: e.declared, Path: e.path, FirstSeenAt: t.created}
		if a := t.byEndpoint[e.key()]; a != nil {
			h.FirstSeenAt, h.LastPaidAt = a.first, a.paid
			if a.fingerprint != "" {
				h.Fingerprint = &a.fingerprint
			}
			to.Prices, to.Offers = append(append(to.Prices, a.closed...), a.current...), append(to.Offers, a.offers...)
		}
		to.Endpoints = append(to.Endpoints, h)
	}
	sortPrices(to.Prices)
	to.Changes = t.changes
}

// sortPrices sorts prices by endpoint, since and position.
func sortPrices(list []checks.Price) {
	slices.SortFunc(list, func(a, b checks.Price) int {
		return cmp.Or(bytes.Compare(a.EndpointID[:], b.EndpointID[:]), a.Since.Compare(b.Since),
			cmp.Compare(a.Position, b.Position))
	})
}
