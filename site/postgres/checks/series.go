package checks

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"tollbook/site/postgres/rows"
)

// PriceSpan is the range of amounts that an endpoint asked for in an asset over some time. A price that lasted over a
// midnight is one row of prices. Prices that started and ended on one UTC day are one span for that day.
type PriceSpan struct {
	EndpointID   uuid.UUID
	NetworkCAIP2 *string
	Asset        string
	Since        time.Time
	Until        *time.Time // nil for a current price
	Lowest       string     // atomic units
	Highest      string
}

// PriceDay is a UTC day on which a service asked for amounts that it did not ask for just before.
type PriceDay struct {
	Day   time.Time
	Moved int // how often an endpoint changed amounts; its first prices are no change
}

// priceRow is a row of prices with the columns that series need.
type priceRow struct {
	endpoint                       uuid.UUID
	since                          time.Time
	until                          *time.Time
	scheme, network, asset, amount string
	caip2                          *string
}

// readSeries computes the series of prices of all time. Prices of the last 90 days are in the index; it reads the older
// ones. It groups rows here, because Postgres takes three times as long.
func (r *LogReader) readSeries(ctx context.Context, now time.Time, at *Index) error {
	var ids [][16]byte
	for _, id := range at.ids {
		for _, e := range at.endpoints[id] {
			ids = append(ids, e.ID)
		}
	}
	var p priceRow
	texts, old := rows.Intern{}, map[uuid.UUID][]priceRow{}
	err := r.each(ctx, `
		SELECT endpoint_id, since, until, scheme, network, asset, amount::text, network_caip2 FROM prices
		WHERE endpoint_id = ANY($1) AND until < $2 ORDER BY endpoint_id, since, position`,
		[]any{(*[16]byte)(&p.endpoint), &p.since, &p.until, &p.scheme, &p.network, &p.asset, &p.amount, &p.caip2},
		func() {
			p.scheme, p.network, p.asset = texts.String(p.scheme), texts.String(p.network), texts.String(p.asset)
			old[p.endpoint] = append(old[p.endpoint], p)
		}, ids, oldestPrice(now))
	if err != nil {
		return fmt.Errorf("read series of prices: %w", err)
	}
	var rows []priceRow
	for _, id := range at.ids {
		rows = rows[:0]
		for _, e := range at.endpoints[id] {
			rows = append(rows, rowsOfEndpoint(e, old[e.ID])...)
		}
		if len(rows) > 0 {
			s := at.services[id]
			s.PriceSpans, s.PriceDays = priceSpans(rows), priceDays(rows)
		}
	}
	return nil
}

// rowsOfEndpoint adds an endpoint's recent prices to its older rows, sorted by since.
func rowsOfEndpoint(e EndpointPrices, rows []priceRow) []priceRow {
	older := len(rows)
	for _, p := range e.Prices {
		rows = append(rows, priceRow{p.EndpointID, p.Since, p.Until, p.Scheme, p.Network, p.Asset, p.Amount,
			p.NetworkCAIP2})
	}
	if older > 0 {
		slices.SortStableFunc(rows, func(a, b priceRow) int { return a.since.Compare(b.since) })
	}
	return rows
}

