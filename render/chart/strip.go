package chart

import (
	"html/template"
	"math"
	"math/big"
	"time"

	"tollbook/site"
	"tollbook/site/display"
)

// Sizes of the charts of the uptime of a service, in units of their viewBox. A day is stripStep wide.
const (
	StripDays   = 90
	stripStep   = 10
	stripBar    = 8
	stripHeight = 400 // of 100%, so that a unit is a quarter of a percent
	speedHeight = 60
	gapHeight   = 3
	uptimeGap   = 30 // of a day without a check
	downGap     = 20 // empty space between failures and successes, within the failures
	missHeight  = 40 // of the marks below the scale
	smallMiss   = 40 // height of failures up to which they have such a mark, because less than a dash is drawn
	minSpeed    = 1
	stripBytes  = 200 // bytes of a row of most days
)

// Strip is the charts of the last 90 days of a service, and the same as rows of a table. It contains only numbers and
// dates.
type Strip struct {
	Uptime, Speed template.HTML // charts; "" without a value
	Rows          template.HTML // of the table
	Covered       int           // days of which something is known
	Summary       string        // the first chart in a sentence
	Months        Months        // of all history, if it is shown
}

// stripPoints contains a point for each day of a calendar, nil for a day without a check.
type stripPoints [StripDays]*site.UptimeDataPoint

// NewStrip returns charts of the days of a calendar. It ignores points of other days.
func NewStrip(points []site.UptimeDataPoint, c *Calendar) *Strip {
	const dayLength = 24 * time.Hour
	today := c.Days[StripDays-1].at
	s := new(Strip)
	var byDay stripPoints
	slowest := 0 // in milliseconds
	for i := range points {
		p := &points[i]
		date := p.PeriodStart.UTC().Truncate(dayLength)
		day := StripDays - 1 - int(today.Sub(date)/dayLength)
		if day < 0 || day >= StripDays || p.KnownMS <= 0 {
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
	s.Rows, s.Summary = byDay.rows(c), byDay.summary(c, s.Covered)
	if s.Covered > 0 {
		s.Uptime = byDay.uptimeChart(c, s.Summary)
	}
	if slowest > 0 {
		s.Speed = byDay.speedChart(c, slowest)
	}
	return s
}

// uptimeChart draws the uptime of each day. A day without a check is a small mark at the bottom.
func (byDay *stripPoints) uptimeChart(c *Calendar, summary string) template.HTML {
	var bars uptimeBars
	for i, p := range byDay {
		if p == nil {
			bars.addGap(i)
		} else {
			bars.add(i, p.UptimePercentage, p.UpMS < p.KnownMS)
		}
	}
	return (&plot{class: "days", title: "Uptime by UTC day, share of time", about: summary, height: stripHeight,
		below: missHeight, axis: &percentAxis, marks: bars.marks(new(markup))}).html(c)
}

// uptimeBars draws shares of successful checks to scale: a column from the bottom up ends at its value. Failures are
// dashes from the top down to a gap above it. Failures that can hardly be seen have a mark below the scale.
// A column below site.GoodUptime has a class of its own.
type uptimeBars struct{ up, low, down, gap, miss path }

// addGap adds a slot without a check.
func (b *uptimeBars) addGap(slot int) { b.gap.column(slot, stripHeight, stripHeight-uptimeGap) }

// add adds the uptime of a slot in percent. hasFailed says that a check failed, whatever the uptime is rounded to.
func (b *uptimeBars) add(slot int, percent float64, hasFailed bool) {
	failed := int(math.Round((1 - max(0, min(1, percent/100))) * stripHeight))
	if failed < stripHeight {
		column := &b.up
		if percent < site.GoodUptime {
			column = &b.low
		}
		column.column(slot, stripHeight, failed)
	}
	if dashes := failed - downGap; failed == stripHeight {
		b.down.column(slot, 0, failed)
	} else if dashes > 0 {
		b.down.column(slot, 0, dashes)
	}
	if hasFailed && failed <= smallMiss {
		b.miss.column(slot, stripHeight+missHeight/4, stripHeight+missHeight)
	}
}

// marks appends the paths.
func (b *uptimeBars) marks(m *markup) *markup {
	return m.path("gap", &b.gap).path("up", &b.up).path("low", &b.low).path("down", &b.down).
		path("miss", &b.miss)
}

// SmallStrip draws days as a strip does, without axes, for a row of a table.
func SmallStrip(days site.UptimeDays) template.HTML {
	var bars uptimeBars
	covered, failed := 0, 0
	for i, d := range days {
		if d == 0 {
			bars.addGap(i)
			continue
		}
		covered++
		hasFailed := d <= 100
		if hasFailed {
			failed++
		}
		bars.add(i, float64(d)-1, hasFailed)
	}
	if covered == 0 {
		return None()
	}
	m := new(markup).raw(`<svg class="marks small" viewBox="0 0 `).number(StripDays * stripStep).raw(" ").
		number(stripHeight + missHeight).raw(`" preserveAspectRatio="none" role="img" aria-label="Checks failed on `).
		number(failed).raw(" of ").text(display.Plural(int64(covered), "day", "days")).raw(` with checks">`)
	return bars.marks(m).raw("</svg>").html()
}

// speedChart draws average response times.
func (byDay *stripPoints) speedChart(c *Calendar, slowest int) template.HTML {
	scale := newAxis(big.NewRat(int64(slowest), 1), 1, millisTick)
	top := scale.top.Num().Int64()
	var columns path
	for i, p := range byDay {
		if p != nil && p.AvgResponseTimeMS != nil {
			height := max(minSpeed, int(math.Round(speedHeight*float64(*p.AvgResponseTimeMS)/float64(top))))
			columns.column(i, speedHeight, speedHeight-height)
		}
	}
	return (&plot{class: "speed", title: "Average response time by UTC day, milliseconds",
		about: "Maximum " + display.Millis(&slowest) + ".", height: speedHeight, axis: &scale,
		marks: new(markup).path("bar", &columns)}).html(c)
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
		m.raw(`</td><td class="num">`).text(display.Number(p.TotalChecks))
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
