package chart

import (
	"html/template"
	"math"
	"time"

	"tollbook/site"
	"tollbook/site/display"
)

// Sizes of the charts of the uptime of a service, in units of their viewBox. A day is stripStep wide.
const (
	StripDays   = 90
	stripStep   = 10
	stripBar    = 8
	stripHeight = 40
	speedHeight = 60
	gapHeight   = 3
	minDown     = 6 // least height of a failure, so that it is visible
	minSpeed    = 2
	stripBytes  = 200 // bytes of markup of most days
)

// Strip is the charts of the last 90 days of a service, and the same as rows of a table. It contains only numbers and
// dates.
type Strip struct {
	Width, Height, SpeedHeight int
	Uptime, Speed              template.HTML // columns of the charts, oldest first
	Rows                       template.HTML // of the table
	Covered                    int           // days with a check
	// average of the slowest day, the scale of the second chart; "" without any
	Slowest string
	Summary string // the first chart in a sentence
}

// stripPoints contains a point for each day of a calendar, nil for a day without a check.
type stripPoints [StripDays]*site.UptimeDataPoint

// NewStrip returns charts of the days of a calendar. It ignores points of other days.
func NewStrip(points []site.UptimeDataPoint, c *Calendar) *Strip {
	const dayLength = 24 * time.Hour
	today := c.Days[StripDays-1].at
	s := &Strip{Width: StripDays * stripStep, Height: stripHeight, SpeedHeight: speedHeight}
	var byDay stripPoints
	slowest := 0 // in milliseconds
	for i := range points {
		p := &points[i]
		date := p.PeriodStart.UTC().Truncate(dayLength)
		day := StripDays - 1 - int(today.Sub(date)/dayLength)
		if day < 0 || day >= StripDays || p.TotalChecks <= 0 {
			continue
		}
		if byDay[day] == nil {
			s.Covered++
		}
		byDay[day] = p
		if p.AvgResponseTimeMS != nil {
			slowest = max(slowest, *p.AvgResponseTimeMS)
		}
	}
	if slowest > 0 {
		s.Slowest = display.Millis(&slowest)
		s.Speed = byDay.speedChart(c, slowest)
	}
	s.Uptime, s.Rows, s.Summary = byDay.uptimeChart(c), byDay.rows(c), byDay.summary(c, s.Covered)
	return s
}

// uptimeChart draws successful checks from the bottom up and failed ones above them. A day without a check is a small
// mark at the bottom, with an area for the pointer.
func (byDay *stripPoints) uptimeChart(c *Calendar) template.HTML {
	m := newMarkup(StripDays * stripBytes)
	for i, p := range byDay {
		x := i * stripStep
		m.raw("<g><title>").text(c.Days[i].Date).raw(": ")
		if p == nil {
			m.raw("no checks</title>").rect("gap", x, stripHeight-gapHeight, stripBar, gapHeight)
			m.rect("touch", x, noY, stripBar, stripHeight).raw("</g>\n")
			continue
		}
		m.text(display.Percent(&p.UptimePercentage)).raw(" of ").text(display.Plural(p.TotalChecks, "check", "checks")).
			raw("</title>")
		down := int(math.Round((1 - max(0, min(1, p.UptimePercentage/100))) * stripHeight))
		if p.SuccessfulChecks < p.TotalChecks {
			down = max(down, minDown)
		}
		if down > 0 {
			m.rect("down", x, noY, stripBar, down)
		}
		if down < stripHeight {
			m.rect("up", x, down, stripBar, stripHeight-down)
		}
		m.raw("</g>\n")
	}
	return m.html()
}

// speedChart draws average response times, scaled to the slowest day.
func (byDay *stripPoints) speedChart(c *Calendar, slowest int) template.HTML {
	m := newMarkup(StripDays * stripBytes)
	for i, p := range byDay {
		if p == nil || p.AvgResponseTimeMS == nil {
			continue
		}
		height := max(minSpeed, int(speedHeight*int64(*p.AvgResponseTimeMS)/int64(slowest)))
		m.openRect("", i*stripStep, speedHeight-height, stripBar, height)
		m.raw("><title>").text(c.Days[i].Date).raw(": ").text(display.Millis(p.AvgResponseTimeMS)).
			raw("</title></rect>\n")
	}
	return m.html()
}

func (byDay *stripPoints) rows(c *Calendar) template.HTML {
	m := newMarkup(StripDays * stripBytes)
	for i, p := range byDay {
		m.raw(`<tr><th scope="row">`).time(c.Days[i].ISO, c.Days[i].Date).raw(`</th>`)
		if p == nil {
			m.raw(`<td class="num quiet" colspan="3">no checks</td></tr>` + "\n")
			continue
		}
		m.raw(`<td class="num">`).text(display.Percent(&p.UptimePercentage))
		m.raw(`</td><td class="num">`).text(display.Plural(p.TotalChecks, "check", "checks"))
		m.raw(`</td><td class="num">`).value(display.Millis(p.AvgResponseTimeMS)).raw("</td></tr>\n")
	}
	return m.html()
}

// summary returns the first chart as a sentence. If a check failed, it names the first of the days with the lowest
// uptime.
func (byDay *stripPoints) summary(c *Calendar, covered int) string {
	if covered == 0 {
		return "No checks in the last 90 days."
	}
	text := "Checked on " + display.Number(int64(covered)) + " of the last 90 days"
	var worst *site.UptimeDataPoint
	on := ""
	for i, p := range byDay {
		if p != nil && p.UptimePercentage < 100 && (worst == nil || p.UptimePercentage < worst.UptimePercentage) {
			worst, on = p, c.Days[i].Date
		}
	}
	if worst == nil {
		return text + "; no checks failed."
	}
	return text + "; lowest uptime " + display.Percent(&worst.UptimePercentage) + " on " + on + "."
}
