package render_test

import (
	"testing"

	. "tollbook/render/htmlcheck"
	"tollbook/site"
)

func TestFacilitatorsPage(t *testing.T) {
	t.Parallel()
	expect(t, facilitatorsPage(t, world()),
		In("title", IsText("Facilitators · Tollbook")),
		In("link[rel=alternate]",
			HasAttr("href", "/v1/facilitators/timeframe=30d/include=timeseries/days=90/per_page=100/page=1.json")),
		In(".figures", HasText("$1,234,568"), HasText("812,345")),
		In(".facilitators tbody tr:first-child", HasText("$123,456,789,012.35"),
			In("a", HasAttr("href", "/facilitators/loud.rs.html"))),
		In(".facilitators tbody tr:nth-child(2)", HasText("2."), HasText("Acme Pay"), HasText("$1,234,567.89"),
			In("svg[role=img][aria-label]"),
			In("td[title='$1,234,567.891011']")),
		NotIn(".facilitators tbody tr:nth-child(3)"),
		In("section[aria-labelledby=listed]", In("a[href='/facilitators/quiet.html']", IsText("Quiet"))),
		In("nav a[aria-current=page]", IsText("Market")))
	s := world()
	s.Facilitators = append(s.Facilitators, site.FacilitatorDetail{
		FacilitatorListItem: site.FacilitatorListItem{FacilitatorID: "far", Name: "Far", WebsiteURL: "https://far.test",
			Verification: site.VerificationOnChain},
		Settlers: []site.FacilitatorSettler{{Kind: site.SettlerAccount, NetworkCAIP2: "eip155:42220"}},
	})
	expect(t, facilitatorsPage(t, s), In("section[aria-labelledby=unread]", In("a", IsText("Far"))),
		In(".facilitators", NoText("Far")))
	expect(t, func() ([]byte, error) {
		return newRenderer(t, s).FacilitatorPage(&s.Facilitators[3])
	}, In(".empty", HasText("unknown, not zero")), NotIn(".figures"))
	expect(t, facilitatorsPage(t, &site.Snapshot{Now: site.NewTime(now)}),
		In(".empty", HasText("No facilitator is measured")), NotIn("#listed"))
}

func TestFacilitatorPage(t *testing.T) {
	t.Parallel()
	e, all := newRenderer(t, world()), facilitators()
	page := func(i int) func() ([]byte, error) {
		return func() ([]byte, error) { return e.FacilitatorPage(&all[i]) }
	}
	expect(t, page(0),
		In("link[rel=alternate]", HasAttr("href", "/v1/facilitators/acme-pay.json")),
		In("h1", IsText("Acme Pay")), In(".badge", IsText("measured on chain")),
		In(".figures", HasText("$1,234,568"), HasText("$12.50")),
		In("svg.volume[role=img] path.bar"),
		In("figcaption", HasText("Measured since 27 Aug 2026")),
		In(".twin table.log caption", HasText("oldest first")),
		In(".chains tbody tr:first-child", HasText("Base"), HasText("41")),
		In(".chains tbody tr:nth-child(2)", HasText("EURC"), In(".none")), // no dollars are known
		In(".served", In("a[href='/services/acme.html']"), HasText("$1,234.50")),
		In("section[aria-labelledby=services]", HasText("and 1 more")),
		In("section[aria-labelledby=accounts]", In("code", HasAttr("title", payTo)), HasText("no longer used")))
	expect(t, page(1), NotIn("a[href^=javascript]"))
	expect(t, page(2), In(".tag", IsText("not measured")), NotIn(".figures"), NotIn("svg.volume"),
		In("#volume ~ .empty", HasText("unknown, not zero")),
		In("section[aria-labelledby=accounts] .empty", IsText("This facilitator has published no settlement "+
			"accounts.")))
}

func TestCoveragePage(t *testing.T) {
	t.Parallel()
	expect(t, newRenderer(t, world()).CoveragePage,
		In("h1", IsText("Coverage and gaps")),
		In("link[rel=alternate]", HasAttr("href", "/v1/coverage.json")),
		In(".covered tbody tr:first-child", HasText("Base"), HasText("measured"), HasText("27 Aug 2026"),
			HasText("23,456,789"), HasText("60\u00a0s")),
		In(".covered tbody tr:nth-child(2)", HasText("catching up"), In(".none")),
		In(".covered tbody tr:nth-child(3)", HasText("not measured")),
		In(".covered tbody tr:nth-child(4)", HasText("test network")),
		In(".seen", HasText("10%"), HasText("123,456")),
		In("section[aria-labelledby=candidates]", HasText("1,234"), HasText("$12.34")),
		In(".quality tbody tr:nth-child(4)", HasText("$999,000.00"), In("rect[width='81']")),
		In("section[aria-labelledby=operators]", HasText("53\u00a0services belong to 51\u00a0operators"),
			HasText("acme.com"),
			In("a[href='/services/plain-00.html']")))
	expect(t, newRenderer(t,
		&site.Snapshot{Now: site.NewTime(now), Coverage: site.CoverageReport{AsOf: site.NewTime(now)}}).
		CoveragePage,
		In("section[aria-labelledby=networks] .empty"), In("section[aria-labelledby=unattributed] .empty"),
		In("section[aria-labelledby=candidates] .empty"), In("section[aria-labelledby=operators] .empty"))
}

func TestSettledOfAService(t *testing.T) {
	t.Parallel()
	e := newRenderer(t, world())
	in := func(checks ...Checker) Checker { return In("section[aria-labelledby=settled]", checks...) }
	expect(t, servicePage(e, acme()), in(
		In("svg.volume path.gap"), HasText("$1,234.57"), HasText("93.21%"), HasText("concentrated"),
		HasText("+23%"), HasText("$0.0025"),
		// a facilitator that is no longer listed
		In("a[href='/facilitators/acme-pay.html']", IsText("Acme Pay")), HasText("gone"),
		HasText("Shares a recipient with 1 other service"), In("a[href='/services/plain-00.html']"),
		In("a[href='/coverage.html']"), In("a[href='/v1/services/acme/volume/period=all.json']"),
		In("a[href='/v1/services/acme/buyers/period=all.json']")))
	for _, status := range []string{site.TractionNoPayTo, site.TractionUnmeasured, site.TractionUnresponsive} {
		l := acme()
		l.Detail.Assessment.Traction = site.Traction{Status: status, Caveat: "Why there is nothing, by " + status + "."}
		expect(t, servicePage(e, l), in(In(".empty", IsText("Why there is nothing, by "+status+".")), NotIn("svg"),
			NotIn("dl")))
	}
	l := acme()
	l.Volume = nil
	l.Detail.Assessment.Traction = site.Traction{Status: site.TractionMeasured, VolumeUSD30d: new(site.Decimal("0")),
		TxCount30d: new(int64(0)), UniqueBuyers30d: new(int64(0)),
		VolumeUSDAllTime: new(site.Decimal("0")), TxCountAllTime: new(int64(0)), MeasuredNetworks: []string{base}}
	expect(t, servicePage(e, l), in(HasText("We checked: none."), NotIn("svg.volume"), HasText("First settlement none"),
		In(".none")))
}

// facilitatorsPage returns the list of facilitators by volume.
func facilitatorsPage(t *testing.T, s *site.Snapshot) func() ([]byte, error) {
	return func() ([]byte, error) { return newRenderer(t, s).FacilitatorsPage(site.OrderVolume) }
}
