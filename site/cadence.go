package site

import "time"

// ActiveFor is how long an endpoint counts as active after it was last seen paid, or first seen.
const ActiveFor = 14 * 24 * time.Hour

// IsActive says whether an endpoint counts: it was seen paid, or for the first time, within ActiveFor.
func IsActive(firstSeen time.Time, lastPaid *time.Time, now time.Time) bool {
	return now.Before(ActiveUntil(firstSeen, lastPaid))
}

// ActiveUntil is when an endpoint that is not seen paid again ceases to count.
func ActiveUntil(firstSeen time.Time, lastPaid *time.Time) time.Time {
	seen := firstSeen
	if lastPaid != nil && lastPaid.After(seen) {
		seen = *lastPaid
	}
	return seen.Add(ActiveFor)
}

// Interval is the time between two visits: the service's own, at least an hour after a day offline, a day after a week.
func Interval(own time.Duration, failingSince *time.Time, now time.Time) time.Duration {
	if failingSince == nil {
		return own
	}
	switch offline := now.Sub(*failingSince); {
	case offline >= 7*24*time.Hour:
		return max(own, 24*time.Hour)
	case offline >= 24*time.Hour:
		return max(own, time.Hour)
	}
	return own
}
