package site

import "time"

// Periods are the spans of a series that is kept whole, the whole one last.
var Periods = []string{"24h", "7d", "30d", "90d", "all"}

// Series frames a series by UTC day: its points, oldest first, and beside them what they cannot say.
var Series = Framing{Rows: "data", Meta: "caveat"}

// PricePoint is a UTC day on which a service asked amounts that it had not asked just before.
type PricePoint struct {
	Date        string   `json:"date"`          // "2026-11-20"; first, so that a series is cut by its lines
	MinPriceUSD *Decimal `json:"min_price_usd"` // lowest asked at any time of the day; null without a price in USD
	MaxPriceUSD *Decimal `json:"max_price_usd"`
	Changes     int      `json:"changes"` // times that an endpoint's amounts moved; 0 on the first day
}

// ScorePoint is a UTC day with a counted check.
type ScorePoint struct {
	Date              string  `json:"date"`
	UptimePercentage  float64 `json:"uptime_percentage"`
	AvgResponseTimeMS *int    `json:"avg_response_time_ms"`
	// share of the 30 days to this one on which no price moved; null before the first price
	PriceStability *float64 `json:"price_stability"`
}

// BuyersPoint is a UTC day on which a service was paid.
type BuyersPoint struct {
	Date         string `json:"date"`
	UniqueBuyers int64  `json:"unique_buyers"` // distinct payers of the day, over its recipients and networks
}

// BuyersDays is how many UTC days a series of buyers goes back.
const BuyersDays = 90

// PeriodStart is the first UTC day ("2026-11-20") of a period that ends at now; "" is before all. 24h are the UTC days
// that the last 24 closed hours and the open one touch.
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
