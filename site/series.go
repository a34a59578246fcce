package site

import (
	"bytes"
	"slices"
	"time"

	"tollbook/site/encode"
)

// Periods are the periods of a series whose whole history is stored, the whole history last.
var Periods = []string{"24h", "7d", "30d", "90d", "all"}

// Series is the framing of a series by UTC day: its points, oldest first, and a caveat about what they leave out.
var Series = encode.Framing{Rows: "data", Meta: "caveat"}

// PricePoint is a UTC day on which a service's amounts changed or were first seen.
//
// It is the first UTC day with a price, a day on which a service changed amounts, or a day whose lowest or highest
// price is not that of the day before. Days without a point are like the last point before them.
type PricePoint struct {
	// As [TokenPoint.Date].
	Date string `json:"date"` // "2026-11-20"; first, because lines are cut by their beginning
	// Lowest counted price at any time of the day, in US dollars; null without one.
	MinPriceUSD *Decimal `json:"min_price_usd"`
	// Highest counted price at any time of the day, in US dollars.
	MaxPriceUSD *Decimal `json:"max_price_usd"`
	// How many times an active endpoint changed its amounts.
	Changes int `json:"changes"`

	// Endpoint that asked for the day's lowest price; null without one, as the next four.
	EndpointID *string `json:"endpoint_id"`
	// Network of the lowest price, as CAIP-2 id.
	Network *string `json:"network"`
	// Address of the token of the lowest price.
	AssetAddress *string `json:"asset_address"`
	// The lowest price in US dollars, like min_price_usd.
	PriceUSD *Decimal `json:"price_usd"` // equal to MinPriceUSD
	// When a visit found the lowest price; the beginning of the day if the price was found before.
	RecordedAt *Time `json:"recorded_at"`

	// Every counted price that a visit found from this day until the day of the next point, oldest first; a visit that
	// finds any change of an endpoint finds all its prices anew.
	Observations []PriceObservation `json:"observations"`
}

// PriceObservation is a price in dollars that a visit found at an active endpoint.
type PriceObservation struct {
	// Endpoint that asked for the price.
	EndpointID string `json:"endpoint_id"`
	// Network of the price, as CAIP-2 id.
	Network string `json:"network"`
	// Address of the token.
	AssetAddress string `json:"asset_address"`
	// The price in US dollars; the lowest if the endpoint named several at once.
	PriceUSD Decimal `json:"price_usd"`
	// When a visit found the price.
	RecordedAt Time `json:"recorded_at"`
}

// ScorePoint is a UTC day with a counted check.
type ScorePoint struct {
	// As [TokenPoint.Date].
	Date             string  `json:"date"`
	UptimePercentage float64 `json:"uptime_percentage"`
	// As [UptimeDataPoint.AvgResponseTimeMS].
	AvgResponseTimeMS *int `json:"avg_response_time_ms"`
	// Share of the 30 days up to this day on which no price changed; null before the first price.
	PriceStability *float64 `json:"price_stability" max:"1"`

	// Percentage of the UTC day's known time in which the service was up, like uptime_percentage.
	Uptime24h *float64 `json:"uptime_24h" max:"100"`
	// Percentage of the known time in which the service was up, over the 30 UTC days that end with the day.
	Uptime30d *float64 `json:"uptime_30d" max:"100"`
	Recorded
	// End of the time that the point covers: the end of its UTC day; for today, the last visit.
	RecordedAt Time `json:"recorded_at"`
}

// Recorded is what was published of a service last on a UTC day. All of it is null for a day on which nothing was
// recorded.
type Recorded struct {
	// Grade that was published last on that day. This and the fields up to methodology are null for a day without a
	// record.
	ComplianceGrade *string `json:"compliance_grade" enum:"Grades"`
	// Number of compliance checks that passed.
	CompliancePassed *int `json:"compliance_passed"`
	// Number of compliance checks.
	ComplianceTotal *int `json:"compliance_total"`
	// Identifiers of the compliance checks that failed.
	FailedChecks *[]string `json:"compliance_failed_checks"` // ids
	// Risk level that was published last on that day.
	RiskLevel *string `json:"risk_level"`
	// Codes of the risk flags, the most serious first.
	RiskFlags *[]string `json:"risk_flags"`
	// Lowest counted price in US dollars that was published last on that day; null without one.
	MinPriceUSD *Decimal `json:"min_price_usd"`
	// 95th percentile of the response times of the 7 days up to then, in milliseconds.
	ResponseP95MS *int `json:"response_p95_ms"`
	// Version of the rules of grades and risk flags that judged on that day.
	Methodology *int `json:"methodology"`
	// Verdict that was published last on that day; null for a day on which it was not recorded.
	VerdictLevel *string `json:"verdict_level" enum:"AdviceLevels"`
}

// BuyersPoint: payers of a service on one UTC day.
//
// It is a UTC day on which a service was paid.
type BuyersPoint struct {
	// As [TokenPoint.Date].
	Date string `json:"date"`
	// Number of different payers on that day that settlements name.
	UniqueBuyers int64 `json:"unique_buyers"` // number of different payers, over all recipients and networks
}

// BuyersDays is the length of a series of buyers in UTC days.
const BuyersDays = 90

// UptimeDays are 90 UTC days, today last: one more than the whole percentage of the known time in which the service was
// up, 0 if nothing is known. A day has 101 only if the service was up all known time. They are a small form of what v1/services/{slug}/uptime publishes.
type UptimeDays [90]uint8

// UptimeDaysOf returns the days of points that end today.
func UptimeDaysOf(points []UptimeDataPoint, now time.Time) (days UptimeDays) {
	today := now.UTC().Truncate(24 * time.Hour)
	for i := range points {
		p := &points[i]
		at := len(days) - 1 - int(today.Sub(p.PeriodStart.Time)/(24*time.Hour))
		if at < 0 || at >= len(days) || p.KnownMS <= 0 {
			continue
		}
		days[at] = uint8(1 + 100*p.UpMS/p.KnownMS)
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

// pointPrefix is the beginning of each encoded point of a series; the date follows.
const pointPrefix = `{"date":"`

// IsPoint reports whether a row is an encoded point of a series.
func IsPoint(row []byte) bool { return bytes.HasPrefix(row, []byte(pointPrefix)) }

// PointsSince returns the points of a series, oldest first, from a day such as "2026-11-20" on.
func PointsSince(points [][]byte, day string) [][]byte {
	i, _ := slices.BinarySearchFunc(points, []byte(pointPrefix+day), bytes.Compare) // dates sort as strings
	return points[i:]
}
