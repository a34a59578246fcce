package crawl

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// Several places may visit the services of a directory, one at a time. What one place finds counts if more than half of
// the places say so: a service that one place cannot reach, or that asks it for other terms, is asked of the others
// first.

// askLimit is how long a service is visited by those places alone that are asked of it.
const askLimit = 5 * time.Minute

// ballot counts what places found of a service since they were asked.
type ballot struct{ up, down, waiting int }

// decide returns whether the service is up, and whether that is decided. It is offline if more than half of the places
// say so.
func (b ballot) decide() (isUp, isDecided bool) {
	all := b.up + b.down + b.waiting
	switch {
	case 2*b.down > all:
		return false, true
	case 2*b.up >= all:
		return true, true
	}
	return false, false
}

// places is what the place of a visit needs to know of the others.
type places struct {
	own    string
	active []string // of all places that visit services now, sorted
	checks.PlaceFacts
	current map[uuid.UUID]string // fingerprints of the terms of the service's endpoints
}

// others returns the active places without the own one.
func (p *places) others() []string {
	return slices.DeleteFunc(slices.Clone(p.active), func(name string) bool { return name == p.own })
}

// vote returns whether what the visit found counts, and the question that is open after it; an answered one asks nobody.
// found is nil for an inconclusive visit. wasUp is the state before. asks says that the visit's terms are to be
// confirmed. It returns no question if none is open before or after the visit.
func (p *places) vote(found *bool, wasUp, asks bool, now time.Time) (counts bool, question *checks.Question) {
	var q checks.Question
	switch others := p.others(); {
	case p.Question != nil:
		q = *p.Question
		q.Of = slices.DeleteFunc(slices.Clone(q.Of), func(name string) bool {
			return name == p.own || !slices.Contains(others, name) || !now.Before(q.Until)
		})
	case len(others) > 0 && (asks || found != nil && *found != wasUp):
		q = checks.Question{At: now, Until: now.Add(askLimit), Of: others}
	default:
		return true, nil
	}
	b := ballot{waiting: len(q.Of)}
	add := func(isUp bool) {
		if isUp {
			b.up++
		} else {
			b.down++
		}
	}
	for _, f := range p.Findings {
		isNew := !f.CheckedAt.Before(q.At.Add(-askLimit)) // clocks of places may differ
		if isNew && f.Vantage != p.own && slices.Contains(p.active, f.Vantage) && !slices.Contains(q.Of, f.Vantage) {
			add(f.IsUp)
		}
	}
	if found == nil {
		return false, &q
	}
	add(*found)
	isUp, isDecided := b.decide()
	if !isDecided {
		isUp = wasUp
	}
	return *found == isUp, &q
}

// weigh reports whether a visit is held back: other places do not find what it found. Such a visit does not count and
// repeats the state before, and what its endpoints answered is not stored.
func (p *places) weigh(v *checks.Visit, before postgres.Service, answers []answer) (isHeld bool) {
	if p == nil {
		return false
	}
	asks := p.weighTerms(v, answers)
	var found *bool
	if v.Check.Counted {
		found = &v.Check.IsUp
		v.Finding = &checks.PlaceFinding{ServiceID: v.Check.ServiceID, Vantage: p.own, CheckedAt: v.Check.CheckedAt,
			IsUp: v.Check.IsUp, Reason: v.Check.ErrorMessage}
	}
	wasUp := before.LastStatus == nil || *before.LastStatus != site.StatusOffline
	counts, question := p.vote(found, wasUp, asks, v.Check.CheckedAt)
	v.Question = question
	if counts || found == nil {
		return false
	}
	reason := site.OtherPlaces
	v.Check.Counted, v.Check.UncountedReason = false, &reason
	v.Check.Status, v.Check.IsUp = before.LastStatus, before.LastStatus != nil && wasUp
	v.Check.ConsecutiveFailures = before.ConsecutiveFailures
	v.Endpoints, v.LastSuccessAt = nil, nil
	return true
}

// weighTerms sets the terms that the place of a visit was asked. It takes terms out of the visit that other places are
// not asked, and reports whether other places are to be asked of them.
func (p *places) weighTerms(v *checks.Visit, answers []answer) (asks bool) {
	for i, a := range answers {
		e := &v.Endpoints[i]
		t, ok := p.newTerms(e, a)
		if !ok {
			continue
		}
		v.Terms = append(v.Terms, t)
		isHeld, isNew := p.holds(t)
		if !isHeld || isKindChanged(a) {
			continue
		}
		asks = asks || isNew
		e.Fingerprint, e.Envelope, e.Description, e.MimeType = nil, nil, nil, nil
		e.PricesChanged, e.Prices, e.AsksPayment, e.Offers, e.OffersChanged = false, nil, false, nil, false
	}
	return asks
}

