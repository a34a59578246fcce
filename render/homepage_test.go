package render_test

import (
	"slices"
	"testing"
	"time"

	. "tollbook/render/htmlcheck"
	"tollbook/site"
)

// changedWorld returns the world with the changes of its services in the feed.
func changedWorld() *site.Snapshot {
	s := world()
	for i := range s.Services {
		for j := range s.Services[i].Changes {
			s.Changes.Feed = append(s.Changes.Feed, &s.Services[i].Changes[j])
		}
	}
	slices.SortStableFunc(s.Changes.Feed, func(a, b *site.ChangeRecord) int {
		return b.ObservedAt.Compare(a.ObservedAt.Time)
	})
	return s
}

func TestHome(t *testing.T) {
	t.Parallel()
	s := changedWorld()
	pick := &site.Pick{Slug: "plain-01", Name: hostile, PriceUSD: new(site.Decimal("0.001")), Network: "SOL",
		OrganicBuyers30d: new(int64(1234))}
	s.Tags[1].Cheapest, s.Tags[1].MostUsed = pick, pick // AI
	s.Tags[0].Cheapest = pick                           // Data
	for i := range s.Services {
		item := &s.Services[i].Item
		item.AdviceLevel = []string{site.AdviceGood, site.AdviceDoNotPay}[i%2]
	}
	s.Services[0].Trend = site.Trend{}
	s.Services[10].Trend = site.Trend{VolumeUSD30d: new(site.Decimal("12.345678")), TxCount30d: new(int64(20)),
		Trend7dVs30d: new(1.2)}
	s.Incidents = []site.Incident{{Slug: "plain-05", Name: hostile, Kind: site.StatusOffline, Ongoing: true,
		StartedAt: ago(time.Hour)}}
	events := "section[aria-labelledby=changes] .events > li"
	expect(t, newRenderer(t, s).Home,
		In("h1"),
		In(".pulse", HasText("39 of 52 services work, 6 are offline and 7 are degraded. The status of 1 more is unknown."),
			HasText("Last check: 20 Nov, 23:41:01 UTC."), In("a[href='/status.html']")),
		Nth(".figures > div", 0, In("dt", IsText("Services")), In("dd", IsText("53"))),
		Nth(".figures > div", 1, In("dt", IsText("Safe to pay")), In("dd", IsText("27"))),
		Nth(".figures > div", 2, In("dt", IsText("Median price")), In("dd", IsText("$0.01"))),
		Nth(".figures > div", 3, In("dt", IsText("Volume, 30 days")),
			In("dd", IsText("$1,234,568"), HasAttr("title", "$1,234,567.891011"))),
		Nth(".figures > div", 4, In("dt", IsText("Checks per hour")), In("dd", IsText("214"))),
		In(".counts", HasText("2 new services, 2 price changes, "), HasText("1 incident (times in UTC)")),
		Nth(events, 0, In(".kind-offline", IsText("Offline")), In("a[href='/services/plain-05.html']"),
			In("time", IsText("20 Nov, 22:45")), NotIn(".moves")),
		In(events+":has(.kind-price_changed)", In("a", IsText("Acme Quotes")),
			In("time", IsText("20 Nov, 20:45"), HasAttr("datetime", "2026-11-20T20:45:01.000Z")),
			In(".moves", IsText("POST /history/{symbol} xrpl:0 20,000 atomic units of unrecognised token→15,000 "+
				"atomic units of unrecognised token · −25%"))),
		Count(".picks tbody tr", 2),
		Nth(".picks tbody tr", 0, In("th", IsText("AI 7"), In("a[href='/categories/ai.html']")),
			Nth("td", 0, HasText("$0.001 on Solana"), In("a[href='/services/plain-01.html']")),
			Nth("td", 1, HasText("1,234 buyers"))),
		Nth(".picks tbody tr", 1, In("th", HasText("Data")), Nth("td", 1, IsText("not known yet"))),
		In("section[aria-labelledby=categories] .names", HasText("Finance 7")),
		In("section[aria-labelledby=volume] svg.volume"),
		In(".movers tbody tr", HasText("$12.35 +20% up"), In("td[title='$12.345678']")),
		Count(".newest > li", 5),
		Nth(".newest > li", 1, In("a", HasAttr("href", "/services/plain-01.html")), HasText("Safe to pay")),
		Each(".newest > li", NoText("Do not pay")),
		In("section[aria-labelledby=networks] .names", HasText("Base 52"), In("a[href='/networks/bse.html']")),
		In("section[aria-labelledby=machines] a[href='/reference.html']"))
}