// priceSpans returns the spans of a service's rows, which are sorted by endpoint and since.
func priceSpans(rows []priceRow) []PriceSpan {
	type key struct {
		endpoint     uuid.UUID
		caip2, asset string
		since        time.Time // the UTC day of prices that started and ended on it
		within       bool
	}
	type span struct {
		PriceSpan
		last time.Time // greatest Until of its rows; zero without
	}
	at := make(map[key]int, len(rows))
	spans := make([]span, 0, len(rows))
	for _, p := range rows {
		k := key{endpoint: p.endpoint, asset: p.asset, since: p.since}
		if p.caip2 != nil {
			k.caip2 = *p.caip2
		}
		if day := dayOf(p.since); p.until != nil && day.Equal(dayOf(*p.until)) {
			k.since, k.within = day, true
		}
		i, ok := at[k]
		if !ok {
			at[k] = len(spans)
			s := span{PriceSpan: PriceSpan{p.endpoint, p.caip2, p.asset, p.since, p.until, p.amount, p.amount}}
			if p.until != nil {
				s.last = *p.until
			}
			spans = append(spans, s)
			continue
		}
		s := &spans[i] // p.since is not before its Since
		if p.until != nil && p.until.After(s.last) {
			s.last = *p.until
		}
		if s.Until == nil || p.until == nil {
			s.Until = nil
		} else if p.until.After(*s.Until) {
			s.Until = p.until
		}
		s.Lowest, s.Highest = lesser(s.Lowest, p.amount), greater(s.Highest, p.amount)
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(bytes.Compare(a.EndpointID[:], b.EndpointID[:]), a.Since.Compare(b.Since),
			untilLast(a.last, b.last),
			nullsLast(a.NetworkCAIP2, b.NetworkCAIP2), cmp.Compare(a.Asset, b.Asset))
	})
	out := make([]PriceSpan, len(spans))
	for i := range spans {
		out[i] = spans[i].PriceSpan
	}
	return out
}

// priceDays returns the days of a service's rows, which are sorted by endpoint and since. It also sorts each set.
func priceDays(rows []priceRow) []PriceDay {
	days := []PriceDay{}
	var before []priceRow // the endpoint's previous set
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].endpoint == rows[0].endpoint && rows[n].since.Equal(rows[0].since) {
			n++
		}
		set := rows[:n:n]
		rows = rows[n:]
		slices.SortFunc(set, func(a, b priceRow) int {
			return cmp.Or(compareWays(a, b), cmp.Compare(a.amount, b.amount))
		})
		if len(before) > 0 && before[0].endpoint != set[0].endpoint {
			before = nil
		}
		if differs, moved := compareSets(before, set); differs {
			day := dayOf(set[0].since)
			i, ok := slices.BinarySearchFunc(days, day, func(d PriceDay, t time.Time) int {
				return d.Day.Compare(t)
			})
			if !ok {
				days = slices.Insert(days, i, PriceDay{Day: day})
			}
			if moved {
				days[i].Moved++
			}
		}
		before = set
	}
	return days
}

// compareSets reports whether a set contains anything that the one before did not, and whether it asks for other
// amounts for the same scheme, network and asset. Both are sorted by these and by amount.
func compareSets(before, set []priceRow) (differs, moved bool) {
	for len(set) > 0 {
		now := samePrefix(set, set[0])
		i := slices.IndexFunc(before, func(p priceRow) bool { return compareWays(p, set[0]) == 0 })
		if i < 0 {
			differs = true
		} else if !slices.EqualFunc(samePrefix(before[i:], set[0]), now, func(a, b priceRow) bool {
			return a.amount == b.amount
		}) {
			return true, true
		}
		set = set[len(now):]
	}
	return differs, false
}

// samePrefix returns the first rows that have the scheme, network and asset of p.
func samePrefix(rows []priceRow, p priceRow) []priceRow {
	n := 0
	for n < len(rows) && compareWays(rows[n], p) == 0 {
		n++
	}
	return rows[:n]
}

func compareWays(a, b priceRow) int {
	return cmp.Or(cmp.Compare(a.scheme, b.scheme), cmp.Compare(a.network, b.network), cmp.Compare(a.asset, b.asset))
}

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// compareAmounts compares decimal integers without leading zeros.
func compareAmounts(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

func lesser(a, b string) string {
	if compareAmounts(b, a) < 0 {
		return b
	}
	return a
}

func greater(a, b string) string {
	if compareAmounts(b, a) > 0 {
		return b
	}
	return a
}

// untilLast compares times; the zero time is last.
func untilLast(a, b time.Time) int {
	if a.IsZero() != b.IsZero() {
		return -a.Compare(b)
	}
	return a.Compare(b)
}

func nullsLast(a, b *string) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return cmp.Compare(*a, *b)
}
