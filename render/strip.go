package render

import (
	"cmp"
	"math"
	"strconv"
	"time"

	"tollbook/render/compiled"
	"tollbook/site"
)

// Of the charts of a service's 90 days, in units of their viewBox; each day is stripStep wide.
const (
	stripDays   = 90
	stripStep   = 10
	stripBar    = 8
	stripHeight = 40
	speedHeight = 60
	gapHeight   = 3
	minDown     = 6 // height of the smallest failure, so that it is seen
	minSpeed    = 2
)

// strip is the charts of a service's last 90 days, and the same as rows of a table. All are drawn here and not by a
// template, which takes ten times as long, because a directory has thousands of them; nothing but numbers and dates is in
// them.
type strip struct {
	Width, Height, SpeedHeight int
	Uptimes, Speeds            compiled.Drawing // columns of the charts, oldest first
	DaysTable                  compiled.Drawing // rows of the table
	Covered                    int              // days with a check
	Slowest                    string           // the slowest day's average, the scale of the second chart; "" without any
	Summary                    string           // what the first chart shows, in words

	calendar *calendar
	byDay    [stripDays]*site.UptimeDataPoint // nil for a day without a check
	slowest  int                              // in milliseconds
}

// newStrip lays out the days of a calendar; a point of another day is left out.
func newStrip(points []site.UptimeDataPoint, c *calendar) *strip {
	const dayLength = 24 * time.Hour
	today := c.days[stripDays-1].at
	s := &strip{Width: stripDays * stripStep, Height: stripHeight, SpeedHeight: speedHeight, calendar: c}
	for i := range points {
		p := &points[i]
		date := p.PeriodStart.UTC().Truncate(dayLength)
		day := stripDays - 1 - int(today.Sub(date)/dayLength)
		if day < 0 || day >= stripDays || p.TotalChecks <= 0 {
			continue
		}
		if s.byDay[day] == nil {
			s.Covered++
		}
		s.byDay[day] = p
		if p.AvgResponseTimeMS != nil {
			s.slowest = max(s.slowest, *p.AvgResponseTimeMS)
		}
	}
	if s.slowest > 0 {
		s.Slowest = millis(&s.slowest)
	}
	s.Uptimes, s.Speeds, s.DaysTable = s.drawUptimes, s.drawSpeeds, s.drawRows
	s.Summary = s.summary()
	return s
}

func (s *strip) drawUptimes(b []byte) []byte {
	for i, p := range s.byDay {
		if d := &s.calendar.days[i]; p == nil {
			b = append(b, d.gap...)
		} else {
			b = drawUptime(b, i*stripStep, d, p)
		}
	}
	return b
}

func (s *strip) drawSpeeds(b []byte) []byte {
	for i, p := range s.byDay {
		if p != nil && p.AvgResponseTimeMS != nil && s.slowest > 0 {
			b = drawSpeed(b, i*stripStep, &s.calendar.days[i], *p.AvgResponseTimeMS, s.slowest)
		}
	}
	return b
}

func (s *strip) drawRows(b []byte) []byte {
	for i, p := range s.byDay {
		b = append(b, s.calendar.days[i].row...)
		if p == nil {
			b = append(b, `<td class="num quiet" colspan="3">no check</td></tr>`+"\n"...)
			continue
		}
		b = texts(b, `<td class="num">`, percent(&p.UptimePercentage), `</td><td class="num">`)
		b = appendPlural(b, p.TotalChecks, "check", "checks")
		b = texts(b, `</td><td class="num">`, cmp.Or(millis(p.AvgResponseTimeMS), noneHTML), "</td></tr>\n")
	}
	return b
}

// noneHTML is the template "none".
const noneHTML = `<span class="none" title="not known"><span aria-hidden="true">—</span><span class="hidden">not known</span></span>`

// texts appends every part.
func texts(b []byte, parts ...string) []byte {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// attribute appends a number as an attribute; begin is what stands before it.
func attribute(b []byte, begin string, n int) []byte {
	return append(strconv.AppendInt(append(b, begin...), int64(n), 10), '"')
}

// rect appends an SVG rectangle without its end.
func rect(b []byte, class string, x, y, width, height int) []byte {
	b = append(b, "<rect"...)
	if class != "" {
		b = texts(b, ` class="`, class, `"`)
	}
	b = attribute(b, ` x="`, x)
	if y >= 0 {
		b = attribute(b, ` y="`, y)
	}
	return attribute(attribute(b, ` width="`, width), ` height="`, height)
}

// drawUptime draws what answered from the bottom up, and what failed above it.
func drawUptime(b []byte, x int, d *calendarDay, p *site.UptimeDataPoint) []byte {
	down := int(math.Round((1 - max(0, min(1, p.UptimePercentage/100))) * stripHeight))
	if p.SuccessfulChecks < p.TotalChecks {
		down = max(down, minDown)
	}
	b = appendPlural(texts(b, d.title, percent(&p.UptimePercentage), " of "), p.TotalChecks, "check", "checks")
	if down == 0 {
		return append(b, d.whole...)
	}
	b = append(rect(append(b, "</title>"...), "down", x, -1, stripBar, down), "/>"...)
	if down < stripHeight {
		b = append(rect(b, "up", x, down, stripBar, stripHeight-down), "/>"...)
	}
	return append(b, "</g>\n"...)
}

// drawWhole draws a day on which all answered, behind the words of its title.
func drawWhole(b []byte, x int) []byte {
	return append(rect(append(b, "</title>"...), "up", x, 0, stripBar, stripHeight), "/></g>\n"...)
}

// drawGap draws a day without a check, behind the beginning of its title: a mark at the foot, and something to hover over.
func drawGap(b []byte, x int) []byte {
	b = rect(append(b, "no check</title>"...), "gap", x, stripHeight-gapHeight, stripBar, gapHeight)
	return append(rect(append(b, "/>"...), "touch", x, -1, stripBar, stripHeight), "/></g>\n"...)
}

// drawSpeed draws a day's average response time against the slowest day's.
func drawSpeed(b []byte, x int, d *calendarDay, ms, slowest int) []byte {
	height := max(minSpeed, int(speedHeight*int64(ms)/int64(slowest)))
	return texts(rect(b, "", x, speedHeight-height, stripBar, height), "><title>", d.Date, ": ", millis(&ms), "</title></rect>\n")
}

// summary says in words what the first chart shows, and the first of the days with the lowest uptime, if a check failed.
func (s *strip) summary() string {
	if s.Covered == 0 {
		return "No check in the last 90 days."
	}
	text := plural(int64(s.Covered), "day", "days") + " with checks, " + number(int64(stripDays-s.Covered)) + " without"
	var worst *site.UptimeDataPoint
	on := ""
	for i, p := range s.byDay {
		if p != nil && p.UptimePercentage < 100 && (worst == nil || p.UptimePercentage < worst.UptimePercentage) {
			worst, on = p, s.calendar.days[i].Date
		}
	}
	if worst == nil {
		return text + "; no check failed."
	}
	return text + "; lowest " + percent(&worst.UptimePercentage) + " on " + on + "."
}
