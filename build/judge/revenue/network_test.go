package revenue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// TestAddNetworks compares the last 30 days with the 30 before, by network: the first and the last day of each period
// count. The trend compares the 30 days that end with yesterday. A facilitator whose first settlement on the network is
// younger than 60 days has no trend.
func TestAddNetworks(t *testing.T) {
	t.Parallel()
	point := func(date, network string, volume site.Decimal) site.FacilitatorPoint {
		return site.FacilitatorPoint{Date: date, NetworkCAIP2: &network, VolumeUSD: volume, TxCount: 2}
	}
	newFacilitator := func(id, since string, points ...site.FacilitatorPoint) site.FacilitatorDetail {
		at, err := time.Parse(time.DateOnly, since)
		if err != nil {
			t.Fatal(err)
		}
		chains := []site.FacilitatorChain{{NetworkCAIP2: base, FirstActivityAt: new(site.NewTime(at))}}
		return site.FacilitatorDetail{ChainDays: points, FacilitatorListItem: site.FacilitatorListItem{
			FacilitatorID: id, Name: id, Chains: chains}}
	}
	s := &site.Snapshot{Now: site.NewTime(now), Facilitators: []site.FacilitatorDetail{
		newFacilitator("grown", "2026-01-01", point("2026-09-24", base, "7"), point("2026-09-25", base, "1.5"),
			point("2026-10-23", base, "0.5"), point("2026-10-24", base, "0.5"), point("2026-10-25", base, "2"),
			point("2026-11-22", base, "2"), point("2026-11-23", base, "3"), point("2026-11-23", sepolia, "9")),
		newFacilitator("idle", "2026-01-01", point("2026-09-24", base, "7")),
		newFacilitator("young", "2026-09-25", point("2026-10-01", base, "1"), point("2026-11-01", base, "8")),
	}}
	for _, id := range []string{base, sepolia, "eip155:137"} {
		s.Coverage.Networks = append(s.Coverage.Networks, site.NetworkCoverage{NetworkCAIP2: id,
			Measured: id != "eip155:137"})
	}
	AddNetworks(s)
	want := []site.NetworkFacilitator{
		{FacilitatorID: "young", Name: "young", VolumeUSD30d: "8", VolumeUSDPrev30d: "1", TxCount30d: 2},
		{FacilitatorID: "grown", Name: "grown", VolumeUSD30d: "7", VolumeUSDPrev30d: "2.5", TxCount30d: 6,
			Trend30dVsPrev30d: new(0.5)},
	}
	if diff := cmp.Diff(want, s.Coverage.Networks[0].Facilitators); diff != "" {
		t.Errorf("facilitators (-want +got):\n%s", diff)
	}
	for _, n := range s.Coverage.Networks[1:] {
		if diff := cmp.Diff([]site.NetworkFacilitator{}, n.Facilitators); diff != "" {
			t.Errorf("facilitators of %s (-want +got):\n%s", n.NetworkCAIP2, diff)
		}
	}
}

// TestListTokens checks that days of several facilitators are summed by token, that a token without a value has none,
// and that other networks and tokens without a settlement are left out.
func TestListTokens(t *testing.T) {
	t.Parallel()
	chain := func(network, token string, hasValue bool, days ...site.VolumePoint) site.FacilitatorChain {
		c := site.FacilitatorChain{NetworkCAIP2: network, TokenAddress: token, AssetName: token, Days: days}
		if hasValue {
			c.VolumeUSDAll = new(site.Decimal("0"))
		}
		return c
	}
	day := func(date string, volume site.Decimal, n int64) site.VolumePoint {
		return site.VolumePoint{Date: date, VolumeUSD: volume, TxCount: n}
	}
	facilitators := []site.FacilitatorDetail{
		{FacilitatorListItem: site.FacilitatorListItem{Chains: []site.FacilitatorChain{
			chain(base, "usd", true, day("2026-11-20", "0", 0), day("2026-11-21", "0.1", 1), day("2026-11-23", "2", 2)),
			chain(base, "none", true, day("2026-11-23", "0", 0)),
			chain(sepolia, "usd", true, day("2026-11-23", "9", 9)),
		}}},
		{FacilitatorListItem: site.FacilitatorListItem{Chains: []site.FacilitatorChain{
			chain(base, "coin", false, day("2026-11-22", "0", 5)),
			chain(base, "usd", true, day("2026-11-22", "4", 1), day("2026-11-23", "0.000001", 3)),
		}}},
	}
	want := []site.TokenSeries{
		{TokenAddress: "coin", AssetName: "coin", Timeseries: []site.TokenPoint{{Date: "2026-11-22", TxCount: 5}}},
		{TokenAddress: "usd", AssetName: "usd", Timeseries: []site.TokenPoint{
			{Date: "2026-11-21", VolumeUSD: new(site.Decimal("0.1")), TxCount: 1},
			{Date: "2026-11-22", VolumeUSD: new(site.Decimal("4")), TxCount: 1},
			{Date: "2026-11-23", VolumeUSD: new(site.Decimal("2.000001")), TxCount: 5}}},
	}
	if diff := cmp.Diff(want, listTokens(facilitators, base)); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}
