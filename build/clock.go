package build

import (
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
)

// clock is the now of judging one service, which notes for how long it would answer the same. Whatever is judged by it alone
// holds until then, so that nobody has to judge it again.
type clock struct {
	now   time.Time
	until time.Time // the first moment at which an answer may be another; no later than the end of the UTC day
}

func at(now time.Time) *clock { return &clock{now, midnight(now).AddDate(0, 0, 1)} }

func midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// today is the UTC day.
func (c *clock) today() time.Time { return midnight(c.now) }

// reached says whether a moment has come.
func (c *clock) reached(t time.Time) bool {
	if !c.now.Before(t) {
		return true
	}
	if t.Before(c.until) {
		c.until = t
	}
	return false
}

// days are the whole days since a moment, none before it.
func (c *clock) days(t time.Time) int {
	n := max(0, int(c.now.Sub(t)/(24*time.Hour)))
	c.reached(t.Add(time.Duration(n+1) * 24 * time.Hour))
	return n
}

// instant is now itself: what shows it is another at any other moment.
func (c *clock) instant() time.Time {
	c.until = c.now
	return c.now
}

// active says whether an endpoint counts (see site.Active).
func (c *clock) active(e *postgres.EndpointFacts) bool {
	return !c.reached(site.ActiveUntil(e.FirstSeenAt, e.LastPaidAt))
}