// TestHomeStates checks the page of a directory that has little to show.
func TestHomeStates(t *testing.T) {
	t.Parallel()
	none := []Checker{Count(".empty", 1), In(".empty", HasText("No services are listed yet")), NotIn("main h2"),
		NotIn(".pulse"), NotIn("table"), Nth(".figures > div", 0, In("dd", IsText("0"))),
		Nth(".figures > div", 3, In("dd", IsText("—not known")))}
	quiet := []Checker{In("#changes"), In("section[aria-labelledby=changes] .empty", HasText("Nothing changed")),
		NotIn(".counts"), In("#categories", IsText("Categories")), NotIn("table"),
		In("section[aria-labelledby=volume] .empty", HasText("Volume is not known")), NotIn("svg.volume")}
	for _, c := range []struct {
		name     string
		services []site.Listing
		change   func(*site.Snapshot)
		checks   []Checker
	}{
		{name: "none", checks: none},
		{name: "one without a check", services: []site.Listing{unchecked()}, change: func(s *site.Snapshot) {
			s.Services[0].Item.CreatedAt = ago(48 * time.Hour)
		}, checks: append(quiet, Count(".newest > li", 1),
			In(".pulse", IsText("No service has been checked recently.")),
			In("section[aria-labelledby=networks]", HasText("No service has asked for a payment yet.")))},
		{name: "three", services: []site.Listing{plain("a", "A", "online", 0), plain("b", "B", "online", 1),
			plain("c", "C", "online", 2)}, checks: append(quiet, Count(".newest > li", 3),
			In(".pulse", HasText("All 3 services work.")), In(".names", HasText("AI 1")))},
		{name: "none may be paid", services: []site.Listing{plain("a", "A", "online", 0)},
			change: func(s *site.Snapshot) { s.Services[0].Item.AdviceLevel = site.AdviceDoNotPay },
			checks: append(quiet, In("section[aria-labelledby=newest] .empty",
				HasText("No service may be paid now.")))},
		{name: "nothing today", services: []site.Listing{plain("a", "A", "online", 0)},
			change: func(s *site.Snapshot) {
				s.Changes.Feed = []*site.ChangeRecord{ptr(record(&s.Services[0].Detail, site.PayToChanged,
					25*time.Hour, site.PayToSummary{}))}
			},
			checks: []Checker{In(".counts",
				HasText("Nothing changed in the last 24 hours. The latest changes before:")),
				Count(".events > li", 1), In(".events time", IsText("19 Nov 2026"))}},
		{name: "measured without a settlement", services: []site.Listing{plain("a", "A", "online", 0)},
			change: func(s *site.Snapshot) {
				s.Coverage = coverage()
				s.Coverage.Networks[0].Timeseries = nil
			},
			checks: []Checker{In("section[aria-labelledby=volume]", HasText("No settlements in the last 90 days."),
				HasText("No service has enough payments to show a trend yet."), NotIn("svg.volume"))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &site.Snapshot{Now: site.NewTime(now), Services: c.services, Networks: world().Networks[:0]}
			s.Stats.TotalServices, s.Status.Total = len(c.services), len(c.services)
			for i := range c.services {
				if c.services[i].Item.Status == site.StatusOnline {
					s.Status.Online++
				}
			}
			s.Status.Unknown = s.Status.Total - s.Status.Online
			if c.change != nil {
				c.change(s)
			}
			expect(t, newRenderer(t, s).Home, c.checks...)
		})
	}
}
