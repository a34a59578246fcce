package checks

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/change"
	"tollbook/site/postgres/rows"
)

// PriceSpan is the set of amounts that an endpoint asked for in an asset over some time. A price that lasted over a
// midnight is one row of prices. Prices that started and ended on one UTC day are one span for that day.
type PriceSpan struct {
	EndpointID   uuid.UUID
	NetworkCAIP2 *string
	Asset        string
	Protocol     string  // "" for x402
	Extra        *string // only where it names the issuer of the asset
	Since        time.Time
	Until        *time.Time // nil for a current price
	Amounts      []string   // as Price.Amount, ascending, each once
}

// PriceDay is a UTC day on which an endpoint changed the amounts of a scheme, network and asset. Its first prices and
// new ways to pay are no change, nor is what it asks of signed requests after what it asked of others.
type PriceDay struct {
	EndpointID uuid.UUID
	Day        time.Time
	Moved      int // number of changes
}

// priceRow is a row of prices with the columns that series need.
type priceRow struct {
	endpoint              uuid.UUID
	since                 time.Time
	until                 *time.Time
	scheme, asset, amount string
	protocol              string  // "" for x402
	caip2, extra          *string // extra as in PriceSpan
	signed                bool
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
		SELECT endpoint_id, since, until, scheme, asset, amount::text, network_caip2,
			CASE WHEN network_caip2 LIKE 'xrpl:%' THEN extra END, signed
		FROM prices
		WHERE endpoint_id = ANY($1) AND until < $2 ORDER BY endpoint_id, since, position`,
		[]any{(*[16]byte)(&p.endpoint), &p.since, &p.until, &p.scheme, &p.asset, &p.amount, &p.caip2, &p.extra,
			&p.signed},
		func() {
			p.scheme, p.asset = texts.String(p.scheme), texts.String(p.asset)
			old[p.endpoint] = append(old[p.endpoint], p)
		}, ids, oldestPrice(now))
	if err != nil {
		return fmt.Errorf("read series of prices: %w", err)
	}
	offers, err := r.readPriceRows(ctx, ids)
	if err != nil {
		return err
	}
	var rows []priceRow
	for _, id := range at.ids {
		rows = rows[:0]
		for _, e := range at.endpoints[id] {
			rows = append(rows, offers[e.ID]...)
		}
		if len(rows) > 0 {
			s := at.services[id]
			s.OfferSpans, s.OfferDays = priceSpans(rows), priceDays(rows)
		}
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
		row := priceRow{endpoint: p.EndpointID, since: p.Since, until: p.Until, scheme: p.Scheme, asset: p.Asset,
			amount: p.Amount, caip2: p.NetworkCAIP2, signed: p.Signed}
		if p.NetworkCAIP2 != nil && strings.HasPrefix(*p.NetworkCAIP2, "xrpl:") {
			row.extra = p.Extra
		}
		rows = append(rows, row)
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
		protocol     string
		extra        string
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
		k := key{endpoint: p.endpoint, asset: p.asset, protocol: p.protocol, since: p.since}
		if p.caip2 != nil {
			k.caip2 = *p.caip2
		}
		if p.extra != nil {
			k.extra = *p.extra
		}
		if day := dayOf(p.since); p.until != nil && day.Equal(dayOf(*p.until)) {
			k.since, k.within = day, true
		}
		i, ok := at[k]
		if !ok {
			at[k] = len(spans)
			s := span{PriceSpan: PriceSpan{p.endpoint, p.caip2, p.asset, p.protocol, p.extra, p.since, p.until,
				[]string{p.amount}}}
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
		if i, ok := slices.BinarySearchFunc(s.Amounts, p.amount, change.CompareAmounts); !ok {
			s.Amounts = slices.Insert(s.Amounts, i, p.amount)
		}
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(bytes.Compare(a.EndpointID[:], b.EndpointID[:]), a.Since.Compare(b.Since),
			untilLast(a.last, b.last),
			site.NullsLast(a.NetworkCAIP2, b.NetworkCAIP2, strings.Compare), cmp.Compare(a.Asset, b.Asset),
			cmp.Compare(a.Protocol, b.Protocol), site.NullsLast(a.Extra, b.Extra, strings.Compare))
	})
	out := make([]PriceSpan, len(spans))
	for i := range spans {
		out[i] = spans[i].PriceSpan
	}
	return out
}

// priceDays returns the days of a service's rows, which are sorted by endpoint and since, by endpoint and then day. It
// also sorts each set.
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
		set = slices.CompactFunc(set, func(a, b priceRow) bool {
			return compareWays(a, b) == 0 && a.amount == b.amount
		})
		if len(before) > 0 && before[0].endpoint == set[0].endpoint && before[0].signed == set[0].signed &&
			amountsMoved(before, set) {
			day := PriceDay{EndpointID: set[0].endpoint, Day: dayOf(set[0].since), Moved: 1}
			if last := len(days) - 1; last >= 0 && days[last].EndpointID == day.EndpointID &&
				days[last].Day.Equal(day.Day) {
				days[last].Moved++
			} else {
				days = append(days, day)
			}
		}
		before = set
	}
	return days
}

// amountsMoved reports whether a set asks for other amounts than the one before for a scheme, network and asset that
// both have. Both are sorted by these and by amount.
func amountsMoved(before, set []priceRow) bool {
	for len(set) > 0 {
		now := samePrefix(set, set[0])
		i := slices.IndexFunc(before, func(p priceRow) bool { return compareWays(p, set[0]) == 0 })
		if i >= 0 && !slices.EqualFunc(samePrefix(before[i:], set[0]), now, func(a, b priceRow) bool {
			return a.amount == b.amount
		}) {
			return true
		}
		set = set[len(now):]
	}
	return false
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
	return cmp.Or(cmp.Compare(a.scheme, b.scheme), site.NullsLast(a.caip2, b.caip2, strings.Compare), cmp.Compare(a.asset, b.asset))
}

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// untilLast compares times; the zero time is last.
func untilLast(a, b time.Time) int {
	if a.IsZero() != b.IsZero() {
		return -a.Compare(b)
	}
	return a.Compare(b)
}
