package site

import "time"

// Limits of re-checks. They keep anybody from having a service visited too often: with a visit every 15 minutes, a
// service gets at most an eighth more visits.
const (
	RecheckGap      = 10 * time.Minute // from one re-check of a service to the next
	RechecksPerDay  = 12               // of one service in 24 hours
	RechecksPerHour = 10               // that one client may ask for, of all services together
	// RecheckAfter is how long after a check a re-check would tell nothing new; at most a third of the time between visits.
	RecheckAfter = time.Minute
)

// IncomingRecheck is a request to visit a service before its time.
type IncomingRecheck struct {
	Slug   string
	Client string // the sender, as rate limits count it
	At     time.Time
}

// RecheckResult says when a service is visited again, and where the result is then.
//
// It is the data of the response to POST /v1/services/{slug}/recheck.
type RecheckResult struct {
	// As [ServiceListItem.Slug].
	Slug string `json:"slug"`
	// When the service was checked last; null if it never was.
	LastCheckedAt *Time `json:"last_checked_at"`
	// When the service is due for its next visit; a visit waits until its host may be asked.
	NextCheckAt Time `json:"next_check_at"`
	// When the next snapshot is due, which contains the result; null if that is not known.
	NextBuildAt *Time `json:"next_build_at"`
	// Path of the service's checks, which contain the result after the next build.
	ChecksURL string `json:"checks_url"`
}

// UnvisitedError says why a service is not visited, so that no re-check can be asked for.
type UnvisitedError struct{ Message string }

func (e *UnvisitedError) Error() string { return e.Message }
