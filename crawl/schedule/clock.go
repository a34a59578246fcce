package schedule

import "time"

// setBy is by how much a clock may differ from how time went on before it counts as set: clocks are corrected by less.
const setBy = time.Minute

// clocks are those of this process and of the database, as they were last looked at.
type clocks struct {
	at            time.Time // by the clock that nobody sets
	own, database time.Time
}

// set looks at the clocks, and answers whether one of them was set since the last look.
func (c *clocks) set(own, database time.Time) bool {
	before := *c
	*c = clocks{time.Now(), own.Round(0), database.Round(0)}
	if before.at.IsZero() {
		return false
	}
	passed := c.at.Sub(before.at)
	return (c.own.Sub(before.own)-passed).Abs() > setBy || (c.database.Sub(before.database)-passed).Abs() > setBy
}
