package checks

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func TestPriceSeries(t *testing.T) {
	one, two := uuid.UUID{1}, uuid.UUID{2}
	at := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC) }
	day := func(of uuid.UUID, d, moved int) PriceDay { return PriceDay{of, at(d, 0), moved} }
	base := new("eip155:8453")
	// row asks an amount of an asset by a way; until 0 is while it holds
	row := func(of uuid.UUID, since time.Time, until time.Time, asset, amount string) priceRow {
		p := priceRow{endpoint: of, since: since, scheme: "exact", asset: asset, amount: amount,
			caip2: base}
		if !until.IsZero() {
			p.until = &until
		}
		return p
	}
	span := func(of uuid.UUID, since time.Time, until time.Time, asset string, amounts ...string) PriceSpan {
		s := PriceSpan{EndpointID: of, NetworkCAIP2: base, Asset: asset, Since: since, Amounts: amounts}
		if !until.IsZero() {
			s.Until = &until
		}
		return s
	}
	holds := time.Time{}
	for _, test := range []struct {
		rule  string
		rows  []priceRow
		spans []PriceSpan
		days  []PriceDay
	}{
		{"a first set moves nothing", []priceRow{row(one, at(1, 5), holds, "a", "10")},
			[]PriceSpan{span(one, at(1, 5), holds, "a", "10")}, []PriceDay{}},
		{"what lasts over a midnight is a span of its own",
			[]priceRow{row(one, at(1, 5), at(2, 5), "a", "10"), row(one, at(2, 5), holds, "a", "9")},
			[]PriceSpan{span(one, at(1, 5), at(2, 5), "a", "10"), span(one, at(2, 5), holds, "a", "9")},
			[]PriceDay{day(one, 2, 1)}},
		{"what came and went within a day is one span",
			[]priceRow{row(one, at(1, 1), at(1, 2), "a", "10"), row(one, at(1, 2), at(1, 3), "a", "9"),
				row(one, at(1, 3), at(2, 0), "a", "8")},
			[]PriceSpan{span(one, at(1, 1), at(1, 3), "a", "9", "10"), span(one, at(1, 3), at(2, 0), "a", "8")},
			[]PriceDay{day(one, 1, 2)}},
		{"amounts compare as numbers", []priceRow{row(one, at(1, 1), holds, "a", "9"),
			row(one, at(1, 1), holds, "a", "10")},
			[]PriceSpan{span(one, at(1, 1), holds, "a", "9", "10")}, []PriceDay{}},
		{"the order of rows is no move", []priceRow{row(one, at(1, 1), at(2, 1), "a", "9"),
			row(one, at(1, 1), at(2, 1), "a", "10"), row(one, at(2, 1), holds, "a", "10"),
			row(one, at(2, 1), holds, "a", "9")},
			[]PriceSpan{span(one, at(1, 1), at(2, 1), "a", "9", "10"), span(one, at(2, 1), holds, "a", "9", "10")},
			[]PriceDay{}},
		{"a row that repeats itself moves nothing", []priceRow{row(one, at(1, 1), at(2, 1), "a", "9"),
			row(one, at(2, 1), holds, "a", "9"), row(one, at(2, 1), holds, "a", "9")},
			[]PriceSpan{span(one, at(1, 1), at(2, 1), "a", "9"), span(one, at(2, 1), holds, "a", "9")},
			[]PriceDay{}},
		{"a way that is new, or was away, moves nothing",
			[]priceRow{row(one, at(1, 1), at(2, 1), "a", "9"), row(one, at(2, 1), at(3, 1), "b", "9"),
				row(one, at(3, 1), holds, "a", "8")},
			[]PriceSpan{span(one, at(1, 1), at(2, 1), "a", "9"), span(one, at(2, 1), at(3, 1), "b", "9"),
				span(one, at(3, 1), holds, "a", "8")},
			[]PriceDay{}},
		{"a set moves once", []priceRow{row(one, at(1, 1), at(2, 1), "a", "9"), row(one, at(1, 1), at(2, 1), "b", "9"),
			row(one, at(2, 1), holds, "b", "8"), row(one, at(2, 1), holds, "a", "8")},
			[]PriceSpan{span(one, at(1, 1), at(2, 1), "a", "9"), span(one, at(1, 1), at(2, 1), "b", "9"),
				span(one, at(2, 1), holds, "a", "8"), span(one, at(2, 1), holds, "b", "8")},
			[]PriceDay{day(one, 2, 1)}},
		{"one that still holds holds the span", []priceRow{row(one, at(1, 1), at(3, 1), "a", "9"),
			row(one, at(1, 1), holds, "a", "7"), row(one, at(1, 1), at(2, 1), "a", "8")},
			[]PriceSpan{span(one, at(1, 1), holds, "a", "7", "8", "9")}, []PriceDay{}},
		{"endpoints do not follow one another", []priceRow{row(one, at(5, 1), holds, "a", "9"),
			row(two, at(2, 1), at(5, 2), "a", "8"), row(two, at(5, 2), holds, "a", "7")},
			[]PriceSpan{span(one, at(5, 1), holds, "a", "9"), span(two, at(2, 1), at(5, 2), "a", "8"),
				span(two, at(5, 2), holds, "a", "7")},
			[]PriceDay{day(two, 5, 1)}},
	} {
		t.Run(test.rule, func(t *testing.T) {
			if diff := cmp.Diff(test.spans, priceSpans(slices.Clone(test.rows))); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.days, priceDays(slices.Clone(test.rows))); diff != "" {
				t.Errorf("days (-want +got):\n%s", diff)
			}
		})
	}
}
