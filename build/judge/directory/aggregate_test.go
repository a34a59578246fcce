package directory_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tollbook/build/judge/directory"
	"tollbook/site"
	"tollbook/site/postgres/ledger"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) *site.Time { return new(site.NewTime(now.Add(-d))) }

const day = 24 * time.Hour

// TestStatus checks which services count as delisted, offline, and offline for 30 days.
func TestStatus(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		detail site.ServiceDetail
		want   site.StatusSummary
	}{
		{"online", site.ServiceDetail{Status: site.StatusOnline},
			site.StatusSummary{Online: 1, ListedTotal: 1}},
		{"offline since yesterday", site.ServiceDetail{Status: site.StatusOffline, LastSuccessAt: before(day)},
			site.StatusSummary{Offline: 1, ListedTotal: 1, ListedOffline: 1}},
		{"offline for 30 days", site.ServiceDetail{Status: site.StatusOffline, LastSuccessAt: before(30 * day)},
			site.StatusSummary{Offline: 1, ListedTotal: 1, ListedOffline: 1, Offline30dPlus: 1}},
		{"never online, listed yesterday", site.ServiceDetail{Status: site.StatusOffline, CreatedAt: *before(day)},
			site.StatusSummary{Offline: 1, ListedTotal: 1, ListedOffline: 1}},
		{"never online, listed long ago", site.ServiceDetail{Status: site.StatusOffline, CreatedAt: *before(40 * day)},
			site.StatusSummary{Offline: 1, ListedTotal: 1, ListedOffline: 1, Offline30dPlus: 1}},
		{"retired", site.ServiceDetail{Status: site.StatusOffline, LastSuccessAt: before(40 * day),
			DelistedAt: before(day)}, site.StatusSummary{Offline: 1, Delisted: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, s := directory.NewAggregate(1, now), site.Snapshot{}
			c.Add(&test.detail)
			c.Finish(&s, 0, 0, nil)
			test.want.Total = 1
			if diff := cmp.Diff(test.want, s.Status, cmpopts.IgnoreFields(site.StatusSummary{},
				"Services")); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if got, want := s.Status.Services[0].Listed, test.detail.DelistedAt == nil; got != want {
				t.Errorf("listed is %v, want %v", got, want)
			}
		})
	}
}

// TestFreshness counts networks and facilitators by the age of what was read.
func TestFreshness(t *testing.T) {
	t.Parallel()
	on := func(enabled bool, networks ...string) (f site.FacilitatorDetail) {
		for _, n := range networks {
			f.Settlers = append(f.Settlers, site.FacilitatorSettler{NetworkCAIP2: n, Enabled: enabled})
		}
		return f
	}
	network := func(id string, cursor *site.ChainCursor) site.NetworkCoverage {
		return site.NetworkCoverage{NetworkCAIP2: id, Cursor: cursor}
	}
	s := site.Snapshot{Now: site.NewTime(now), Facilitators: []site.FacilitatorDetail{
		on(true, "fresh", "unread"), on(true, "fresh", "late"), on(true, "unknown"), on(false, "late"), on(true)}}
	s.Coverage.Networks = []site.NetworkCoverage{network("fresh", &site.ChainCursor{AgeSeconds: new(int64(3600))}),
		network("late", &site.ChainCursor{AgeSeconds: new(int64(3601))}), network("unknown", &site.ChainCursor{}),
		network("unread", nil)}
	directory.NewAggregate(0, now).Finish(&s, 0, 0, nil)
	want := site.FlowFreshness{OldestCursorAgeSeconds: new(int64(3601)), TotalSyncGroups: 3, StaleSyncGroups: 2,
		TotalFacilitators: 3, StaleFacilitators: 2}
	if diff := cmp.Diff(want, s.Stats.Traction.MeasuredFlowFreshness); diff != "" {
		t.Errorf("freshness (-want +got):\n%s", diff)
	}
}

