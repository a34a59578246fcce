package render

import (
	"html/template"
	"math"
	"strconv"
	"sync"
	"time"

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

// strip is the charts of a service's last 90 days, and the same as rows of a table. All are written here and not by a
// template, which takes ten times as long, because a directory has thousands of them; nothing but numbers and dates is in
// them.
type strip struct {
	Width, Height, SpeedHeight int
	Uptime, Speed              template.HTML // columns of the charts, oldest first
	Rows                       template.HTML // of the table
	Covered                    int           // days with a check
	Slowest                    string        // the slowest day's average, the scale of the second chart; "" without any
	Summary                    string        // what the first chart shows, in words
}

// newStrip lays out the days of a calendar; a point of another day is left out.
func newStrip(points []site.UptimeDataPoint, c *calendar) strip {
	const dayLength = 24 * time.Hour
	today := c.days[stripDays-1].at
	var byDay [stripDays]*site.UptimeDataPoint
	slowest := 0
	s := strip{Width: stripDays * stripStep, Height: stripHeight, SpeedHeight: speedHeight}
	for i := range points {
		p := &points[i]
		date := p.PeriodStart.UTC().Truncate(dayLength)
		if date.After(today) || !date.After(today.Add(-stripDays*dayLength)) || p.TotalChecks <= 0 {
			continue
		}
		day := stripDays - 1 - int(today.Sub(date)/dayLength)
		if byDay[day] == nil {
			s.Covered++
		}
		byDay[day] = p
		if p.AvgResponseTimeMS != nil {
			slowest = max(slowest, *p.AvgResponseTimeMS)
		}
	}
	if slowest > 0 {
		s.Slowest = millis(&slowest)
	}
	d := stripDrafts.Get().(*stripDraft)
	defer stripDrafts.Put(d)
	d.uptime, d.speed, d.rows = d.uptime[:0], d.speed[:0], d.rows[:0]
	var worst *site.UptimeDataPoint
	worstOn := ""
	for i, p := range byDay {
		if d.add(&c.days[i], i*stripStep, p, slowest); p != nil && p.UptimePercentage < 100 && (worst == nil || p.UptimePercentage < worst.UptimePercentage) {
			worst, worstOn = p, c.days[i].Date
		}
	}
	s.Uptime, s.Speed, s.Rows = template.HTML(d.uptime), template.HTML(d.speed), template.HTML(d.rows)
	s.Summary = s.summary(worst, worstOn)
	return s
}

// stripDraft is the three parts of a strip as they are written; what they were written in is used again.
type stripDraft struct{ uptime, speed, rows, words []byte }

var stripDrafts = sync.Pool{New: func() any { return new(stripDraft) }}

// add writes a day with its point, nil for a day without a check.
func (s *stripDraft) add(d *calendarDay, x int, p *site.UptimeDataPoint, slowest int) {
	s.rows = append(s.rows, d.row...)
	if p == nil {
		s.uptime = append(s.uptime, d.gap...)
		s.rows = append(s.rows, `<td class="num quiet" colspan="3">no check</td></tr>`+"\n"...)
		return
	}
	uptime, response := percent(&p.UptimePercentage), noneHTML
	s.words = appendPlural(s.words[:0], p.TotalChecks, "check", "checks")
	checks := s.words
	s.uptime = drawUptime(s.uptime, x, d, p, uptime, checks)
	if p.AvgResponseTimeMS != nil {
		response = millis(p.AvgResponseTimeMS)
		s.speed = drawSpeed(s.speed, x, d, *p.AvgResponseTimeMS, slowest, response)
	}
	s.rows = texts(s.rows, `<td class="num">`, uptime, `</td><td class="num">`)
	s.rows = append(s.rows, checks...)
	s.rows = texts(s.rows, `</td><td class="num">`, response, "</td></tr>\n")
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

// attribute appends a number as an attribute.
func attribute(b []byte, name string, n int) []byte {
	return append(strconv.AppendInt(texts(b, " ", name, `="`), int64(n), 10), '"')
}

// rect appends an SVG rectangle without its end.
func rect(b []byte, class string, x, y, width, height int) []byte {
	b = append(b, "<rect"...)
	if class != "" {
		b = texts(b, ` class="`, class, `"`)
	}
	b = attribute(b, "x", x)
	if y >= 0 {
		b = attribute(b, "y", y)
	}
	return attribute(attribute(b, "width", width), "height", height)
}

// drawUptime draws what answered from the bottom up, and what failed above it.
func drawUptime(b []byte, x int, d *calendarDay, p *site.UptimeDataPoint, uptime string, checks []byte) []byte {
	down := int(math.Round((1 - max(0, min(1, p.UptimePercentage/100))) * stripHeight))
	if p.SuccessfulChecks < p.TotalChecks {
		down = max(down, minDown)
	}
	b = append(texts(b, d.title, uptime, " of "), checks...)
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
func drawSpeed(b []byte, x int, d *calendarDay, ms, slowest int, response string) []byte {
	if slowest <= 0 {
		return b
	}
	height := max(minSpeed, int(speedHeight*int64(ms)/int64(slowest)))
	return texts(rect(b, "", x, speedHeight-height, stripBar, height), "><title>", d.Date, ": ", response, "</title></rect>\n")
}

// summary says in words what the first chart shows; worst is the first of the days with the lowest uptime, nil where no
// check failed.
func (s *strip) summary(worst *site.UptimeDataPoint, on string) string {
	if s.Covered == 0 {
		return "No check in the last 90 days."
	}
	text := plural(int64(s.Covered), "day", "days") + " with checks, " + number(int64(stripDays-s.Covered)) + " without"
	if worst == nil {
		return text + "; no check failed."
	}
	return text + "; lowest " + percent(&worst.UptimePercentage) + " on " + on + "."
}
