package chart

import (
	"time"

	"tollbook/site"
	"tollbook/site/display"
)

// Calendar is the days of charts, oldest first, up to a snapshot's own. Each service's page repeats them, so that their
// dates are written once.
type Calendar struct {
	Days  [StripDays]calendarDay
	index map[string]int // by Key
}

type calendarDay struct {
	at   time.Time
	Key  string // "2026-11-20", as series have it
	ISO  string // for machines
	Date string // for readers
}

func NewCalendar(now site.Time) *Calendar {
	c := &Calendar{index: make(map[string]int, StripDays)}
	today := now.UTC().Truncate(24 * time.Hour)
	for i := range c.Days {
		at := today.AddDate(0, 0, i+1-StripDays)
		d := calendarDay{at: at, Key: at.Format(time.DateOnly), ISO: site.NewTime(at).String(),
			Date: at.Format(display.DayLayout)}
		c.Days[i], c.index[d.Key] = d, i
	}
	return c
}
