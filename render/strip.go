package render

import (
	"cmp"
	"html/template"
	"math"
	"strconv"
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
	Uptime, Speed              template.HTML // columns of the charts
	Days                       []stripDay    // oldest first
	Rows                       template.HTML // of the table
	Covered                    int           // days with a check
	Slowest                    string        // the slowest day's average, the scale of the second chart; "" without any
	Summary                    string        // what the first chart shows, in words
}

// stripDay is a row; a day without a check has only its date.
type stripDay struct {
	ISO, Date, Uptime, Checks, Response string
}

// newStrip lays out the days of a calendar; a point of another day is left out.
func newStrip(points []site.UptimeDataPoint, c *calendar) strip {
	const dayLength = 24 * time.Hour
	today := c.days[stripDays-1].at
	var byDay [stripDays]*site.UptimeDataPoint
	slowest := 0
	s := strip{Width: stripDays * stripStep, Height: stripHeight, SpeedHeight: speedHeight, Days: make([]stripDay, stripDays)}
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
	uptime, speed, rows := make([]byte, 0, 14<<10), make([]byte, 0, 12<<10), make([]byte, 0, 20<<10)
	var worst stripDay
	lowest := 100.0
	for i := range stripDays {
		d := stripDay{ISO: c.days[i].ISO, Date: c.days[i].Date}
		p := byDay[i]
		if p == nil {
			uptime = drawGap(uptime, i*stripStep, d)
		} else {
			d.Uptime, d.Checks, d.Response = percent(&p.UptimePercentage), plural(p.TotalChecks, "check", "checks"), millis(p.AvgResponseTimeMS)
			uptime = drawUptime(uptime, i*stripStep, d, p)
			speed = drawSpeed(speed, i*stripStep, d, p.AvgResponseTimeMS, slowest)
			if p.UptimePercentage < lowest {
				worst, lowest = d, p.UptimePercentage
			}
		}
		s.Days[i] = d
		rows = d.row(rows)
	}
	s.Uptime, s.Speed, s.Rows = template.HTML(uptime), template.HTML(speed), template.HTML(rows)
	s.Summary = s.summary(worst)
	return s
}

// row is a day as a row of the table.
func (d *stripDay) row(b []byte) []byte {
	b = texts(b, `<tr><th scope="row"><time datetime="`, d.ISO, `">`, d.Date, `</time></th>`)
	if d.Checks == "" {
		return append(b, `<td class="num quiet" colspan="3">no check</td></tr>`+"\n"...)
	}
	return texts(b, `<td class="num">`, d.Uptime, `</td><td class="num">`, d.Checks, `</td><td class="num">`, cmp.Or(d.Response, noneHTML), "</td></tr>\n")
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
func drawUptime(b []byte, x int, d stripDay, p *site.UptimeDataPoint) []byte {
	down := int(math.Round((1 - max(0, min(1, p.UptimePercentage/100))) * stripHeight))
	if p.SuccessfulChecks < p.TotalChecks {
		down = max(down, minDown)
	}
	b = texts(b, "<g><title>", d.Date, ": ", d.Uptime, " of ", d.Checks, "</title>")
	if down > 0 {
		b = append(rect(b, "down", x, -1, stripBar, down), "/>"...)
	}
	if down < stripHeight {
		b = append(rect(b, "up", x, down, stripBar, stripHeight-down), "/>"...)
	}
	return append(b, "</g>\n"...)
}

// drawGap draws a day without a check: a mark at the foot, and something to hover over.
func drawGap(b []byte, x int, d stripDay) []byte {
	b = rect(texts(b, "<g><title>", d.Date, ": no check</title>"), "gap", x, stripHeight-gapHeight, stripBar, gapHeight)
	return append(rect(append(b, "/>"...), "touch", x, -1, stripBar, stripHeight), "/></g>\n"...)
}

// drawSpeed draws a day's average response time against the slowest day's; a day without one is left blank.
func drawSpeed(b []byte, x int, d stripDay, ms *int, slowest int) []byte {
	if ms == nil || slowest <= 0 {
		return b
	}
	height := max(minSpeed, int(speedHeight*int64(*ms)/int64(slowest)))
	return texts(rect(b, "", x, speedHeight-height, stripBar, height), "><title>", d.Date, ": ", d.Response, "</title></rect>\n")
}

// summary says in words what the first chart shows.
func (s *strip) summary(worst stripDay) string {
	if s.Covered == 0 {
		return "No check in the last 90 days."
	}
	text := plural(int64(s.Covered), "day", "days") + " with checks, " + number(int64(stripDays-s.Covered)) + " without"
	if worst.Date == "" {
		return text + "; no check failed."
	}
	return text + "; lowest " + worst.Uptime + " on " + worst.Date + "."
}