// holds reports whether terms stay those of the place alone: other places were last asked the current terms, and not
// more than half of all were asked these. isNew says that the place was asked the current terms before.
func (p *places) holds(t checks.PlaceTerms) (isHeld, isNew bool) {
	current, ok := p.current[t.EndpointID]
	if !ok || t.Fingerprint == current {
		return false, false
	}
	all, same, confirmed := 1, 1, 0
	for _, o := range p.Terms {
		switch {
		case o.EndpointID != t.EndpointID:
			continue
		case o.Vantage == p.own:
			isNew = o.Fingerprint == current
			continue
		case !slices.Contains(p.active, o.Vantage):
			continue
		}
		all++
		if o.Fingerprint == t.Fingerprint {
			same++
		}
		if o.Fingerprint == current {
			confirmed++
		}
	}
	return confirmed > 0 && 2*same <= all, isNew
}

// maxPlaceTerms bounds the stored terms of an endpoint for a place. The fingerprint is of all.
const maxPlaceTerms = 8

// newTerms returns the terms that an answer asks for. It returns false without usable terms.
func (p *places) newTerms(e *checks.EndpointVisit, a answer) (checks.PlaceTerms, bool) {
	var list []checks.Offer
	if envelope := a.result.Captured.Envelope; envelope != nil && e.Envelope != nil {
		list = termsOf(newPrices(e.ID, e.ProbedAt, envelope, e.Signed), nil)
	}
	list = append(list, termsOf(nil, e.Offers)...)
	t := checks.PlaceTerms{EndpointID: e.ID, Vantage: p.own, Fingerprint: termsFingerprint(list, e.Signed),
		Signed: e.Signed, FirstAt: e.ProbedAt, LastAt: e.ProbedAt, Times: 1, Terms: list[:min(len(list), maxPlaceTerms)]}
	return t, len(list) > 0
}

// termsOf returns what a payer signs of prices and offers: who is paid what.
func termsOf(prices []checks.Price, offers []checks.Offer) (list []checks.Offer) {
	for _, p := range prices {
		o := checks.Offer{Protocol: "x402", Scheme: p.Scheme, Network: p.Network, Asset: p.Asset, Amount: p.Amount,
			PayTo: p.PayTo}
		if p.NetworkCAIP2 != nil {
			o.NetworkCAIP2 = *p.NetworkCAIP2
		}
		list = append(list, o)
	}
	for _, o := range offers {
		o.MaxTimeoutSeconds = nil // of an invoice, which is new each time
		list = append(list, o)
	}
	return list
}

// termsFingerprint returns a hash of terms and of the kind of request that was asked them. A service may ask other
// terms of a crawler that it knows.
func termsFingerprint(list []checks.Offer, signed bool) string {
	lines := []string{strconv.FormatBool(signed)}
	for _, o := range list {
		text, err := json.Marshal(o)
		if err != nil {
			panic(err) // strings and booleans
		}
		lines = append(lines, string(text))
	}
	slices.Sort(lines) // another order is no other terms
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:16])
}

// placeCache is when this crawl last said that its place visits services, and which places do.
type placeCache struct {
	mu     sync.Mutex
	at     time.Time
	active []string
}

// placesEvery is how long a list of places is used.
const placesEvery = 30 * time.Second

// activePlaces returns the places that visit services now, this one included.
func (c *Crawler) activePlaces(ctx context.Context) ([]string, error) {
	now := c.o.Now()
	c.places.mu.Lock()
	defer c.places.mu.Unlock()
	if age := now.Sub(c.places.at); !c.places.at.IsZero() && age >= 0 && age < placesEvery {
		return c.places.active, nil
	}
	active, err := c.db.SeePlace(ctx, c.o.Vantage, now, now.Add(-site.PlaceActive))
	if err != nil {
		return nil, err
	}
	c.places.at, c.places.active = now, active
	return active, nil
}

// findPlaces reads what other places found of a service. It returns nil if no other place visits services, and if that
// can't be read: then the visit counts as if it were the only place's.
func (c *Crawler) findPlaces(ctx context.Context, s postgres.DueService) *places {
	active, err := c.activePlaces(ctx)
	if err == nil && len(active) < 2 {
		return nil
	}
	p := &places{own: c.o.Vantage, active: active, current: map[uuid.UUID]string{}}
	var current []checks.Price
	if err == nil {
		p.PlaceFacts, err = c.db.Places(ctx, s.ID)
	}
	if err == nil {
		current, err = c.db.CurrentPrices(ctx, s.ID)
	}
	if err != nil {
		if ctx.Err() == nil {
			c.o.Logger.WarnContext(ctx, "read what other places found; the visit counts without them", "service", s.Slug,
				"error", err)
		}
		return nil
	}
	for _, e := range s.Endpoints {
		var list []checks.Offer
		for _, price := range current {
			if price.EndpointID == e.ID {
				list = append(list, termsOf([]checks.Price{price}, nil)...)
			}
		}
		if list = append(list, termsOf(nil, e.Offers)...); len(list) > 0 {
			p.current[e.ID] = termsFingerprint(list, e.Signed)
		}
	}
	return p
}
