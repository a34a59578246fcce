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

	title string // of a bar, up to what is told of the day
	whole string // what follows it in a strip, where all checks of the day answered
	gap   string // the whole of a day without a check
	row   string // of a strip's table, its beginning
}

func newCalendar(now site.Time) *calendar {
	c := &calendar{index: make(map[string]int, stripDays)}
	today := now.UTC().Truncate(24 * time.Hour)
	for i := range c.days {
		at := today.AddDate(0, 0, i+1-stripDays)
		d := calendarDay{at: at, Key: at.Format(time.DateOnly), ISO: site.NewTime(at).String(), Date: at.Format(layoutDay)}
		d.title, d.whole = "<g><title>"+d.Date+": ", string(drawWhole(nil, i*stripStep))
		d.gap = d.title + string(drawGap(nil, i*stripStep))
		d.row = `<tr><th scope="row"><time datetime="` + d.ISO + `">` + d.Date + `</time></th>`
		c.days[i], c.index[d.Key] = d, i
	}
	return c
}
