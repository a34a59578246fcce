package revenue

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

const (
	base    = "eip155:8453"
	sepolia = "eip155:84532"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// newDetail returns a measured facilitator that settled a volume on each of the last 90 days.
func newDetail(volume func(age int) site.Decimal, first time.Time) *site.FacilitatorDetail {
	d := &site.FacilitatorDetail{FacilitatorListItem: site.FacilitatorListItem{FacilitatorID: "acme",
		Verification: site.VerificationOnChain, FirstActivityAt: new(site.NewTime(first))}}
	for age := site.SeriesDays - 1; age >= 0; age-- {
		date := now.AddDate(0, 0, -age).Format(time.DateOnly)
		d.Timeseries = append(d.Timeseries, site.VolumePoint{Date: date, VolumeUSD: volume(age), TxCount: 1})
		d.Days = append(d.Days, site.FacilitatorPoint{Date: date, VolumeUSD: volume(age), TxCount: 1})
	}
	return d
}

func TestTrend(t *testing.T) {
	t.Parallel()
	today := now.Truncate(24 * time.Hour)
	steady := func(int) site.Decimal { return "1.5" }
	for _, c := range []struct {
		name   string
		volume func(age int) site.Decimal
		first  time.Time
		want   *float64
		month  *float64
	}{
		{"steady", steady, today.AddDate(0, 0, -60), new(1.0), new(1.0)},
		{"part of today", func(age int) site.Decimal {
			if age == 0 {
				return "0.1"
			}
			return "1.5"
		}, today.AddDate(0, 0, -60), new(1.0), new(1.0)},
		{"young for a month", steady, today.AddDate(0, 0, -60).Add(time.Second), new(1.0), nil},
		{"third", func(age int) site.Decimal {
			if age <= 7 {
				return "1"
			}
			return "3"
		}, today.AddDate(0, 0, -14), new(0.3333), nil},
		{"young", steady, today.AddDate(0, 0, -14).Add(time.Second), nil, nil},
		{"nothing before", func(age int) site.Decimal {
			if age <= 7 || age > 14 {
				return "1"
			}
			return "0"
		}, today.AddDate(0, 0, -100), nil, new(0.7667)},
	} {
		d := newDetail(c.volume, c.first)
		AddFacilitator(d, now)
		got := []*float64{d.Trend7dVsPrev7d, d.Trend30dVsPrev30d}
		if diff := cmp.Diff([]*float64{c.want, c.month}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestAverages checks that tokens without a dollar value and test networks count in no average, and that a facilitator
// which is not measured has no figures.
func TestAverages(t *testing.T) {
	t.Parallel()
	dollars := func(network string, d30, all site.Decimal, n30, n int64) site.FacilitatorChain {
		return site.FacilitatorChain{NetworkCAIP2: network, VolumeUSD30d: &d30, VolumeUSDAll: &all, TxCount30d: n30,
			TxCountAll: n}
	}
	chains := []site.FacilitatorChain{dollars(base, "2", "10", 3, 4), dollars(sepolia, "900", "900", 1, 1),
		{NetworkCAIP2: base, TxCount30d: 100, TxCountAll: 100}}
	for _, c := range []struct {
		name, verification string
		chains             []site.FacilitatorChain
		avg30, avgAll      *site.Decimal
		buyers             *int64
		caveat             string
	}{
		{"measured", site.VerificationOnChain, chains, new(site.Decimal("0.666667")), new(site.Decimal("2.5")),
			new(int64(12)), "lower bounds"},
		{"listed", site.VerificationListed, chains, nil, nil, nil, "unknown, not zero"},
		{"idle", site.VerificationOnChain, chains[1:], nil, nil, new(int64(12)), "without a settlement in dollars"},
	} {
		d := newDetail(func(int) site.Decimal { return "0" }, now)
		d.Verification, d.Chains = c.verification, c.chains
		d.Buyers.ByChain = []site.FacilitatorBuyers{{NetworkCAIP2: base, UniqueBuyers30d: new(int64(5))},
			{NetworkCAIP2: sepolia}, {NetworkCAIP2: base, UniqueBuyers30d: new(int64(7))}}
		AddFacilitator(d, now)
		if diff := cmp.Diff([]any{c.avg30, c.avgAll, c.buyers}, []any{d.AvgSettlementUSD30d, d.AvgSettlementUSDAll,
			d.Buyers.TotalUpperBound30d}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if !strings.Contains(d.Caveat, c.caveat) {
			t.Errorf("%s: the caveat %q does not say %q", c.name, d.Caveat, c.caveat)
		}
		if len(d.Series) != 30 || d.Series[0].Date != "2026-10-25" || len(d.SeriesOf("all", "total")) != 90 {
			t.Errorf("%s: series of %d days from %v", c.name, len(d.Series), d.Series[0])
		}
	}
}

// TestServices counts two services that shared a recipient, of which one left it before the facilitator began.
func TestServices(t *testing.T) {
	t.Parallel()
	s := &site.Snapshot{Facilitators: []site.FacilitatorDetail{
		{FacilitatorListItem: site.FacilitatorListItem{FacilitatorID: "acme", Verification: site.VerificationOnChain}},
		{FacilitatorListItem: site.FacilitatorListItem{FacilitatorID: "quiet", Verification: site.VerificationListed}},
	}}
	rows := []site.SettledToken{{FacilitatorID: "acme", Days: []site.SettledDay{{Date: "2026-10-01"}}}}
	v := NewFacilitatorServices(s)
	for _, l := range []struct {
		slug   string
		until  *string
		tokens []site.SettledToken
		usd    site.Decimal // of 30 days
	}{
		{"a", nil, rows, "1"},
		{"b", new("2026-09-30"), nil, ""},
		{"c", new("2026-10-01"), nil, ""},
		{"d", nil, nil, "2"},
	} {
		detail := site.ServiceDetail{Slug: l.slug, Name: l.slug, Status: site.StatusOnline}
		if l.usd != "" {
			detail.Assessment.Traction.SettledViaDetail = []site.SettledVia{{ID: "acme", VolumeUSD30d: l.usd}}
		}
		v.Add(&site.Listing{ListingDetail: &site.ListingDetail{Detail: detail, ServiceFiles: &site.ServiceFiles{
			Settlements: site.Settlements{Recipients: []site.SettledRecipient{
				{NetworkCAIP2: base, PayTo: "0xa", Until: l.until, RowsIn: "a", Tokens: l.tokens}}}}}})
	}
	v.End()
	row := func(slug string, usd site.Decimal) site.FacilitatorTopService {
		return site.FacilitatorTopService{FacilitatorService: site.FacilitatorService{Slug: slug, Name: slug,
			VolumeUSD30d: usd}, Status: site.StatusOnline}
	}
	want := site.ListedServices{ActiveCount30d: new(2), AllTimeCount: new(3),
		Top: []site.FacilitatorTopService{row("d", "2"), row("a", "1")}}
	if diff := cmp.Diff(want, s.Facilitators[0].ListedServices); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
	if got := s.Facilitators[1].ListedServices; got.ActiveCount30d != nil || got.AllTimeCount != nil {
		t.Errorf("a facilitator that is not measured has counts: %+v", got)
	}
}

// TestSumBuyers checks that a sum of buyers is unknown if one of them is.
func TestSumBuyers(t *testing.T) {
	t.Parallel()
	of := func(n ...*int64) (list []site.FacilitatorBuyers) {
		for _, one := range n {
			list = append(list, site.FacilitatorBuyers{NetworkCAIP2: base, UniqueBuyers30d: one})
		}
		return list
	}
	for _, c := range []struct {
		name string
		in   []site.FacilitatorBuyers
		want *int64
	}{
		{"none", nil, nil},
		{"two networks", of(new(int64(5)), new(int64(0))), new(int64(5))},
		{"one unknown", of(new(int64(5)), nil), nil},
	} {
		if diff := cmp.Diff(c.want, sumBuyers(c.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
