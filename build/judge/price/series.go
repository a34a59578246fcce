package price

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/rail"
)

// History is the history of the prices of the endpoints that are active now. Charts, series and stability come from it.
type History struct {
	today   time.Time
	spans   []span
	changes []dayChanges // oldest first
	first   time.Time    // first UTC day with a price, in dollars or not; zero without
	x402    []interval   // in which endpoints had prices over x402
}

// interval is a time without an end if until is zero.
type interval struct{ since, until time.Time }

// span is a time in which an endpoint asked counted prices in dollars.
type span struct {
	since, until    time.Time // until is zero for current prices
	lowest, highest site.Decimal
	of              *checks.PriceSpan
}

// dayChanges is the number of times that endpoints changed amounts on a UTC day.
type dayChanges struct {
	day   time.Time
	count int
}

// NewHistory returns the history of a service's prices: those over x402, and at times without any those over other
// protocols.
func NewHistory(f *postgres.ServiceFacts, now time.Time) *History {
	active := make(map[uuid.UUID]bool, len(f.Endpoints))
	for i := range f.Endpoints {
		if e := &f.Endpoints[i]; e.IsActive(now) {
			active[e.ID] = true
		}
	}
	h := &History{today: dayOf(now)}
	for i := range f.PriceSpans {
		if p := &f.PriceSpans[i]; active[p.EndpointID] {
			h.addSpan(p)
		}
	}
	for _, d := range f.PriceDays {
		if active[d.EndpointID] {
			h.addChanges(d)
		}
	}
	h.addOffers(f, active)
	return h
}

// addSpan adds the counted amounts of a span.
func (h *History) addSpan(p *checks.PriceSpan) {
	at := intervalOf(p)
	h.x402 = append(h.x402, at)
	h.addCounted(p, at)
}

// intervalOf returns the time of a span.
func intervalOf(p *checks.PriceSpan) interval {
	at := interval{since: p.Since}
	if p.Until != nil {
		at.until = *p.Until
	}
	return at
}

// addCounted adds the counted amounts of a span at a part of its time.
func (h *History) addCounted(p *checks.PriceSpan, at interval) {
	if day := dayOf(at.since); h.first.IsZero() || day.Before(h.first) {
		h.first = day
	}
	var counted []site.Decimal
	for _, amount := range p.Amounts { // ascending
		if v := amountValue(p, amount); v.counted != nil {
			counted = append(counted, *v.counted)
		}
	}
	if len(counted) == 0 {
		return
	}
	h.spans = append(h.spans, span{since: at.since, until: at.until, lowest: counted[0],
		highest: counted[len(counted)-1], of: p})
}

// amountValue returns the value of an amount of a span.
func amountValue(p *checks.PriceSpan, amount string) value {
	if p.Protocol == "" {
		r := Requirement(&checks.Price{
			NetworkCAIP2: p.NetworkCAIP2, Asset: p.Asset, Extra: p.Extra, Amount: amount,
		})
		return valueOf(&r)
	}
	t := rail.Terms{Protocol: p.Protocol, Asset: p.Asset, Amount: amount}
	if p.NetworkCAIP2 != nil {
		t.NetworkCAIP2 = *p.NetworkCAIP2
	}
	v := t.Value()
	if v.PriceUSD == "" {
		return newValue(nil, v.Testnet)
	}
	return newValue(&v.PriceUSD, v.Testnet)
}

// addOffers adds prices over other protocols at times when no endpoint had a price over x402, and their changes on days
// without such a time.
func (h *History) addOffers(f *postgres.ServiceFacts, active map[uuid.UUID]bool) {
	for i := range f.OfferSpans {
		p := &f.OfferSpans[i]
		if !active[p.EndpointID] {
			continue
		}
		for _, part := range subtractIntervals(intervalOf(p), h.x402) {
			h.addCounted(p, part)
		}
	}
	for _, d := range f.OfferDays {
		day := interval{d.Day, d.Day.AddDate(0, 0, 1)}
		if active[d.EndpointID] && !slices.ContainsFunc(h.x402, day.overlaps) {
			h.addChanges(d)
		}
	}
}

// overlaps reports whether two intervals have a moment in common.
func (a interval) overlaps(b interval) bool {
	return (b.until.IsZero() || a.since.Before(b.until)) && (a.until.IsZero() || b.since.Before(a.until))
}

