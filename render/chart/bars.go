package chart

import (
	"fmt"
	"html/template"
	"math/big"
	"strconv"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/display"
)

// Volume is the title of a chart of all volume.
const Volume = "Volume by UTC day"

// Sizes of charts of volume, in units of their viewBox. A day is stripStep wide, as in a strip.
const (
	barsHeight = 100
	minBar     = 1 // least height of a bar, so that it is visible: a unit is about a pixel
)

// Bars is a chart of volume by UTC day, and the same as rows of a table. It contains only numbers and dates.
type Bars struct {
	Plot    template.HTML // "" without a settlement
	Days    []BarsDay     // with a settlement, oldest first
	Rows    template.HTML // the same as rows of a table
	Since   string        // the first day that is measured, as "2026-11-20"; "" if all days of the chart are
	Summary string        // the chart in a sentence
	Months  Months        // of all history, if it is shown
}

// BarsDay is a day with a settlement.
type BarsDay struct{ ISO, Date, Exact, Count string }

// NewBars returns a chart of the days of a calendar. Its title says what is shown; the unit follows it. Days before
// since are drawn as gaps, because they are not measured. Without since all days are measured.
func NewBars(title string, points []site.VolumePoint, cal *Calendar, since *site.Time) Bars {
	var c Bars
	by, values := cal.place(points)
	most, total, mostOn := new(big.Rat), new(big.Rat), ""
	for i, v := range values {
		if v == nil {
			continue
		}
		total.Add(total, v)
		if v.Cmp(most) > 0 {
			most, mostOn = v, cal.Days[i].Date
		}
	}
	first := cal.Days[0].at
	if since != nil {
		first = since.UTC().Truncate(24 * time.Hour)
	}
	var rows markup
	var bars, gaps path
	scale := newAxis(most, 0, dollarTick)
	for i, p := range by {
		day := &cal.Days[i]
		switch {
		case p != nil && p.TxCount > 0:
			c.addDay(&rows, day, p)
			bars.column(i, barsHeight, barsHeight-Share100(values[i], scale.top))
		case day.at.Before(first):
			gaps.column(i, barsHeight, barsHeight-gapHeight)
		}
	}
	c.Rows = rows.html()
	c.Summary = "No settlements in the last 90 days."
	if len(c.Days) > 0 {
		c.Summary = fmt.Sprintf("%s on %s of the last 90 days", display.Cents(site.DecimalOf(total)),
			display.Number(int64(len(c.Days))))
		if mostOn != "" {
			c.Summary += "; maximum " + display.Cents(site.DecimalOf(most)) + " on " + mostOn
		}
		c.Summary += "."
	}
	if cal.Days[0].at.Before(first) {
		c.Since = first.Format(time.DateOnly)
		c.Summary += " Measured since " + first.Format(display.DayLayout) + "; earlier volume is unknown."
	}
	if len(c.Days) > 0 {
		c.Plot = (&plot{class: "volume", title: title + ", US dollars", about: c.Summary, height: barsHeight,
			axis: &scale, marks: new(markup).path("gap", &gaps).path("bar", &bars)}).html(cal)
	}
	return c
}

// addDay adds a day to the table.
func (c *Bars) addDay(rows *markup, day *calendarDay, p *site.VolumePoint) {
	d := BarsDay{ISO: day.ISO, Date: day.Date, Exact: display.Dollars(p.VolumeUSD), Count: display.Number(p.TxCount)}
	c.Days = append(c.Days, d)
	rows.raw(`<tr><th scope="row">`).time(d.ISO, d.Date)
	rows.raw(`</th><td class="num">`).text(d.Exact)
	rows.raw(`</td><td class="num">`).text(d.Count).raw("</td></tr>\n")
}

// place assigns points and their volumes to days; nil is a day without one. The last point of a day counts.
func (c *Calendar) place(points []site.VolumePoint) (by [StripDays]*site.VolumePoint, values [StripDays]*big.Rat) {
	for i := range points {
		if day, ok := c.index[points[i].Date]; ok {
			by[day], values[day] = &points[i], points[i].VolumeUSD.Rational()
		}
	}
	return by, values
}

// Sizes of a small chart in a row of a table.
const (
	sparkStep   = 2
	sparkHeight = 24
)

// Spark returns the bars of a small chart of volume as the data of a path, or "" without a settlement.
func Spark(points []site.VolumePoint, cal *Calendar) string {
	by, values := cal.place(points)
	most := new(big.Rat)
	for _, v := range values {
		if v != nil && v.Cmp(most) > 0 {
			most = v
		}
	}
	var b strings.Builder
	for i, p := range by {
		if p == nil || p.TxCount == 0 {
			continue
		}
		height := scaled(values[i], most, sparkHeight)
		b.WriteString("M" + strconv.Itoa(i*sparkStep) + " " + strconv.Itoa(sparkHeight) + "v-" + strconv.Itoa(height) +
			"h" + strconv.Itoa(sparkStep) + "v" + strconv.Itoa(height) + "z")
	}
	return b.String()
}

// Share100 returns the height of a volume as a share of the largest, minBar to 100.
func Share100(v, most *big.Rat) int { return scaled(v, most, barsHeight) }

// scaled returns the height of a value on a scale from zero to top, minBar to height.
func scaled(v, top *big.Rat, height int) int {
	if top.Sign() <= 0 {
		return minBar
	}
	f, _ := new(big.Rat).Quo(v, top).Float64()
	return max(minBar, min(height, int(f*float64(height)+.5)))
}
