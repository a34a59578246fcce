package render

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/render/chart"
	"tollbook/render/money"
	"tollbook/render/service"
	"tollbook/site"
)

const base = "eip155:8453"

var now = site.NewTime(time.Date(2026, 11, 20, 23, 45, 0, 0, time.UTC))

func ago(d time.Duration) site.Time { return site.NewTime(now.Add(-d)) }

// words show a record as its type.
var words = homeWords{
	Network: func(caip2 string) money.Chip { return money.Chip{Label: caip2} },
	Code:    func(code string) money.Chip { return money.Chip{Label: code} },
	Change: func(r *site.ChangeRecord) homeEvent {
		return homeEvent{Kind: r.Type, Label: r.Type, Slug: r.Slug, Name: r.Name, At: r.ObservedAt}
	},
	Since: func([]string) *site.Time { return nil },
}

// record returns a change of a service. prices are the new and the old price of one endpoint, in atomic units.
func record(slug, kind string, before time.Duration, prices ...string) *site.ChangeRecord {
	r := &site.ChangeRecord{Slug: slug, Name: slug, Type: kind, ObservedAt: ago(before), Summary: json.RawMessage("{}")}
	if len(prices) == 2 {
		r.Summary, _ = json.Marshal(site.PriceSummary{PriceChanges: []site.PriceChange{{Network: base,
			Endpoint: "GET /q", NewPrice: prices[0], OldPrice: prices[1], AssetName: "USDC"}}}) // strings do not fail
	}
	return r
}

// priced returns a listed service whose price is a cent.
func priced(slug string) site.Listing {
	return site.Listing{Item: site.ServiceListItem{Slug: slug, Name: slug, CreatedAt: ago(300 * window)},
		ListingDetail: &site.ListingDetail{Detail: site.ServiceDetail{Slug: slug, Endpoints: []site.Endpoint{{
			Pricing: []site.PricingEntry{{Network: base, NetworkCAIP2: new(base), AssetName: "USDC", Price: "10000",
				PriceUSD: new("0.01")}}}}}}}
}

// line returns an event as a line: label, service, minutes ago, difference and note.
func line(e homeEvent) string {
	minutes := now.Sub(e.At.Time).Minutes()
	return strings.TrimRight(strings.ReplaceAll(fmt.Sprintf("%s %s %.0f %s %s>%s %s %s", e.Label, e.Slug, minutes,
		e.What, e.Old, e.New, e.Trend, e.Note), "\u00a0", " "), " ")
}

// incident returns an incident that began so long ago, and ended after d unless d is 0.
func incident(slug, kind string, before, d time.Duration) site.Incident {
	x := site.Incident{Slug: slug, Name: slug, Kind: kind, StartedAt: ago(before), Ongoing: d == 0}
	if d > 0 {
		x.EndedAt, x.DurationSeconds = new(ago(before-d)), new(int64(d/time.Second))
	}
	return x
}

