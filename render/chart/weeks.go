package chart

import (
	"html/template"
	"math/big"
	"time"

	"tollbook/site"
	"tollbook/site/display"
)

// sparkDash is the height of a dash of a small chart.
const sparkDash = 3

// Weeks is a chart of the median price of a category by week, and the same as rows of a table, the newest week first.
// It contains only numbers and dates.
type Weeks struct {
	Plot    template.HTML
	Rows    template.HTML
	Summary string
}

// NewWeeks returns a chart of at least one week, oldest first. A week without a price has no column.
func NewWeeks(points []site.CategoryWeek) Weeks {
	first, places := placeWeeks(points)
	last := points[len(points)-1]
	w := Weeks{Summary: display.Dollars(last.MedianUSD) + " in the week of " + WeekLabel(last.Week)}
	if len(points) > 1 {
		w.Summary += "; " + display.Dollars(points[0].MedianUSD) + " in that of " + WeekLabel(points[0].Week)
	}
	w.Summary += "."
	most := new(big.Rat)
	for i := range points {
		if v := points[i].MedianUSD.Rational(); v.Cmp(most) > 0 {
			most = v
		}
	}
	scale := newAxis(most, 0, dollarTick)
	slots := max(spreadSlots, places[len(places)-1]+1)
	var bars path
	var over, rows markup
	for i := range points {
		bars.column(places[i], barsHeight, barsHeight-Share100(points[i].MedianUSD.Rational(), scale.top))
	}
	for i := range slots {
		if at := first.AddDate(0, 0, 7*i); at.Day() <= 7 {
			over.raw(`<svg class="month" x="`).share(i, slots).raw(`"><line y2="100%"/><text y="100%">`)
			over.text(at.Format("2 Jan")).raw("</text></svg>")
		}
	}
	for i := len(points) - 1; i >= 0; i-- {
		p := &points[i]
		rows.raw(`<tr><th scope="row">`).time(p.Week, WeekLabel(p.Week)).raw(`</th><td class="num">`)
		rows.text(display.Dollars(p.MedianUSD)).raw(`</td><td class="num">`).number(p.OperatorCount)
		rows.raw("</td></tr>\n")
	}
	w.Rows = rows.html()
	w.Plot = (&plot{class: "volume", title: "Median starting price by week, US dollars", about: w.Summary,
		height: barsHeight, axis: &scale, marks: new(markup).path("bar", &bars)}).
		in(frame{slots: slots, over: &over, span: "by week"})
	return w
}

// WeekSpark returns a small chart of the weeks, a dash for each, as the data of a path, and its width.
func WeekSpark(points []site.CategoryWeek) (data string, width int) {
	_, places := placeWeeks(points)
	most := new(big.Rat)
	for i := range points {
		if v := points[i].MedianUSD.Rational(); v.Cmp(most) > 0 {
			most = v
		}
	}
	var dashes path
	for i := range points {
		height := scaled(points[i].MedianUSD.Rational(), most, sparkHeight-sparkDash)
		dashes.box(places[i]*sparkStep, sparkHeight-sparkDash-height, sparkStep, sparkDash)
	}
	return string(dashes.data), (places[len(places)-1] + 1) * sparkStep
}

// placeWeeks returns the Monday of the first week, and how many weeks later each of the others is.
func placeWeeks(points []site.CategoryWeek) (first time.Time, places []int) {
	for i := range points {
		at := parseWeek(points[i].Week)
		if i == 0 {
			first = at
		}
		places = append(places, int(at.Sub(first)/(7*24*time.Hour)))
	}
	return first, places
}

// WeekLabel returns a day as pages show it.
func WeekLabel(day string) string { return parseWeek(day).Format(display.DayLayout) }

// parseWeek reads a day as the build formats it.
func parseWeek(day string) time.Time {
	at, _ := time.Parse(time.DateOnly, day)
	return at
}
