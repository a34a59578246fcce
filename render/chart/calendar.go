package chart

import (
	"time"

	"tollbook/site"
	"tollbook/site/display"
)

// Calendar contains the days of charts, oldest first, up to the day of a snapshot. All pages share it, so that dates
// are formatted once.
type Calendar struct {
	Days  [StripDays]calendarDay
	index map[string]int // by Key
	ticks *markup        // of the x axis of each chart
}

type calendarDay struct {
	at   time.Time
	Key  string // "2026-11-20", the date of points of series
	ISO  string // for programs
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
	c.ticks = dateTicks(&c.Days)
	return c
}
