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
	body := NewFlow(f, func(*site.FlowNode) string { return "" })
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