func TestDay(t *testing.T) {
	t.Parallel()
	price := func(slug string, before time.Duration, prices ...string) *site.ChangeRecord {
		return record(slug, site.PriceChanged, before, prices...)
	}
	full := make([]*site.ChangeRecord, site.FeedEntries)
	for i := range full {
		full[i] = record(fmt.Sprint("s", i), site.PayToChanged, time.Duration(i+1)*time.Minute)
	}
	young := priced("young")
	young.Item.CreatedAt = ago(time.Hour)
	shared := incident("c", site.StatusDegraded, time.Hour, 0)
	shared.Cause, shared.Shared = site.CauseNetwork, &site.SharedOutage{Name: new("BSE"), Failed: 4, Services: 6}
	for _, c := range []struct {
		name      string
		feed      []*site.ChangeRecord
		incidents []site.Incident
		services  []site.Listing
		counts    string
		events    []string
		previous  bool
	}{
		{name: "nothing"},
		{name: "nothing today", feed: []*site.ChangeRecord{record("a", site.PayToChanged, 25*time.Hour),
			price("b", 30*time.Hour, "2", "1"), price("a", 31*time.Hour, "2", "1"), price("a", 32*time.Hour, "1", "2")},
			events:   []string{"payto_changed a 1500  >", "price_changed b 1800  >", "price_changed a 1860  >"},
			previous: true},
		{name: "a new service", services: []site.Listing{young}, counts: "1 new service"},
		{name: "the newest change of a price, with the values of its own record",
			feed: []*site.ChangeRecord{price("a", time.Minute, "20000", "15000"), price("b", 2*time.Minute, "7", "8"),
				price("a", 3*time.Minute, "15000", "10000"), price("b", 4*time.Minute, "8", "7"),
				price("a", 26*time.Hour, "10000", "5")},
			services: []site.Listing{priced("a"), priced("b")}, counts: "4 price changes",
			events: []string{"price_changed a 1 GET /q $0.015>$0.02 up +33%; 2 times",
				"price_changed b 2 GET /q $0.000008>$0.000007 down −13%; 2 times"}},
		{name: "prices that cannot be compared",
			feed: []*site.ChangeRecord{price("a", time.Minute, "a lot", "10000"), price("b", time.Minute, "10000", "0"),
				price("gone", time.Minute, "2", "1")},
			services: []site.Listing{priced("a"), priced("b")}, counts: "3 price changes"},
		{name: "the newest of a type of each service",
			feed: []*site.ChangeRecord{record("a", site.PayToChanged, time.Minute),
				record("a", site.GradeChanged, 2*time.Minute), record("a", site.PayToChanged, 3*time.Minute),
				record("b", site.SourceListed, 4*time.Minute), record("b", site.SourceDropped, 5*time.Minute),
				record("b", site.SchemaChanged, 6*time.Minute)},
			counts: "2 recipient changes, 1 change of payment options, 1 grade change, 1 listing in a source, " +
				"1 removal from a source",
			events: []string{"payto_changed a 1  >  2 times", "grade_changed a 2  >", "listed b 4  >", "dropped b 5  >",
				"schema_changed b 6  >"}},
		{name: "incidents that began or ended",
			incidents: []site.Incident{incident("a", site.StatusOffline, 10*time.Minute, 0), shared,
				incident("a", site.StatusOffline, 3*time.Hour, time.Hour),
				incident("b", site.StatusDegraded, 25*time.Hour, 90*time.Minute),
				incident("d", site.StatusOffline, 50*time.Hour, 0)},
			counts: "3 incidents",
			events: []string{"Offline a 10  >  2 incidents",
				"Degraded c 60  >  cause: network BSE (4 of 6 services failed)",
				"Recovered b 1410  >  degraded for 1 hour 30 min"}},
		{name: "a feed that is full, and too much of a kind", feed: full, services: []site.Listing{young},
			counts: "1 new service, at least 50 recipient changes",
			events: []string{"payto_changed s0 1  >", "payto_changed s1 2  >", "payto_changed s2 3  >"}},
	} {
		s := &site.Snapshot{Now: now, Services: c.services, Incidents: c.incidents, Changes: site.Changes{Feed: c.feed}}
		d := newDay(s, words)
		var events []string
		for _, e := range d.Events {
			events = append(events, line(e))
		}
		if diff := cmp.Diff(c.events, events); diff != "" || d.Previous != c.previous {
			t.Errorf("%s: previous %t, events (-want +got):\n%s", c.name, d.Previous, diff)
		}
		if diff := cmp.Diff(c.counts, strings.ReplaceAll(d.Counts, "\u00a0", " ")); diff != "" {
			t.Errorf("%s: counts (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestDayHasLargestPriceChange checks that a service appears with the price that changed most.
func TestDayHasLargestPriceChange(t *testing.T) {
	t.Parallel()
	r := record("a", site.PriceChanged, time.Minute)
	r.Summary, _ = json.Marshal(site.PriceSummary{PriceChanges: []site.PriceChange{ // strings do not fail
		{Network: base, Endpoint: "GET /more", NewPrice: "11000", OldPrice: "10000", AssetName: "USDC"},
		{Network: base, Endpoint: "GET /less", NewPrice: "10000", OldPrice: "100000", AssetName: "USDC"},
		{Network: base, Endpoint: "GET /same", NewPrice: "10001", OldPrice: "10000", AssetName: "USDC"}}})
	s := &site.Snapshot{Now: now, Services: []site.Listing{priced("a")}}
	want := homeEvent{ChangeLine: service.ChangeLine{What: "GET /less", Network: money.Chip{Label: base}, Old: "$0.10", New: "$0.01",
		OldTitle: "100,000 atomic units of USDC", NewTitle: "10,000 atomic units of USDC", Trend: "down"}, Note: "−90%"}
	got, ok := recordedPrice(s, r, words.Network)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(homeEvent{})); !ok || diff != "" {
		t.Errorf("prices (-want +got):\n%s", diff)
	}
}

// TestLargestVolumeChanges checks that only services that are measured and paid often enough have a trend.
func TestLargestVolumeChanges(t *testing.T) {
	t.Parallel()
	s := &site.Snapshot{Now: now}
	for i, c := range []struct {
		status string
		trend  *float64
		count  int64
	}{
		{site.TractionMeasured, new(1.2), 20}, {site.TractionMeasured, new(.25), 400},
		{site.TractionMeasured, new(0.0), 30}, {site.TractionMeasured, new(4.0), 19},
		{"no-payto", new(9.0), 500}, {site.TractionMeasured, nil, 500}, {site.TractionMeasured, new(1.01), 500},
	} {
		l := priced(fmt.Sprint("s", i))
		l.Trend = site.TrendOf(&site.Traction{Status: c.status, Trend7dVs30d: c.trend, TxCount30d: &c.count})
		s.Services = append(s.Services, l)
	}
	var got []string
	for _, m := range largestVolumeChanges(s, nil) {
		got = append(got, m.Slug+" "+m.Way+" "+m.Text)
	}
	if diff := cmp.Diff([]string{"s2 down none in 7 days", "s1 down −75%", "s0 up +20%"}, got); diff != "" {
		t.Errorf("largest (-want +got):\n%s", diff)
	}
}

// TestPage checks which services, categories and volumes the page shows.
func TestPage(t *testing.T) {
	t.Parallel()
	pick := &site.Pick{Slug: "s0", Network: "BSE"}
	s := &site.Snapshot{Now: now, Status: site.StatusSummary{Total: 1, Online: 1},
		Tags: []site.Tag{{Tag: "AI", MostUsed: pick}, {Tag: "Data", Cheapest: pick}, {Tag: "Other"}},
		Coverage: site.CoverageReport{Networks: []site.NetworkCoverage{
			{NetworkCAIP2: "a", Measured: true, Timeseries: []site.VolumePoint{
				{Date: "2026-11-19", VolumeUSD: "1.5", TxCount: 2}}},
			{NetworkCAIP2: "b", Measured: true, IsMainnet: new(true), Timeseries: []site.VolumePoint{
				{Date: "2026-11-19", VolumeUSD: "1", TxCount: 1}, {Date: "2026-11-20", VolumeUSD: "1", TxCount: 1}}},
			{NetworkCAIP2: "test", Measured: true, IsMainnet: new(false), Timeseries: []site.VolumePoint{
				{Date: "2026-11-19", VolumeUSD: "9", TxCount: 1}}},
			{NetworkCAIP2: "unread"}}}}
	for i, level := range []string{site.AdviceGood, site.AdviceDoNotPay, site.AdviceUnknown, site.AdviceGood,
		site.AdviceCaution, site.AdviceGood, site.AdviceCaution} {
		l := priced(fmt.Sprint("s", i))
		l.Item.AdviceLevel, l.Item.CreatedAt = level, ago(time.Duration(i+2)*window)
		s.Services = append(s.Services, l)
	}
	w := words
	w.Categories = []homeGroup{{Name: "Other", Services: 4}, {Name: "Data", Services: 2}, {Name: "AI", Services: 1}}
	for i := range maxOthers + 2 {
		w.Categories = append(w.Categories, homeGroup{Name: fmt.Sprint("C", i)})
	}
	p := newHome(s, chart.NewCalendar(now), w)
	var newest, picks []string
	for _, item := range p.Newest {
		newest = append(newest, item.Slug)
	}
	for _, c := range p.Picks {
		picks = append(picks, fmt.Sprintf("%s %t %t", c.Name, c.Cheapest != nil, c.MostUsed != nil))
	}
	got := []any{newest, picks, len(p.Others), p.Others[0].Name, p.More, p.Good, p.Sentence, p.Bars.Summary}
	want := []any{[]string{"s0", "s2", "s3", "s4", "s5"}, []string{"Data true false", "AI false true"}, maxOthers,
		"Other", 3, 3, "The one service works.",
		"$3.50 on 2 of the last 90 days; maximum $2.50 on 19 Nov 2026."}
	if diff := cmp.Diff(want, got, cmp.Transformer("spaces", func(s string) string {
		return strings.ReplaceAll(s, "\u00a0", " ")
	})); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
	none := newHome(&site.Snapshot{Now: now}, chart.NewCalendar(now), words)
	if none.Settled != nil || none.LastCheck != nil || none.Sentence != "" || none.Bars.Plot != "" {
		t.Errorf("the page of an empty directory is %+v", none)
	}
}
