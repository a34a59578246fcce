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

// Sizes of charts of volume, in units of their viewBox. A day is stripStep wide, as in a strip.
const (
	barsDays   = site.SeriesDays
	barsHeight = 100
	minBar     = 2 // least height of a bar, so that it is visible
)

// Bars is a chart of volume by UTC day, and the same as rows of a table. It contains only numbers and dates.
type Bars struct {
	Width, Height int
	Columns       template.HTML
	Days          []BarsDay     // with a settlement, oldest first
	Rows          template.HTML // the same as rows of a table
	Most          string        // volume of the largest day, the scale; "" without any
	Summary       string        // the chart in a sentence
}

// BarsDay is a day with a settlement.
type BarsDay struct{ ISO, Date, Volume, Exact, Count string }

// NewBars returns a chart of the days of a calendar. Days before since are drawn as gaps, because they are not
// measured. Without since all days are measured.
func NewBars(points []site.VolumePoint, cal *Calendar, since *site.Time) Bars {
	c := Bars{Width: barsDays * stripStep, Height: barsHeight}
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
	var m, rows markup
	for i, p := range by {
		day := &cal.Days[i]
		switch {
		case p != nil && p.TxCount > 0:
			d := BarsDay{ISO: day.ISO, Date: day.Date, Volume: display.Cents(p.VolumeUSD),
				Exact: display.Dollars(p.VolumeUSD), Count: display.Plural(p.TxCount, "settlement", "settlements")}
			c.Days = append(c.Days, d)
			rows.raw(`<tr><th scope="row">`).time(d.ISO, d.Date)
			rows.raw(`</th><td class="num">`).text(d.Exact)
			rows.raw(`</td><td class="num">`).text(d.Count).raw("</td></tr>\n")
			height := Share100(values[i], most)
			m.barTitle(day).text(d.Volume).raw(" in ").text(d.Count)
			m.bar("bar", i, height)
		case day.at.Before(first):
			m.barTitle(day).raw("not measured")
			m.bar("gap", i, gapHeight)
		}
	}
	c.Columns, c.Rows = m.html(), rows.html()
	c.Summary = "No settlements in the last 90 days."
	if len(c.Days) > 0 {
		c.Summary = fmt.Sprintf("%s on %s of the last 90 days", display.Cents(display.DecimalOf(total)),
			display.Number(int64(len(c.Days))))
		if mostOn != "" {
			c.Most = display.Cents(display.DecimalOf(most))
			c.Summary += "; maximum " + c.Most + " on " + mostOn
		}
		c.Summary += "."
	}
	if cal.Days[0].at.Before(first) {
		c.Summary += " Measured since " + since.UTC().Format(display.DayLayout) + "; earlier volume is unknown."
	}
	return c
}

// barTitle begins the markup of a day, whose title says what was settled on it.
func (m *markup) barTitle(day *calendarDay) *markup {
	return m.raw("<g><title>").text(day.Date).raw(": ")
}

// bar ends the markup of a day: a bar, and an area for the pointer.
func (m *markup) bar(class literal, day, height int) {
	m.raw("</title>").rect(class, day*stripStep, barsHeight-height, stripBar, height)
	m.rect("touch", day*stripStep, noY, stripBar, barsHeight).raw("</g>\n")
}

// place assigns points and their volumes to days; nil is a day without one. The last point of a day counts.
func (c *Calendar) place(points []site.VolumePoint) (by [StripDays]*site.VolumePoint, values [StripDays]*big.Rat) {
	for i := range points {
		if day, ok := c.index[points[i].Date]; ok {
			by[day], values[day] = &points[i], display.Rational(points[i].VolumeUSD)
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
		height := max(1, Share100(values[i], most)*sparkHeight/barsHeight)
		b.WriteString("M" + strconv.Itoa(i*sparkStep) + " " + strconv.Itoa(sparkHeight) + "v-" + strconv.Itoa(height) +
			"h" + strconv.Itoa(sparkStep) + "v" + strconv.Itoa(height) + "z")
	}
	return b.String()
}

// Share100 returns the height of a volume as a share of the largest, minBar to 100.
func Share100(v, most *big.Rat) int {
	if most.Sign() <= 0 {
		return minBar
	}
	f, _ := new(big.Rat).Quo(v, most).Float64()
	return max(minBar, min(barsHeight, int(f*barsHeight+.5)))
}
