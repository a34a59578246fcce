package money

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// TestPicture checks that the bars of each column are equally high together, and that bands begin and end at bars.
func TestPicture(t *testing.T) {
	t.Parallel()
	node := func(column, key string, volume site.Decimal) site.FlowNode {
		return site.FlowNode{ID: column + ":" + key, Column: column, Kind: column, Key: key, Name: key, MemberCount: 1,
			VolumeUSD30d: volume, TxCount30d: 1}
	}
	link := func(from, to string, volume site.Decimal) site.FlowLink {
		return site.FlowLink{From: from, To: to, VolumeUSD30d: volume, TxCount30d: 1}
	}
	f := &site.Flow{VolumeUSD30d: new(site.Decimal("4")), TxCount30d: new(int64(2)),
		Nodes: []site.FlowNode{node("facilitator", "f", "3"), node("facilitator", "g", "1"), node("network", "n", "4"),
			node("category", "c", "4"), node("service", "s", "2"), node("service", "t", "2")},
		Links: []site.FlowLink{link("facilitator:f", "network:n", "3"), link("facilitator:g", "network:n", "1"),
			link("network:n", "category:c", "4"), link("category:c", "service:s", "2"),
			link("category:c", "service:t", "2")},
	}
	nothing := func(*site.FlowNode) string { return "" }
	body := NewFlow(f, FlowWords{nothing, nothing})
	heights := map[int]float64{}
	for _, b := range body.Picture.Bars {
		h, err := strconv.ParseFloat(b.Height, 64)
		if err != nil {
			t.Fatal(err)
		}
		heights[b.X] += h
	}
	for i := range site.FlowColumns {
		if h := heights[i*flowStep]; math.Abs(h-flowHeight) > .2 {
			t.Errorf("bars of column %d are %.1f high, want %d", i, h, flowHeight)
		}
	}
	if got := body.Picture.Bands[1].Path; !strings.HasPrefix(got, "M14 339.0C137 339.0 137 319.0 260 319.0") {
		t.Errorf("second band %s, want it to begin at the second bar, below the gap", got)
	}
	if got := body.Picture.Bands[2].Path; got != "M274 34.0C397 34.0 397 34.0 520 34.0V414.0C397 414.0 397 414.0 274 "+
		"414.0z" {
		t.Errorf("third band %s, want the whole height", got)
	}
	if body.Attributed != "100%" || body.Services != 2 || len(body.Stages) != 3 {
		t.Errorf("%s of the volume to %d services in %d tables", body.Attributed, body.Services, len(body.Stages))
	}
}

// TestRows checks how changes are written, and that only a facilitator that grew is marked.
func TestRows(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		ratios []*float64
		want   []string
	}{
		{[]*float64{new(1.5), nil, new(2.25), new(.25)}, []string{"+50%", "", "+125% most", "−75%"}},
		{[]*float64{new(.5), new(1.0)}, []string{"−50%", "+0%"}},
	} {
		n := &site.NetworkCoverage{}
		for _, r := range test.ratios {
			n.Facilitators = append(n.Facilitators, site.NetworkFacilitator{Trend30dVsPrev30d: r})
		}
		var got []string
		for _, r := range newRows(n) {
			if r.Most {
				r.Change += " most"
			}
			got = append(got, r.Change)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	}
}

// TestMarket checks shares, the floor of changes, and that test networks and categories without a measure are left out.
func TestMarket(t *testing.T) {
	t.Parallel()
	on := func(id, volume, before string, trend float64) site.NetworkFacilitator {
		return site.NetworkFacilitator{FacilitatorID: id, Name: id, VolumeUSD30d: site.Decimal(volume),
			VolumeUSDPrev30d: site.Decimal(before), Trend30dVsPrev30d: &trend}
	}
	facilitator := func(id, volume string) site.FacilitatorDetail {
		return site.FacilitatorDetail{FacilitatorListItem: site.FacilitatorListItem{FacilitatorID: id, Name: id,
			VolumeUSD30d: site.Decimal(volume)}}
	}
	s := &site.Snapshot{Facilitators: []site.FacilitatorDetail{facilitator("idle", "0"), facilitator("small", "0.5"),
		facilitator("large", "99.5")}}
	s.Coverage.Networks = []site.NetworkCoverage{
		{NetworkCAIP2: "test:1", Measured: true, IsMainnet: new(false), Facilitators: []site.NetworkFacilitator{
			on("small", "7", "1", 7)}},
		{NetworkCAIP2: "main:1", Measured: true, IsMainnet: new(true), Facilitators: []site.NetworkFacilitator{
			on("large", "49.5", "33", 1.5), on("small", "0.5", "0.1", 5)}},
		{NetworkCAIP2: "main:2", Measured: true, IsMainnet: new(true), Facilitators: []site.NetworkFacilitator{
			on("large", "50", "100", .5)}},
	}
	weeks := func(prices ...site.Decimal) (list []site.CategoryWeek) {
		for i, price := range prices {
			list = append(list, site.CategoryWeek{Week: "2026-11-0" + strconv.Itoa(2+7*i), MedianUSD: price})
		}
		return list
	}
	s.Tags = []site.Tag{{Tag: "AI", PriceWeeks: weeks("0.02", "0.03")}, {Tag: "Code", PriceWeeks: weeks("0.02")},
		{Tag: "Web", PriceWeeks: weeks("0.02", "0.02")}, {Tag: "Data", PriceWeeks: weeks("1", "0.5"), Demand: &site.CategoryDemand{OrganicVolumeUSD30d: "3"}},
		{Tag: "Media", Demand: &site.CategoryDemand{OrganicVolumeUSD30d: "9"}}}
	m := NewMarket(s, func(id string) Chip { return Chip{Label: id, Title: id} }, func(string) string { return "" })
	var got []string
	for i, n := range m.Networks {
		got = append(got, n.Label+" "+n.Share)
		for _, r := range m.Rows {
			got = append(got, r.Name+" "+r.Cells[i].Share+" "+r.Cells[i].Change)
		}
	}
	for _, v := range m.Movers {
		got = append(got, v.Name+" "+v.On.Label+" "+v.Change)
	}
	for _, d := range m.Demand {
		got = append(got, d.Name+" "+d.Share)
	}
	for _, p := range m.Prices {
		got = append(got, p.Name+" "+p.Since+" "+p.Way+" "+p.Change)
	}
	want := []string{"main:1 50%", "large 99% +50%", "small 1% +400%", "main:2 50%", "large 100% −50%", "small  ",
		"large main:2 −50%", "large main:1 +50%", "Media 75%", "Data 25%",
		"AI 2 Nov 2026 up +50%", "Web 2 Nov 2026 unchanged ", "Data 2 Nov 2026 down −50%"}
	if diff := cmp.Diff(want, got); diff != "" || m.Floor != "1" {
		t.Errorf("a floor of %s, rows differ (-want +got):\n%s", m.Floor, diff)
	}
}