// TestTraction checks the sums over measured services: a part of what facilitators settle, and the largest shares. They
// are null if no network is measured.
func TestTraction(t *testing.T) {
	t.Parallel()
	services := make([]site.ServiceDetail, 12)
	for i := range services {
		traction := &services[i].Assessment.Traction
		traction.Status = site.TractionUnmeasured
		if i > 0 { // eleven are measured: $20, and $2 ten times
			*traction = site.Traction{Status: site.TractionMeasured, VolumeUSD30d: new(site.Decimal("2")),
				TxCount30d: new(int64(3)), OrganicVolumeUSD30d: new(site.Decimal("0.5")),
				OrganicTxCount30d: new(int64(1))}
		}
	}
	services[5].Assessment.Traction.VolumeUSD30d = new(site.Decimal("20"))
	services[5].Verified, services[5].PaymentReady = true, true
	services[5].CreatedAt, services[6].CreatedAt = *before(6 * day), *before(29 * day)
	settled := site.Decimal("70.5") // by the first facilitator
	sum := func(networks ...site.NetworkCoverage) site.AggregateStats {
		s := site.Snapshot{Now: site.NewTime(now), Facilitators: []site.FacilitatorDetail{{}, {}}}
		s.Facilitators[0].VolumeUSD30d, s.Facilitators[1].VolumeUSD30d = settled, "9.5"
		s.Coverage.Networks = networks
		c := directory.NewAggregate(len(services), now)
		for i := range services {
			c.Add(&services[i])
		}
		c.Finish(&s, 1.5, 2, nil)
		return s.Stats
	}
	got := sum(
		site.NetworkCoverage{Measured: true, MeasuredSince: before(90 * day),
			Cursor: &site.ChainCursor{AgeSeconds: new(int64(9))}},
		site.NetworkCoverage{},
		site.NetworkCoverage{Measured: true, MeasuredSince: before(60 * day),
			Cursor: &site.ChainCursor{AgeSeconds: new(int64(30))}},
	)
	texts := cmpopts.IgnoreFields(site.DirectoryTraction{}, "Method", "Caveat")
	if diff := cmp.Diff(site.DirectoryTraction{
		AsOf: site.NewTime(now), VolumeUSD30d: new(site.Decimal("40")), SettlementCount30d: new(int64(33)),
		OrganicVolumeUSD30d: new(site.Decimal("5.5")), OrganicSettlementCount30d: new(int64(11)),
		MeasuredServices: 11, MeasuredNetworks: 2, CoverageOfMeasuredFlowPct: new(50.0),
		MeasuredFlowFreshness: site.FlowFreshness{OldestCursorAgeSeconds: new(int64(30)), TotalSyncGroups: 2},
		Top1ServiceSharePct:   new(50.0), Top10ServicesSharePct: new(95.0),
	}, got.Traction, texts); diff != "" {
		t.Errorf("traction (-want +got):\n%s", diff)
	}
	services[7].Assessment.Traction.OrganicVolumeUSD30d = nil
	if got := sum(site.NetworkCoverage{Measured: true}).Traction; got.OrganicVolumeUSD30d != nil ||
		got.OrganicSettlementCount30d != nil || *got.VolumeUSD30d != "40" {
		t.Errorf("the organic sums without a service's are %v and %v", got.OrganicVolumeUSD30d,
			got.OrganicSettlementCount30d)
	}
	if diff := cmp.Diff(site.AggregateStats{
		TotalServices: 12, Networks: []site.StatsNetwork{}, ChecksPerHour: 1.5, OptedOut: 2, VerifiedCount: 1,
		PaymentReadyCount: 1, ListingGrowth: site.ListingGrowth{New7d: 1, New30d: 2}, ComputedAt: site.NewTime(now),
		FacilitatorVolumeUSD30d: new(site.Decimal("80")),
		OnChainMeasurement: site.OnChainMeasurement{MeasuredSince: before(90 * day),
			AllNetworksMeasuredSince: before(60 * day), Note: got.OnChainMeasurement.Note},
	}, got, cmpopts.IgnoreFields(site.AggregateStats{}, "Traction", "FacilitatorVolumeNote",
		"AvgUptimeMethod", "TotalNetworksNote")); diff != "" {
		t.Errorf("statistics (-want +got):\n%s", diff)
	}
	unmeasured := sum(site.NetworkCoverage{})
	if diff := cmp.Diff(site.DirectoryTraction{AsOf: site.NewTime(now), MeasuredServices: 11}, unmeasured.Traction,
		texts); diff != "" {
		t.Errorf("traction without a measured network (-want +got):\n%s", diff)
	}
	if unmeasured.FacilitatorVolumeUSD30d != nil {
		t.Errorf("volume of facilitators without a measured network: %s, want null",
			*unmeasured.FacilitatorVolumeUSD30d)
	}
	settled = "1" // less than the services received, of which one was judged by an earlier build
	if share := sum(site.NetworkCoverage{Measured: true}).Traction.CoverageOfMeasuredFlowPct; share != nil {
		t.Errorf("coverage of less flow than the services': %v, want null", *share)
	}
}

// TestDemand checks what was bought of the services of each category: null without a measured one, and if one has
// figures of an earlier build.
func TestDemand(t *testing.T) {
	t.Parallel()
	measured := func(category, usd string, settlements int64) (d site.ServiceDetail) {
		d.Category = category
		d.Assessment.Traction = site.Traction{Status: site.TractionMeasured, VolumeUSD30d: new(site.Decimal("9")),
			TxCount30d: new(int64(9)), OrganicTxCount30d: new(settlements)}
		if usd != "" {
			d.Assessment.Traction.OrganicVolumeUSD30d = new(site.Decimal(usd))
		}
		return d
	}
	services := []site.ServiceDetail{measured("AI", "0.5", 1), measured("AI", "1.25", 2), measured("Data", "0", 0),
		measured("Old", "", 1), measured("Redeemed", "3", 4), {Category: "Other"}}
	c := directory.NewAggregate(len(services), now)
	for i := range services {
		c.Add(&services[i])
	}
	s := site.Snapshot{Tags: []site.Tag{{Tag: "AI"}, {Tag: "Data"}, {Tag: "Old"}, {Tag: "Redeemed"}, {Tag: "Other"}}}
	c.Finish(&s, 0, 0, []ledger.CategoryBuyers{{Category: "AI", Buyers: 2, Returning30d: 1}})
	if diff := cmp.Diff([]site.Tag{
		{Tag: "AI", Demand: &site.CategoryDemand{MeasuredServices: 2, OrganicVolumeUSD30d: "1.75", OrganicTxCount30d: 3,
			OrganicBuyers30d: new(int64(2)), ReturningBuyers30d: new(int64(1))}},
		{Tag: "Data", Demand: &site.CategoryDemand{MeasuredServices: 1, OrganicVolumeUSD30d: "0",
			OrganicBuyers30d: new(int64(0)), ReturningBuyers30d: new(int64(0))}},
		{Tag: "Old"},
		{Tag: "Redeemed", Demand: &site.CategoryDemand{MeasuredServices: 1, OrganicVolumeUSD30d: "3",
			OrganicTxCount30d: 4}}, // no settlement names a payer
		{Tag: "Other"},
	}, s.Tags); diff != "" {
		t.Errorf("demand (-want +got):\n%s", diff)
	}
}
