package site

import "time"

// OriginCatalogue is the origin of an endpoint that only a public source declared: a catalogue or a list of others.
const OriginCatalogue = "catalogue"

// ActiveFor is how long an endpoint stays active after it was first seen or last requested payment.
const ActiveFor = 14 * 24 * time.Hour

// IsActive reports whether an endpoint was first seen or last requested payment less than ActiveFor ago.
func IsActive(firstSeen time.Time, lastPaid *time.Time, now time.Time) bool {
	return now.Before(ActiveUntil(firstSeen, lastPaid))
}

// ActiveUntil returns when an endpoint becomes inactive unless it requests payment again.
func ActiveUntil(firstSeen time.Time, lastPaid *time.Time) time.Time {
	seen := firstSeen
	if lastPaid != nil && lastPaid.After(seen) {
		seen = *lastPaid
	}
	return seen.Add(ActiveFor)
}

// GoneAfter is after how many UTC days with counted checks, all of which failed, a service is gone.
const GoneAfter = 60 * 24 * time.Hour

// Interval returns the time between two visits: the service's own interval, but at least an hour after a day offline
// and at least a day after a week offline.
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

// The state that a visit found is known for KnownIntervals times the planned interval, at least for LeastKnown.
const (
	KnownIntervals = 2
	LeastKnown     = time.Hour
)

// KnownFor returns how long the state that a visit found is known after it, if no other visit counts, by the time until
// the next planned visit.
func KnownFor(interval time.Duration) time.Duration { return max(LeastKnown, KnownIntervals*interval) }

// PlaceActive is how long a place takes part in judgments after a worker there last asked what is due.
const PlaceActive = time.Hour

// SharePercent returns 100 × a part of a whole, which is not 0, rounded half up to two decimals.
func SharePercent(part, whole int64) float64 { return float64((20_000*part+whole)/(2*whole)) / 100 }
