package chart

import (
	"fmt"
	"html/template"
	"math/big"

	"tollbook/site"
	"tollbook/site/display"
)

// Listed is a chart of the number of resources that a public source listed at the end of each day, and the days with a
// change as rows of a table.
type Listed struct {
	Plot    template.HTML // "" if the source was never read to its end
	Rows    template.HTML // "" without a change
	Summary string        // the chart in a sentence
}

// NewListed returns the chart of a source for the days of a calendar. Days before its first answer are drawn as gaps.
func NewListed(s *site.SourceDetail, cal *Calendar) Listed {
	var c Listed
	if s.Answer == nil {
		c.Summary = "How many resources it lists is unknown: it was never read to its end."
		return c
	}
	count, most := s.ResourceCount, 0 // without a change in the calendar
	by := map[string]site.SourceDay{}
	if len(s.Days) > 0 {
		count = s.Days[0].Resources - s.Days[0].Listed + s.Days[0].Dropped
		most = count
	}
	began := count > 0 || len(s.Days) == 0
	for _, d := range s.Days {
		by[d.Date], most = d, max(most, d.Resources)
	}
	scale := newAxis(big.NewRat(int64(max(most, count)), 1), 1, numberTick)
	var rows markup
	var bars, gaps path
	listed, dropped := 0, 0
	for i := range cal.Days {
		day := &cal.Days[i]
		if d, ok := by[day.Key]; ok {
			began, count = true, d.Resources
			listed, dropped = listed+d.Listed, dropped+d.Dropped
			rows.raw(`<tr><th scope="row">`).time(day.ISO, day.Date).raw("</th>")
			for _, n := range []int{d.Resources, d.Listed, d.Dropped} {
				rows.raw(`<td class="num">`).text(display.Number(int64(n))).raw("</td>")
			}
			rows.raw("</tr>\n")
		}
		switch {
		case !began:
			gaps.column(i, barsHeight, barsHeight-gapHeight)
		case count > 0:
			bars.column(i, barsHeight, barsHeight-Share100(big.NewRat(int64(count), 1), scale.top))
		}
	}
	c.Rows = rows.html()
	c.Summary = fmt.Sprintf("%s. In the last 90 days it began to list %s and dropped %s.",
		display.Plural(int64(count), "resource", "resources"), display.Number(int64(listed)),
		display.Number(int64(dropped)))
	c.Plot = (&plot{class: "volume", title: "Resources at the end of each UTC day", about: c.Summary,
		height: barsHeight, axis: &scale, marks: new(markup).path("gap", &gaps).path("bar", &bars)}).html(cal)
	return c
}
