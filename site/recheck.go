package site

import "time"

// Limits of re-checks. They keep anybody from having a service visited too often: with a visit every 15 minutes, a
// service gets at most an eighth more visits.
const (
	RecheckGap      = 10 * time.Minute // from one re-check of a service to the next
	RechecksPerDay  = 12               // of one service in 24 hours
	RechecksPerHour = 10               // that one client may ask for, of all services together
	// RecheckAfter is how long after a check a re-check would tell nothing new.
	RecheckAfter = time.Minute
)

// IncomingRecheck is a request to visit a service before its time.
type IncomingRecheck struct {
	Slug   string
	Client string // the sender, as rate limits count it
	At     time.Time
}

// RecheckResult is the data of the response to POST /v1/services/{slug}/recheck.
type RecheckResult struct {
	Slug          string `json:"slug"`
	LastCheckedAt *Time  `json:"last_checked_at"`
	NextCheckAt   Time   `json:"next_check_at"`
	NextBuildAt   *Time  `json:"next_build_at"`
	ChecksURL     string `json:"checks_url"`
}

// UnvisitedError says why a service is not visited, so that no re-check can be asked for.
type UnvisitedError struct{ Message string }

func (e *UnvisitedError) Error() string { return e.Message }
