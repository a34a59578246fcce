package render_test

import (
	"fmt"
	"testing"
	"time"

	. "tollbook/render/htmlcheck"
	"tollbook/site"
)

// repriced returns a service with changes of one price, newest first. Each value is the new price, the last one the
// first price.
func repriced(slug string, before time.Duration, amounts ...string) (site.Listing, []*site.ChangeRecord) {
	l := plain(slug, "Of "+slug, site.StatusOnline, 0)
	l.Detail.Endpoints = []site.Endpoint{{Method: "GET", Path: "/q",
		Pricing: []site.PricingEntry{{Network: base, NetworkCAIP2: ptr(base), AssetName: "USDC", Price: "10000",
			PriceUSD: ptr("0.01")}}}}
	var records []*site.ChangeRecord
	for i := range len(amounts) - 1 {
		records = append(records,
			ptr(record(&l.Detail, site.PriceChanged, before+time.Duration(i)*time.Hour,
				site.PriceSummary{PriceChanges: []site.PriceChange{
					{Network: base, Endpoint: "GET /q", OldPrice: amounts[i+1], NewPrice: amounts[i],
						AssetName: "USDC"}}})))
	}
	return l, records
}

// TestLargestPriceChanges checks that all changes of a price in seven days count as one, the largest comes first, and
// each service appears once.
func TestLargestPriceChanges(t *testing.T) {
	t.Parallel()
	s := &site.Snapshot{Now: site.NewTime(now), Networks: world().Networks}
	for _, c := range []struct {
		slug    string
		before  time.Duration
		amounts []string
	}{
		{"a-there-and-back", time.Hour, []string{"10000", "90000", "10000"}},
		{"b-doubled", time.Hour, []string{"20000", "15000", "10000"}},
		{"c-tenfold", 2 * time.Hour, []string{"100000", "10000"}},
		{"d-halved", 3 * time.Hour, []string{"5000", "10000"}},
		{"e-hardly", 4 * time.Hour, []string{"10001", "10000"}},
		{"f-almost-nothing", 5 * time.Hour, []string{"1", "1000000000000"}},
		{"g-from-nothing", 6 * time.Hour, []string{"10000", "0"}},
		{"h-long-ago", 8 * dayTime, []string{"90000", "10000"}},
		{"i-no-amount", time.Hour, []string{"a lot", "10000"}},
	} {
		l, records := repriced(c.slug, c.before, c.amounts...)
		s.Services = append(s.Services, l)
		s.Changes.Feed = append(s.Changes.Feed, records...)
	}
	gone, records := repriced("z-gone", time.Hour, "90000000", "10000")
	_ = gone // no longer listed
	s.Changes.Feed = append(s.Changes.Feed, records...)
	rows := "section[aria-labelledby=repriced] .movers > li"
	expect(t, newRenderer(t, s).Home, Count(rows, 5),
		Nth(rows, 0, In("a", IsText("Of f-almost-nothing"), HasAttr("href", "/services/f-almost-nothing.html#prices")),
			In(".trend-down", IsText("more than −99%")), HasText("$1,000,000→$0.000001")),
		Nth(rows, 1, HasText("Of c-tenfold"), In(".trend-up", IsText("10×")),
			In("ins", IsText("$0.10"), HasAttr("title", "100,000 atomic units of USDC"))),
		Nth(rows, 2, HasText("Of b-doubled"), In(".trend-up", IsText("+100%")), HasText("GET /q Base $0.01→$0.02")),
		Nth(rows, 3, HasText("Of d-halved"), In(".trend-down", IsText("−50%"))),
		Nth(rows, 4, HasText("Of e-hardly"), In(".trend-up", IsText("less than 1%"))),
		In("section[aria-labelledby=risen] .empty"))
}

// TestLargestVolumeChanges checks that only services that are measured and paid often enough have a trend.
func TestLargestVolumeChanges(t *testing.T) {
	t.Parallel()
	s := &site.Snapshot{Now: site.NewTime(now)}
	for i, c := range []struct {
		status string
		trend  *float64
		count  int64
	}{
		{site.TractionMeasured, ptr(1.2), 20}, {site.TractionMeasured, ptr(.25), 400},
		{site.TractionMeasured, ptr(0.0), 30}, {site.TractionMeasured, ptr(4.0), 19},
		{"no-payto", ptr(9.0), 500}, {site.TractionMeasured, nil, 500}, {site.TractionMeasured, ptr(1.01), 500},
	} {
		l := plain(fmt.Sprint("s", i), fmt.Sprint("Name ", i), site.StatusOnline, i)
		l.Detail.Assessment.Traction = site.Traction{Status: c.status, Trend7dVs30d: c.trend, TxCount30d: &c.count,
			VolumeUSD30d: ptr(site.Decimal("12.345678"))}
		l.Trend = site.TrendOf(&l.Detail.Assessment.Traction)
		s.Services = append(s.Services, l)
	}
	rows := "section[aria-labelledby=risen] tbody tr"
	expect(t, newRenderer(t, s).Home, Count(rows, 3),
		Nth(rows, 0, HasText("Name 2 $12.35 no volume in 7 days down")),
		Nth(rows, 1, HasText("Name 1 $12.35 −75% down")), Nth(rows, 2, HasText("Name 0 $12.35 +20% up"),
			In("td[title='$12.345678']"), In("a[href='/services/s0.html#settled']")),
		In("section[aria-labelledby=repriced] .empty", IsText("No prices changed in the last 7 days.")))
	expect(t, newRenderer(t, &site.Snapshot{Now: site.NewTime(now)}).Home, NotIn(".movers"), NotIn("#risen"),
		Nth(".figures > div", 3, In(".none")))
}
