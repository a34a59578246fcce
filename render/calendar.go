package render

import (
	"time"

	"tollbook/site"
	"tollbook/site/display"
)

// calendar is the days of charts, oldest first, up to a snapshot's own. Each service's page repeats them, so that their dates
// are written once.
type calendar struct {
	days  [stripDays]calendarDay
	index map[string]int // by Key
}

type calendarDay struct {
	at   time.Time
	Key  string // "2026-11-20", as series have it
	ISO  string // for machines
	Date string // for readers
}

func newCalendar(now site.Time) *calendar {
	c := &calendar{index: make(map[string]int, stripDays)}
	today := now.UTC().Truncate(24 * time.Hour)
	for i := range c.days {
		at := today.AddDate(0, 0, i+1-stripDays)
		d := calendarDay{at: at, Key: at.Format(time.DateOnly), ISO: site.NewTime(at).String(), Date: at.Format(display.DayLayout)}
		c.days[i], c.index[d.Key] = d, i
	}
	return c
}
