package render

import (
	"strings"
	"time"
	"unicode/utf8"
)

// calendar is a calendar in the format iCalendar (RFC 5545).
type calendar struct {
	Title, About, Page string
	Events             []feedEvent
}

// feedEvent is an event of a calendar.
type feedEvent struct {
	ID, Title, Text, Page string
	Start                 time.Time
	End                   *time.Time // nil while it is not over
	IsByDay               bool       // Start is a UTC day
}

// Forms of times in a calendar.
const (
	calendarTime = "20060102T150405Z"
	calendarDay  = "20060102"
)

// Encode returns the calendar. An event without an end is tentative.
func (c *calendar) Encode() []byte {
	var b strings.Builder
	for _, line := range []string{"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Tollbook//Incidents//EN",
		"X-WR-CALNAME:" + calendarText(c.Title), "X-WR-CALDESC:" + calendarText(c.About)} {
		writeFolded(&b, line)
	}
	for _, e := range c.Events {
		stamp := e.Start
		if e.End != nil {
			stamp = *e.End
		}
		writeFolded(&b, "BEGIN:VEVENT")
		writeFolded(&b, "UID:"+calendarText(e.ID))
		writeFolded(&b, "DTSTAMP:"+stamp.UTC().Format(calendarTime))
		switch {
		case e.IsByDay && e.End != nil && !e.End.UTC().Equal(e.End.UTC().Truncate(24*time.Hour)):
			writeTimes(&b, e.Start, e.End, "", calendarTime)
		case e.IsByDay:
			writeTimes(&b, e.Start, e.End, ";VALUE=DATE", calendarDay)
		default:
			writeTimes(&b, e.Start, e.End, "", calendarTime)
		}
		writeFolded(&b, "SUMMARY:"+calendarText(e.Title))
		writeFolded(&b, "DESCRIPTION:"+calendarText(e.Text))
		writeFolded(&b, "URL:"+e.Page)
		writeFolded(&b, "TRANSP:TRANSPARENT")
		if e.End == nil {
			writeFolded(&b, "STATUS:TENTATIVE")
		}
		writeFolded(&b, "END:VEVENT")
	}
	writeFolded(&b, "END:VCALENDAR")
	return []byte(b.String())
}

// writeTimes writes when an event begins and ends.
func writeTimes(b *strings.Builder, start time.Time, end *time.Time, form, layout string) {
	writeFolded(b, "DTSTART"+form+":"+start.UTC().Format(layout))
	if end != nil {
		writeFolded(b, "DTEND"+form+":"+end.UTC().Format(layout))
	}
}

// calendarText escapes a value of type TEXT. Other control characters are left out.
func calendarText(s string) string {
	s = calendarEscapes.Replace(s)
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

var calendarEscapes = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`)

// lineOctets is the maximum length of a line, without its end.
const lineOctets = 75

// writeFolded writes a line. A long one is continued on lines that begin with a space, never within a character.
func writeFolded(b *strings.Builder, line string) {
	limit := lineOctets
	for len(line) > limit {
		n := limit
		for n > 0 && !utf8.RuneStart(line[n]) {
			n--
		}
		b.WriteString(line[:n] + "\r\n ")
		line, limit = line[n:], lineOctets-1
	}
	b.WriteString(line + "\r\n")
}
