package render

import (
	"time"

	"tollbook/site"
)

// calendar is the days of charts, up to a snapshot's own, oldest first, in the forms in which each service's page repeats
// them: writing a date takes longer than all else of a bar.
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
		c.days[i] = calendarDay{at, at.Format(time.DateOnly), site.NewTime(at).String(), at.Format(layoutDay)}
		c.index[c.days[i].Key] = i
	}
	return c
}
