package chart

import (
	"html/template"
	"math/big"

	"tollbook/site"
	"tollbook/site/display"
)

const pricesHeight = 60

// manyChanges is a number of changes from which on the list of changes may have merged some.
const manyChanges = 24

// Prices is a chart of the prices of a service in the last 90 days, from the lowest to the highest, and the days on
// which they changed as rows of a table. It contains only numbers and dates.
type Prices struct {
	Plot    template.HTML // "" without a price
	Rows    template.HTML // the first day, and days whose prices changed or differ from the day before, oldest first
	Summary string
	Months  Months // of all history
	IsFlat  bool   // no price changed in the last 90 days
}

// NewPrices returns a chart with a bar for each span of days with the same prices. Days without a price are blank.
// lowest is the current lowest price, which may differ from that of the last day, and condition what a buyer needs
// first for it, nil for nothing.
func NewPrices(points []site.PricePoint, lowest *site.Decimal, condition *string, cal *Calendar) Prices {
	c := Prices{Summary: "No active endpoint asks for a price in dollars.", Months: NewPriceMonths(points, cal)}
	var spans []priceSpan
	changes := 0
	var rows markup
	for i := range points {
		p := &points[i]
		at, shown := cal.index[p.Date]
		switch {
		case shown:
			if at == 0 {
				spans = nil // the first day has its own point
			}
			spans = append(spans, priceSpan{at, p})
			changes += p.Changes
		case p.Date < cal.Days[0].Key: // valid on the first day
			spans = []priceSpan{{0, p}}
		}
	}
	var top *site.Decimal
	for i, s := range spans {
		if p := s.point.MaxPriceUSD; p != nil && (top == nil || p.Compare(*top) > 0) {
			top = p
		}
		rows.priceRow(s, i == 0 && s.point.Date < cal.Days[0].Key, cal)
	}
	c.Rows, c.IsFlat = rows.html(), changes == 0 && len(spans) < 2
	summary := display.Plural(int64(changes), "change", "changes") + " in the last 90 days."
	if changes > manyChanges {
		summary += " The list of changes has at most one an hour."
	}
	switch {
	case lowest != nil && condition != nil:
		c.Summary = "Now " + display.Dollars(*lowest) + " (" + display.Line(*condition, display.MaxLine) + "); " + summary
	case lowest != nil:
		c.Summary = "Now from " + display.Dollars(*lowest) + "; " + summary
	case len(points) > 0:
		c.Summary = "No price in dollars now; " + summary
	}
	if top != nil {
		scale := newAxis(top.Rational(), 0, dollarTick)
		c.Plot = (&plot{class: "prices", title: "Lowest to highest price by UTC day, US dollars", about: c.Summary,
			height: pricesHeight, axis: &scale, marks: drawSpans(spans, scale.top)}).html(cal)
	}
	return c
}

// priceRow appends the first day of a span to the table. An old span began before the calendar, and so did its changes.
func (m *markup) priceRow(s priceSpan, isOld bool, cal *Calendar) {
	day, changes := &cal.Days[s.day], s.point.Changes
	if isOld {
		changes = 0
	}
	m.raw(`<tr><th scope="row">`).time(day.ISO, day.Date)
	m.raw(`</th><td class="num">`).value(display.DollarsOrNull(s.point.MinPriceUSD))
	m.raw(`</td><td class="num">`).value(display.DollarsOrNull(s.point.MaxPriceUSD))
	m.raw(`</td><td class="num">`).text(display.Number(int64(changes))).raw("</td></tr>\n")
}

// drawSpans draws the spans with prices as bars from the lowest price to the highest, each up to the next one.
func drawSpans(spans []priceSpan, top *big.Rat) *markup {
	var bars path
	for i, s := range spans {
		end := StripDays
		if i+1 < len(spans) {
			end = spans[i+1].day
		}
		if end > s.day && s.point.MinPriceUSD != nil && s.point.MaxPriceUSD != nil {
			bars.prices(s.day*stripStep, (end-s.day)*stripStep, *s.point.MinPriceUSD, *s.point.MaxPriceUSD, top)
		}
	}
	return new(markup).path("bar", &bars)
}

// linePrice is the least height of a bar of prices, for a single price.
const linePrice = 2

// prices adds a bar from the lowest price to the highest. Its top is at the highest.
func (p *path) prices(x, width int, lowest, highest site.Decimal, top *big.Rat) {
	high := scaled(highest.Rational(), top, pricesHeight)
	low := max(0, min(scaled(lowest.Rational(), top, pricesHeight), high-linePrice))
	p.box(x, pricesHeight-high, width, high-low)
}

// priceSpan is a span of days with the same prices. It begins at a day of the chart.
type priceSpan struct {
	day   int
	point *site.PricePoint
}
