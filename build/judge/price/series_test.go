package price

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

func dateOf(month time.Month, d int) time.Time {
	return time.Date(2026, month, d, 0, 0, 0, 0, time.UTC)
}

func TestPoints(t *testing.T) {
	t.Parallel()
	one, two := uuid.UUID{1}, uuid.UUID{2}
	span := func(endpoint uuid.UUID, asset string, since time.Time, until *time.Time, lowest,
		highest string) postgres.PriceSpan {
		return postgres.PriceSpan{EndpointID: endpoint, NetworkCAIP2: new(base), Asset: asset, Since: since,
			Until: until, Lowest: lowest, Highest: highest}
	}
	first := dateOf(9, 1).Add(time.Hour)
	active := func(id uuid.UUID, last time.Time) postgres.EndpointFacts {
		return postgres.EndpointFacts{Endpoint: postgres.Endpoint{ID: id, FirstSeenAt: first, LastPaidAt: &last}}
	}
	point := func(date string, lowest, highest site.Decimal, changes int) site.PricePoint {
		p := site.PricePoint{Date: date, Changes: changes}
		if lowest != "" {
			p.MinPriceUSD, p.MaxPriceUSD = &lowest, &highest
		}
		return p
	}
	for _, c := range []struct {
		name string
		f    postgres.ServiceFacts
		want []site.PricePoint
	}{
		{"nothing", postgres.ServiceFacts{}, []site.PricePoint{}},
		{"an asset that nobody knows", postgres.ServiceFacts{
			Facts: checks.Facts{
				PriceSpans: []postgres.PriceSpan{span(one, "0x1111111111111111111111111111111111111111", first, nil,
					"1", "1")},
				PriceDays: []postgres.PriceDay{{Day: dateOf(9, 1)}},
			},
		}, []site.PricePoint{point("2026-09-01", "", "", 0)}},
		{"what held over midnight counts in the morning, what ended at midnight does not", postgres.ServiceFacts{
			Endpoints: []postgres.EndpointFacts{active(one, dateOf(11, 20))},
			Facts: checks.Facts{
				PriceSpans: []postgres.PriceSpan{span(one, usdc, first, new(dateOf(9, 5).Add(time.Hour)), "10000",
					"10000"), span(one, usdc, dateOf(9, 5).Add(time.Hour), new(dateOf(9, 8)), "30000", "40000"),
					span(one, usdc, dateOf(9, 8), nil, "5", "5")},
				PriceDays: []postgres.PriceDay{{Day: dateOf(9, 1)}, {Day: dateOf(9, 5), Moved: 7},
					{Day: dateOf(9, 8), Moved: 1}},
			},
		}, []site.PricePoint{point("2026-09-01", "0.01", "0.01", 0), point("2026-09-05", "0.01", "0.04", 7),
			point("2026-09-08", "0.000005", "0.000005", 1)}},
		{"an endpoint that fell silent counts for a fortnight", postgres.ServiceFacts{
			Endpoints: []postgres.EndpointFacts{active(one, dateOf(9, 2)), active(two, dateOf(11, 20))},
			Facts: checks.Facts{
				PriceSpans: []postgres.PriceSpan{span(one, usdc, first, nil, "1000000", "1000000"),
					span(two, usdc, first, new(dateOf(9, 15).Add(time.Hour)), "2000000", "2000000"),
					span(two, usdc, dateOf(9, 15).Add(time.Hour), nil, "3000000", "3000000")},
				PriceDays: []postgres.PriceDay{{Day: dateOf(9, 1)}, {Day: dateOf(9, 15), Moved: 1},
					{Day: dateOf(9, 16), Moved: 1}},
			},
		}, []site.PricePoint{point("2026-09-01", "1", "2", 0), point("2026-09-15", "1", "3", 1),
			point("2026-09-16", "3", "3", 1)}},
	} {
		if diff := cmp.Diff(c.want, Points(&c.f)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