// subtractIntervals returns the parts of an interval that are in none of the others, oldest first.
func subtractIntervals(all interval, others []interval) (parts []interval) {
	others = slices.SortedFunc(slices.Values(others), func(a, b interval) int { return a.since.Compare(b.since) })
	for _, o := range others {
		if !all.overlaps(o) {
			continue
		}
		if all.since.Before(o.since) {
			parts = append(parts, interval{all.since, o.since})
		}
		if o.until.IsZero() {
			return parts
		}
		all.since = o.until
		if !all.until.IsZero() && !all.since.Before(all.until) {
			return parts
		}
	}
	return append(parts, all)
}

func (h *History) addChanges(d checks.PriceDay) {
	i, ok := slices.BinarySearchFunc(h.changes, d.Day, dayChanges.compare)
	if !ok {
		h.changes = slices.Insert(h.changes, i, dayChanges{day: d.Day})
	}
	h.changes[i].count += d.Moved
}

func (d dayChanges) compare(day time.Time) int { return d.day.Compare(day) }

// Points returns the series of prices, oldest first. The first point is of the first UTC day with a price, in dollars
// or not. A later day has a point if an amount changed on it, or if its lowest or highest price, at any time of the
// day, is not that of the day before.
func (h *History) Points() []site.PricePoint {
	days := h.boundaries()
	all := make([]site.PricePoint, len(days))
	for i, day := range days {
		all[i].Date = day.Format(time.DateOnly)
	}
	for i := range h.spans {
		s := &h.spans[i]
		first, _ := slices.BinarySearchFunc(days, dayOf(s.since), time.Time.Compare)
		for at := first; at < len(days) && (s.until.IsZero() || days[at].Before(s.until)); at++ {
			p := &all[at]
			if p.MinPriceUSD == nil || s.lowest.Compare(*p.MinPriceUSD) < 0 {
				s.describe(p, days[at])
			}
			if p.MaxPriceUSD == nil || s.highest.Compare(*p.MaxPriceUSD) > 0 {
				p.MaxPriceUSD = &s.highest
			}
		}
	}
	for _, c := range h.changes {
		at, _ := slices.BinarySearchFunc(days, c.day, time.Time.Compare)
		all[at].Changes = c.count
	}
	points := make([]site.PricePoint, 0, len(all))
	var before site.PricePoint
	for i, p := range all {
		if i == 0 || p.Changes > 0 || !isEqual(p.MinPriceUSD, before.MinPriceUSD) ||
			!isEqual(p.MaxPriceUSD, before.MaxPriceUSD) {
			points = append(points, p)
		}
		before = p
	}
	h.addObservations(points)
	return points
}

// boundaries returns the days up to today that may differ from the day before, oldest first.
func (h *History) boundaries() []time.Time {
	if h.first.IsZero() {
		return nil
	}
	days := []time.Time{h.first}
	for i := range h.spans {
		s := &h.spans[i]
		days = append(days, dayOf(s.since))
		if s.until.IsZero() {
			continue
		}
		after := dayOf(s.until)
		if after.Before(s.until) {
			after = after.AddDate(0, 0, 1)
		}
		if !after.After(h.today) {
			days = append(days, after)
		}
	}
	for _, c := range h.changes {
		days = append(days, c.day)
	}
	slices.SortFunc(days, time.Time.Compare)
	return slices.CompactFunc(days, time.Time.Equal)
}

// StabilityDays is the number of UTC days that price stability covers.
const StabilityDays = 30

// Stability returns the share of the StabilityDays UTC days that end with a day on which no amount changed. It returns
// nil before the first price.
func (h *History) Stability(day time.Time) *float64 {
	if h.first.IsZero() || day.Before(h.first) {
		return nil
	}
	from, _ := slices.BinarySearchFunc(h.changes, day.AddDate(0, 0, 1-StabilityDays), dayChanges.compare)
	to, ok := slices.BinarySearchFunc(h.changes, day, dayChanges.compare)
	if ok {
		to++
	}
	s := site.Round2(float64(StabilityDays-(to-from)) / StabilityDays)
	return &s
}

// dayOf returns the UTC day of a time.
func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// isEqual reports whether two prices are equal or both nil.
func isEqual(a, b *site.Decimal) bool { return a == b || a != nil && b != nil && *a == *b }
