package judge

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

func dateOf(month time.Month, d int) time.Time {
	return time.Date(2026, month, d, 0, 0, 0, 0, time.UTC)
}

func TestNewScorePoints(t *testing.T) {
	t.Parallel()
	one := uuid.UUID{1}
	f := &postgres.ServiceFacts{Facts: checks.Facts{
		PriceSpans: []checks.PriceSpan{{EndpointID: one, Since: dateOf(9, 2), Amounts: []string{"1"}}},
		PriceDays: []checks.PriceDay{{EndpointID: one, Day: dateOf(9, 3), Moved: 4},
			{EndpointID: one, Day: dateOf(9, 4), Moved: 1}, {EndpointID: one, Day: dateOf(10, 20), Moved: 1}},
		DaySums: []checks.DaySum{
			{Day: dateOf(9, 1), Counted: 3, Up: 1, Timed: 2, ResponseMS: 301, KnownMS: 3, UpMS: 1}, {Day: dateOf(9, 2), Counted: 1, KnownMS: 1},
			{Day: dateOf(9, 3), Counted: 1, Up: 1, KnownMS: 1, UpMS: 1}, {Day: dateOf(9, 4), Counted: 1, Up: 1, KnownMS: 1, UpMS: 1},
			{Day: dateOf(10, 2), Counted: 1, Up: 1, KnownMS: 1, UpMS: 1},
			{Day: dateOf(10, 3), Counted: 1, Up: 1, KnownMS: 1, UpMS: 1}, {Day: dateOf(10, 4), Counted: 1, Up: 1, KnownMS: 1, UpMS: 1},
			{Day: dateOf(11, 20), Counted: 1, Up: 1, KnownMS: 1, UpMS: 1},
		},
	}}
	f.Endpoints = []postgres.EndpointFacts{{Endpoint: postgres.Endpoint{ID: one, FirstSeenAt: *ago(time.Hour)}}}
	f.Assessments = []checks.Assessment{
		{Day: dateOf(9, 2), Grade: "C", Checks: 14, Failed: []string{"payto_shape", "price_sane"}, RiskLevel: "warning",
			RiskFlags: []string{"probe_failing"}, MinPriceUSD: new("0.01"), ResponseP95MS: new(76), Methodology: 1},
		{Day: dateOf(9, 3), Grade: "Z", Checks: 14, RiskLevel: "clean"},                  // a damaged row
		{Day: dateOf(9, 20), Grade: "B", Checks: 14, RiskLevel: "clean", Methodology: 1}, // a day without a check
		{Day: dateOf(10, 2), Grade: "A", Checks: 14, RiskLevel: "clean", MinPriceUSD: new("NaN"), Methodology: 2},
	}
	today := site.Recorded{ComplianceGrade: new("D")}
	point := func(date string, uptime float64, ms *int, stability *float64, month float64) site.ScorePoint {
		day, err := time.Parse(time.DateOnly, date)
		if err != nil {
			t.Fatal(err)
		}
		return site.ScorePoint{Date: date, UptimePercentage: uptime, AvgResponseTimeMS: ms, PriceStability: stability,
			Uptime24h: &uptime, Uptime30d: &month, RecordedAt: site.NewTime(day.AddDate(0, 0, 1))}
	}
	want := []site.ScorePoint{
		// the first price is no change
		point("2026-09-01", 33.33, new(151), nil, 33.33), point("2026-09-02", 0, nil, new(1.0), 25),
		point("2026-09-03", 100, nil, new(0.97), 40), point("2026-09-04", 100, nil, new(0.93), 50),
		point("2026-10-02", 100, nil, new(0.93), 100),
		point("2026-10-03", 100, nil, new(0.97), 100), point("2026-10-04", 100, nil, new(1.0), 100),
		point("2026-11-20", 100, nil, new(1.0), 100),
	}
	want[1].Recorded = site.Recorded{ComplianceGrade: new("C"), CompliancePassed: new(12), ComplianceTotal: new(14),
		FailedChecks: &[]string{"payto_shape", "price_sane"}, RiskLevel: new("warning"),
		RiskFlags: &[]string{"probe_failing"}, MinPriceUSD: new(site.Decimal("0.01")), ResponseP95MS: new(76),
		Methodology: new(1)}
	want[4].Recorded = site.Recorded{ComplianceGrade: new("A"), CompliancePassed: new(14), ComplianceTotal: new(14),
		FailedChecks: &[]string{}, RiskLevel: new("clean"), RiskFlags: &[]string{}, Methodology: new(2)}
	want[7].Recorded, want[7].RecordedAt = today, site.NewTime(now)
	if diff := cmp.Diff(want, newScorePoints(f, price.NewHistory(f, now), today, now)); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
}

// TestTodayEndsWithLastHour checks the ends of days. Today ends with the last full hour, so that a build without new
// visits publishes the same. Earlier days end at midnight.
func TestTodayEndsWithLastHour(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)
	today := now.Truncate(24 * time.Hour)
	f := &postgres.ServiceFacts{Facts: checks.Facts{Days: []checks.Rollup{
		{Start: today.AddDate(0, 0, -2), Counted: 1, Up: 1}, // nothing is known
		{Start: today.AddDate(0, 0, -1), Counted: 1, Up: 1, KnownMS: 1, UpMS: 1},
		{Start: today, KnownMS: 1},
	}}}
	got := newUptimePoints(f, now)
	if want := today.Add(12 * time.Hour); len(got) != 2 || !got[0].PeriodEnd.Equal(today) || !got[1].PeriodEnd.Equal(want) {
		t.Errorf("%+v, want the ends %v and %v", got, today, want)
	}
}
