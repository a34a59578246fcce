package site

import (
	"time"

	"tollbook/site/encode"
)

// Periods are the periods of a series whose whole history is stored, the whole history last.
var Periods = []string{"24h", "7d", "30d", "90d", "all"}

// Series is the framing of a series by UTC day: its points, oldest first, and a caveat about what they leave out.
var Series = encode.Framing{Rows: "data", Meta: "caveat"}

// PricePoint is the first UTC day with a price, a day on which a service changed amounts, or a day whose lowest or
// highest price is not that of the day before. Days without a point are like the last point before them.
type PricePoint struct {
	Date        string   `json:"date"`          // "2026-11-20"; first, because lines are cut by their beginning
	MinPriceUSD *Decimal `json:"min_price_usd"` // lowest at any time of the day; null without a price in USD
	MaxPriceUSD *Decimal `json:"max_price_usd"`
	Changes     int      `json:"changes"` // how many times an active endpoint changed its amounts

	// the observation of the lowest price; all of it is null without one
	EndpointID   *string  `json:"endpoint_id"`
	Network      *string  `json:"network"` // CAIP-2
	AssetAddress *string  `json:"asset_address"`
	PriceUSD     *Decimal `json:"price_usd"`   // equal to MinPriceUSD
	RecordedAt   *Time    `json:"recorded_at"` // when a visit found it, or the beginning of the day if that is later

	// every counted price that a visit found from this day until the day of the next point, oldest first
	Observations []PriceObservation `json:"observations"`
}

// PriceObservation is a price in dollars that a visit found at an active endpoint.
type PriceObservation struct {
	EndpointID   string  `json:"endpoint_id"`
	Network      string  `json:"network"` // CAIP-2
	AssetAddress string  `json:"asset_address"`
	PriceUSD     Decimal `json:"price_usd"` // the lowest, if the endpoint named several at once
	RecordedAt   Time    `json:"recorded_at"`
}

// ScorePoint is a UTC day with a counted check.
type ScorePoint struct {
	Date              string  `json:"date"`
	UptimePercentage  float64 `json:"uptime_percentage"`
	AvgResponseTimeMS *int    `json:"avg_response_time_ms"`
	// share of the 30 days up to this day on which no price changed; null before the first price
	PriceStability *float64 `json:"price_stability"`

	Uptime24h *float64 `json:"uptime_24h"` // of the UTC day
	Uptime30d *float64 `json:"uptime_30d"` // of the 30 UTC days that end with the day
	Recorded
	RecordedAt Time `json:"recorded_at"` // end of the day; today, the last visit
}

// Recorded is what was published of a service last on a UTC day. All of it is null for a day on which nothing was
// recorded.
type Recorded struct {
	ComplianceGrade  *string   `json:"compliance_grade"`
	CompliancePassed *int      `json:"compliance_passed"`
	ComplianceTotal  *int      `json:"compliance_total"`
	FailedChecks     *[]string `json:"compliance_failed_checks"` // ids
	RiskLevel        *string   `json:"risk_level"`
	RiskFlags        *[]string `json:"risk_flags"` // codes, the most serious first
	MinPriceUSD      *Decimal  `json:"min_price_usd"`
	ResponseP95MS    *int      `json:"response_p95_ms"` // of 7 days
	Methodology      *int      `json:"methodology"`     // version of the rules that judged
}

// BuyersPoint is a UTC day on which a service was paid.
type BuyersPoint struct {
	Date         string `json:"date"`
	UniqueBuyers int64  `json:"unique_buyers"` // number of different payers, over all recipients and networks
}

// BuyersDays is the length of a series of buyers in UTC days.
const BuyersDays = 90

// UptimeDays are 90 UTC days, today last: one more than the whole percentage of checks that were up, 0 without a check.
// A day has 101 only if no check failed. They are a small form of what v1/services/{slug}/uptime publishes.
type UptimeDays [90]uint8

// UptimeDaysOf returns the days of points that end today.
func UptimeDaysOf(points []UptimeDataPoint, now time.Time) (days UptimeDays) {
	today := now.UTC().Truncate(24 * time.Hour)
	for i := range points {
		p := &points[i]
		at := len(days) - 1 - int(today.Sub(p.PeriodStart.Time)/(24*time.Hour))
		if at < 0 || at >= len(days) || p.TotalChecks <= 0 {
			continue
		}
		days[at] = uint8(1 + 100*p.SuccessfulChecks/p.TotalChecks)
	}
	return days
}

// PeriodStart returns the first UTC day ("2026-11-20") of a period that ends at now, or "" for the whole history. 24h
// covers the UTC days of the last 24 complete hours and the current one.
func PeriodStart(period string, now time.Time) string {
	now = now.UTC()
	switch days, ok := WindowDays[period]; {
	case ok:
		return now.Truncate(24*time.Hour).AddDate(0, 0, 1-days).Format(time.DateOnly)
	case period == "24h":
		return now.Truncate(time.Hour).Add(-24 * time.Hour).Format(time.DateOnly)
	}
	return ""
}
