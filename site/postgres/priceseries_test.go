package postgres_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/load"
)

// TestPriceSeries checks the spans of prices over time, and the days on which amounts changed.
func TestPriceSeries(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	const network, usdc = "eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	midnight := start.Truncate(24 * time.Hour)
	at := func(day, hour int) time.Time { return midnight.AddDate(0, 0, day).Add(time.Duration(hour) * time.Hour) }
	a, b := postgres.EndpointID("acme", "GET", "/a"), postgres.EndpointID("acme", "", "/b")
	price := func(endpoint uuid.UUID, position int, amount string, since time.Time, until *time.Time) checks.Price {
		return checks.Price{EndpointID: endpoint, Since: since, Position: position, Until: until, Scheme: "exact",
			Network:      network,
			NetworkCAIP2: new(network), Asset: usdc, PayTo: "x", Amount: amount, X402Version: 2}
	}
	h := load.History{Slug: "acme", Prices: []checks.Price{
		price(a, 0, "100", at(-9, 1), new(at(-5, 1))),
		price(a, 0, "200", at(-5, 1), new(at(-5, 2))), // within a day
		price(a, 0, "50", at(-5, 2), new(at(-5, 3))),
		price(a, 0, "300", at(-5, 3), new(at(-2, 1))), // over midnights
		price(a, 0, "300", at(-2, 1), nil),            // the same again, and a second amount
		price(a, 1, "301", at(-2, 1), nil),
		price(b, 0, "7", at(-5, 9), nil),
	}}
	h.Checks = []checks.Check{visit(postgres.DueService{}, start).Check}
	h.Days = []checks.Rollup{
		{Start: at(-200, 0), Checks: 9, Counted: 8, Up: 7, Timed: 6, ResponseMS: 600,
			Histogram: make([]int64, site.HistogramBuckets)},
		{Start: at(-1, 0), Checks: 9, Counted: 0, Histogram: make([]int64, site.HistogramBuckets)},
	}
	if err := load.Sample(ctx, db, "sample", []postgres.Listing{listing("acme")}, []load.History{h}); err != nil {
		t.Fatal(err)
	}
	var s postgres.ServiceFacts
	if err := db.Read(ctx, func(r *postgres.Reader) error {
		f, err := r.Facts(ctx, start.Add(time.Hour), 0)
		if err == nil {
			s = f.Services[0]
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	span := func(endpoint uuid.UUID, since time.Time, until *time.Time, amounts ...string) checks.PriceSpan {
		return checks.PriceSpan{EndpointID: endpoint, NetworkCAIP2: new(network), Asset: usdc, Since: since,
			Until: until, Amounts: amounts}
	}
	spans := map[uuid.UUID][]checks.PriceSpan{}
	for _, p := range s.PriceSpans {
		spans[p.EndpointID] = append(spans[p.EndpointID], p)
	}
	sameTime := cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })
	if diff := cmp.Diff(map[uuid.UUID][]checks.PriceSpan{
		a: {
			span(a, at(-9, 1), new(at(-5, 1)), "100"), span(a, at(-5, 1), new(at(-5, 3)), "50", "200"),
			span(a, at(-5, 3), new(at(-2, 1)), "300"), span(a, at(-2, 1), nil, "300", "301"),
		},
		b: {span(b, at(-5, 9), nil, "7")},
	}, spans, sameTime); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]checks.PriceDay{{EndpointID: a, Day: at(-5, 0), Moved: 3},
		{EndpointID: a, Day: at(-2, 0), Moved: 1}},
		s.PriceDays, sameTime); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]checks.DaySum{
		{Day: at(-200, 0), Counted: 8, Up: 7, Timed: 6, ResponseMS: 600},
		{Day: at(0, 0), Counted: 1, Up: 1, Timed: 1, ResponseMS: 120, KnownMS: 3_600_000, UpMS: 3_600_000},
	}, s.DaySums, sameTime); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
	prices, err := db.PricesAt(ctx, s.ID, at(-5, 2))
	if err != nil {
		t.Fatal(err)
	}
	var amounts []string
	for _, p := range prices {
		amounts = append(amounts, p.Amount)
	}
	if want := []string{"50"}; len(prices) != 2 || prices[0].Amount == prices[1].Amount {
		t.Errorf("asked at two o'clock: %v, want %v and the first of /b, which was listed with the service", amounts,
			want)
	}
}
