package price

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/rail"
)

func dateOf(month time.Month, d int) time.Time {
	return time.Date(2026, month, d, 0, 0, 0, 0, time.UTC)
}

// newHistoryFacts returns a service with endpoints 1, which is active, and 2, which is not.
func newHistoryFacts(spans []checks.PriceSpan, days ...checks.PriceDay) *postgres.ServiceFacts {
	first := dateOf(9, 1)
	seen := func(id uuid.UUID, last time.Time) postgres.EndpointFacts {
		return postgres.EndpointFacts{Endpoint: postgres.Endpoint{ID: id, FirstSeenAt: first, LastPaidAt: &last}}
	}
	return &postgres.ServiceFacts{
		Endpoints: []postgres.EndpointFacts{seen(uuid.UUID{1}, *ago(time.Hour)), seen(uuid.UUID{2}, first)},
		Facts:     checks.Facts{PriceSpans: spans, PriceDays: days},
	}
}

// figuresOnly ignores which observation has the lowest price; TestObservations compares these.
var figuresOnly = cmpopts.IgnoreFields(site.PricePoint{}, "EndpointID", "Network", "AssetAddress", "PriceUSD",
	"RecordedAt", "Observations")

// TestObservations checks which observation has the lowest price of a day, and that each price that counts is in one
// point.
func TestObservations(t *testing.T) {
	t.Parallel()
	one, first := uuid.UUID{1}, dateOf(9, 1).Add(time.Hour)
	span := func(asset string, since time.Time, until *time.Time, amount string) checks.PriceSpan {
		return checks.PriceSpan{EndpointID: one, NetworkCAIP2: new(base), Asset: asset, Since: since, Until: until,
			Amounts: []string{amount}}
	}
	cheap, dear := dateOf(9, 3).Add(2*time.Hour), dateOf(9, 4).Add(3*time.Hour)
	h := NewHistory(newHistoryFacts([]checks.PriceSpan{span(usdc, first, nil, "20000"),
		span(strings.ToLower(usdc), cheap, new(dateOf(9, 5)), "10000"), span(usdc, dear, nil, "15000"),
		span("0x1111111111111111111111111111111111111111", first, nil, "1")}), now)
	observation := func(at time.Time, price site.Decimal) site.PriceObservation {
		return site.PriceObservation{EndpointID: one.String(), Network: base, AssetAddress: usdc, PriceUSD: price,
			RecordedAt: site.NewTime(at)}
	}
	point := func(date string, lowest, highest site.Decimal, at time.Time,
		observations ...site.PriceObservation) site.PricePoint {
		return site.PricePoint{Date: date, MinPriceUSD: &lowest, MaxPriceUSD: &highest, EndpointID: new(one.String()),
			Network: new(base), AssetAddress: new(usdc), PriceUSD: &lowest, RecordedAt: new(site.NewTime(at)),
			Observations: observations}
	}
	want := []site.PricePoint{
		point("2026-09-01", "0.02", "0.02", first, observation(first, "0.02")),
		point("2026-09-03", "0.01", "0.02", cheap, observation(cheap, "0.01"), observation(dear, "0.015")),
		point("2026-09-05", "0.015", "0.02", dateOf(9, 5)),
	}
	want[2].Observations = []site.PriceObservation{}
	if diff := cmp.Diff(want, h.Points()); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	one, two, first := uuid.UUID{1}, uuid.UUID{2}, dateOf(9, 1).Add(time.Hour)
	span := func(endpoint uuid.UUID, asset string, since time.Time, until *time.Time,
		amounts ...string) checks.PriceSpan {
		return checks.PriceSpan{EndpointID: endpoint, NetworkCAIP2: new(base), Asset: asset, Since: since,
			Until: until, Amounts: amounts}
	}
	test := span(one, "0x036CbD53842c5426634e7929541eC2318f3dCF7e", first, nil, "1000000")
	test.NetworkCAIP2 = new("eip155:84532")
	point := func(date string, lowest, highest site.Decimal, changes int) site.PricePoint {
		p := site.PricePoint{Date: date, Changes: changes}
		if lowest != "" {
			p.MinPriceUSD, p.MaxPriceUSD = &lowest, &highest
		}
		return p
	}
	fifth := dateOf(9, 5).Add(time.Hour)
	for _, c := range []struct {
		name string
		f    *postgres.ServiceFacts
		want []site.PricePoint
	}{
		{"nothing", newHistoryFacts(nil), []site.PricePoint{}},
		{"an unknown asset has changes and no price", newHistoryFacts([]checks.PriceSpan{
			span(one, "0x1111111111111111111111111111111111111111", first, nil, "1")},
			checks.PriceDay{EndpointID: one, Day: dateOf(9, 3), Moved: 1}),
			[]site.PricePoint{point("2026-09-01", "", "", 0), point("2026-09-03", "", "", 1)}},
		{"a price before noon counts that day, a price until midnight does not count the next", newHistoryFacts(
			[]checks.PriceSpan{span(one, usdc, first, &fifth, "10000"),
				span(one, usdc, fifth, new(dateOf(9, 8)), "30000", "40000"), span(one, usdc, dateOf(9, 8), nil, "5")},
			checks.PriceDay{EndpointID: one, Day: dateOf(9, 5), Moved: 7},
			checks.PriceDay{EndpointID: one, Day: dateOf(9, 8), Moved: 1}),
			[]site.PricePoint{point("2026-09-01", "0.01", "0.01", 0), point("2026-09-05", "0.01", "0.04", 7),
				point("2026-09-06", "0.03", "0.04", 0), point("2026-09-08", "0.000005", "0.000005", 1)}},
		{"a price that nobody replaced ends with a point without prices",
			newHistoryFacts([]checks.PriceSpan{span(one, usdc, first, &fifth, "10000")}),
			[]site.PricePoint{point("2026-09-01", "0.01", "0.01", 0), point("2026-09-06", "", "", 0)}},
		{"inactive endpoints do not count", newHistoryFacts([]checks.PriceSpan{span(two, usdc, first, nil, "5")},
			checks.PriceDay{EndpointID: two, Day: dateOf(9, 5), Moved: 1}), []site.PricePoint{}},
		{"test networks, zero and implausible amounts do not count", newHistoryFacts([]checks.PriceSpan{test,
			span(one, usdc, first, nil, "0", "10000", "1000000000", "1000000001")}),
			[]site.PricePoint{point("2026-09-01", "0.01", "1000", 0)}},
	} {
		if diff := cmp.Diff(c.want, NewHistory(c.f, now).Points(), figuresOnly); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestStability(t *testing.T) {
	t.Parallel()
	one, two := uuid.UUID{1}, uuid.UUID{2}
	f := newHistoryFacts([]checks.PriceSpan{{EndpointID: one, NetworkCAIP2: new(base), Asset: usdc,
		Since: dateOf(9, 2), Amounts: []string{"1"}}},
		checks.PriceDay{EndpointID: one, Day: dateOf(9, 3), Moved: 4},
		checks.PriceDay{EndpointID: one, Day: dateOf(9, 4), Moved: 1},
		checks.PriceDay{EndpointID: two, Day: dateOf(9, 4), Moved: 1},
		checks.PriceDay{EndpointID: two, Day: dateOf(9, 5), Moved: 1})
	h := NewHistory(f, now)
	for _, c := range []struct {
		day  time.Time
		want *float64
	}{
		{dateOf(9, 1), nil}, {dateOf(9, 2), new(1.0)}, {dateOf(9, 3), new(0.97)}, {dateOf(9, 4), new(0.93)},
		{dateOf(10, 2), new(0.93)}, {dateOf(10, 3), new(0.97)}, {dateOf(10, 4), new(1.0)},
	} {
		if diff := cmp.Diff(c.want, h.Stability(c.day)); diff != "" {
			t.Errorf("stability on %s (-want +got):\n%s", c.day.Format(time.DateOnly), diff)
		}
	}
	if got := NewEconomics(f, &Offer{}, Rank{}, h, now).Stability; got != nil {
		t.Errorf("stability without a current price = %v, want null", *got)
	}
	if got := NewEconomics(f, &Offer{rows: 1}, Rank{}, h, now).Stability; got == nil || *got != 1 {
		t.Errorf("stability with a price that did not change for 30 days = %v, want 1", got)
	}
}

// TestOfferHistory checks that prices over other protocols are in the series only while there are none over x402.
func TestOfferHistory(t *testing.T) {
	t.Parallel()
	one := uuid.UUID{1}
	mpp := func(since time.Time, until *time.Time, amounts ...string) checks.PriceSpan {
		return checks.PriceSpan{EndpointID: one, NetworkCAIP2: new("eip155:4217"), Protocol: "mpp",
			Asset: "0x20c0000000000000000000000000000000000000", Since: since, Until: until, Amounts: amounts}
	}
	x402 := func(since time.Time, until *time.Time, amount string) checks.PriceSpan {
		return checks.PriceSpan{EndpointID: one, NetworkCAIP2: new(base), Asset: usdc, Since: since, Until: until,
			Amounts: []string{amount}}
	}
	point := func(date string, price site.Decimal, changes int) site.PricePoint {
		return site.PricePoint{Date: date, MinPriceUSD: &price, MaxPriceUSD: &price, Changes: changes}
	}
	third, fifth, seventh := dateOf(9, 3), dateOf(9, 5), dateOf(9, 7)
	change := func(d int) checks.PriceDay { return checks.PriceDay{EndpointID: one, Day: dateOf(9, d), Moved: 1} }
	for _, c := range []struct {
		name   string
		x402   []checks.PriceSpan
		others []checks.PriceSpan
		days   []checks.PriceDay
		want   []site.PricePoint
	}{
		{"never over x402", nil, []checks.PriceSpan{mpp(third, &fifth, "10000"), mpp(fifth, nil, "20000")},
			[]checks.PriceDay{change(5)},
			[]site.PricePoint{point("2026-09-03", "0.01", 0), point("2026-09-05", "0.02", 1)}},
		{"instead of x402", []checks.PriceSpan{x402(third, &fifth, "30000")},
			[]checks.PriceSpan{mpp(fifth, nil, "20000")}, nil,
			[]site.PricePoint{point("2026-09-03", "0.03", 0), point("2026-09-05", "0.02", 0)}},
		{"beside x402", []checks.PriceSpan{x402(third, nil, "30000")},
			[]checks.PriceSpan{mpp(third, &fifth, "10000"), mpp(fifth, nil, "20000")}, []checks.PriceDay{change(5)},
			[]site.PricePoint{point("2026-09-03", "0.03", 0)}},
		{"before, beside and after x402", []checks.PriceSpan{x402(fifth, &seventh, "30000")},
			[]checks.PriceSpan{mpp(third, nil, "10000")}, nil,
			[]site.PricePoint{point("2026-09-03", "0.01", 0), point("2026-09-05", "0.03", 0),
				point("2026-09-07", "0.01", 0)}},
	} {
		f := newHistoryFacts(c.x402)
		f.OfferSpans, f.OfferDays = c.others, c.days
		if diff := cmp.Diff(c.want, NewHistory(f, now).Points(), figuresOnly); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	bitcoin := newHistoryFacts(nil)
	bitcoin.OfferSpans = []checks.PriceSpan{{EndpointID: one, NetworkCAIP2: new(rail.InvoiceMainnet), Protocol: "l402",
		Asset: "BTC", Since: third, Amounts: []string{"1500000"}}}
	got := NewHistory(bitcoin, now).Points()
	if diff := cmp.Diff([]site.PricePoint{{Date: "2026-09-03"}}, got, figuresOnly); diff != "" {
		t.Errorf("a price in bitcoin (-want +got):\n%s", diff)
	}
}
