package render_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tollbook/render"
	. "tollbook/render/htmlcheck"
	"tollbook/site"
	"tollbook/site/testgate"
)

// TestVolumeDays checks the charts of all volume divided by facilitator and by network, and their tables and files.
func TestVolumeDays(t *testing.T) {
	t.Parallel()
	s := world()
	point := func(daysAgo int, volume string, count int64) site.VolumePoint {
		return site.VolumePoint{Date: now.AddDate(0, 0, -daysAgo).Format(time.DateOnly),
			VolumeUSD: site.Decimal(volume), TxCount: count}
	}
	s.Coverage.Networks = []site.NetworkCoverage{
		{NetworkCAIP2: solana, Measured: true, MeasuredSince: ptr(ago(9 * dayTime)),
			Timeseries: []site.VolumePoint{point(1, "0.25", 3)}},
		{NetworkCAIP2: base, Measured: true, MeasuredSince: ptr(ago(9 * dayTime)),
			Timeseries: []site.VolumePoint{point(2, "2", 1), point(1, "0.500001", 2)}},
		{NetworkCAIP2: "eip155:137", Measured: true, MeasuredSince: ptr(ago(9 * dayTime)),
			Timeseries: []site.VolumePoint{}},
		{NetworkCAIP2: "eip155:1", Timeseries: []site.VolumePoint{}},
		{NetworkCAIP2: "eip155:84532", Measured: true, IsMainnet: ptr(false), Timeseries: []site.VolumePoint{}},
	}
	for i := range s.Facilitators {
		s.Facilitators[i].Timeseries = nil
	}
	s.Facilitators[0].Timeseries = []site.VolumePoint{point(2, "2", 1), point(1, "0.750001", 5)}
	page := facilitatorsPage(t, s)
	charts, rows := ".splits > .tab", "#volume-by-network tbody tr"
	expect(t, page, Count(charts, 2),
		Nth(charts, 1, In("figcaption", HasText("$2.75 on 2 of the last 90 days; maximum $2.00 on 18 Nov 2026.")),
			In(".y", IsText("$2$1.50$1$0.50$0")), In(".gap", HasAttr("class", "gap")),
			In("svg[role=img] .part-1", HasAttr("d", "M874 200V0M884 200V150")),
			In("svg[role=img] .part-2", HasAttr("d", "M884 149V125")),
			Nth(".parts > li", 0, In("a[href='/networks/bse.html']", IsText("Base")),
				In("[title='$2.500001']", IsText("$2.50, 90.91%"))),
			Nth(".parts > li", 1, HasText("Solana $0.25, 9.09%"))),
		In("section[aria-labelledby=days]", HasText("no settlements in the last 90 days: Polygon.")),
		Count(rows, 2), Nth(rows, 0, HasText("18 Nov 2026 $2 $2 none")),
		Nth(rows, 1, HasText("19 Nov 2026 $0.750001 $0.500001 $0.25")))
	want := "day,total,eip155:8453," + solana + "\r\n2026-11-18,2,2,0\r\n2026-11-19,0.750001,0.500001,0.25\r\n"
	files := slices.DeleteFunc(newRenderer(t, s).VolumeFiles(), func(f render.Asset) bool {
		return !strings.HasSuffix(f.Key, ".csv")
	})
	if got := string(files[1].Bytes); len(files) != 3 || files[1].Key != "v1/coverage/by-network.csv" || got != want {
		t.Errorf("%d files, the second %s\n%s\nwant\n%s", len(files), files[1].Key, got, want)
	}
	if got := string(files[2].Bytes); got != "day,total\r\n" {
		t.Errorf("the file of tokens is %q without any", got)
	}
	s.Coverage.Networks, s.Facilitators = nil, nil
	expect(t, page, NotIn("#days"))
}

// TestFacilitatorOrders checks that the heads of the columns sort the list, and that unknown growth is last.
func TestFacilitatorOrders(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	s := world()
	s.Facilitators = nil
	for _, f := range []struct {
		id    string
		usd   site.Decimal
		week  *float64
		month *float64
	}{{"slow", "9", new(.5), nil}, {"young", "8", nil, nil}, {"fast", "7", new(3.0), new(1.25)}} {
		s.Facilitators = append(s.Facilitators, site.FacilitatorDetail{Trend7dVsPrev7d: f.week,
			Trend30dVsPrev30d: f.month, FacilitatorListItem: site.FacilitatorListItem{FacilitatorID: f.id, Name: f.id,
				Verification: site.VerificationOnChain, TxCountAll: 1, VolumeUSD30d: f.usd}})
	}
	order := func(order string) func() ([]byte, error) {
		return func() ([]byte, error) { return newRenderer(t, s).FacilitatorsPage(order) }
	}
	rows, weeks := ".facilitators tbody tr", ".facilitators [data-label='Growth, 7 days']"
	for _, c := range []struct {
		order string
		want  []string
	}{
		{site.OrderVolume, []string{"1. slow", "2. young", "3. fast"}},
		{site.OrderGrowth7d, []string{"1. fast", "2. slow", "3. young"}},
		{site.OrderGrowth30d, []string{"1. fast", "2. slow", "3. young"}},
	} {
		expect(t, order(c.order), Nth(rows, 0, HasText(c.want[0])), Nth(rows, 1, HasText(c.want[1])),
			Nth(rows, 2, HasText(c.want[2])), Count(".facilitators [aria-sort=descending]", 1),
			Count(".facilitators thead a", 3))
	}
	expect(t, order(site.OrderVolume), Nth(weeks, 0, IsText("−50%")), Nth(weeks, 1, In(".none")),
		Nth(weeks, 2, IsText("+200%")), In("thead a[href='/facilitators/sort=growth_7d.html#ranked']"))
}
