package site

import "time"

// PriceWeeks is how many weeks of prices a category publishes at most.
const PriceWeeks = 26

// CategoryWeek: recorded prices of a category in one week.
type CategoryWeek struct {
	// Monday with which the week begins, a UTC day.
	Week string `json:"week" format:"date"`
	// Median in US dollars of one price for each operator: the dearest of its services' last recorded lowest ones.
	MedianUSD Decimal `json:"median_starting_usd"`
	// Number of operators with such a price of at least $0.0001.
	OperatorCount int `json:"operator_count"`
}

// WeekOf returns the Monday, 0:00 UTC, with which the week of an instant begins.
func WeekOf(t time.Time) time.Time {
	day := t.UTC().Truncate(24 * time.Hour)
	return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
}
