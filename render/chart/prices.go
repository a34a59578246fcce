package chart

import (
	"html/template"
	"math/big"

	"tollbook/site"
	"tollbook/site/display"
)

const pricesHeight = 60

// Prices is a chart of the prices of a service in the last 90 days, from the lowest to the highest, and the days on
// which they changed as rows of a table. It contains only numbers and dates.
type Prices struct {
	Width, Height int
	Steps         template.HTML
	Rows          template.HTML // days whose prices changed or differ from the day before, oldest first
	Most          string        // the highest price, the scale; "" without any
	Summary       string
}

// NewPrices returns a chart with a bar for each span of days with the same prices. Days without a price are blank.
// lowest is the current lowest price, which may differ from that of the last day.
func NewPrices(points []site.PricePoint, lowest *site.Decimal, cal *Calendar) Prices {
	c := Prices{Width: StripDays * stripStep, Height: pricesHeight,
		Summary: "No active endpoint asks for a price in dollars."}
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
			addPriceRow(&rows, cal.Days[at], p)
		case p.Date < cal.Days[0].Key: // valid on the first day
			spans = []priceSpan{{0, p}}
		}
	}
	c.Rows = rows.html()
	var top *site.Decimal
	for _, s := range spans {
		if p := s.point.MaxPriceUSD; p != nil && (top == nil || p.Compare(*top) > 0) {
			top = p
		}
	}
	if top != nil {
		c.Most = display.Dollars(*top)
		c.Steps = drawSpans(spans, display.Rational(*top), cal)
	}
	summary := display.Plural(int64(changes), "change", "changes") + " in the last 90 days."
	switch {
	case lowest != nil:
		c.Summary = "Now from " + display.Dollars(*lowest) + "; " + summary
	case len(points) > 0:
		c.Summary = "No price in dollars now; " + summary
	}
	return c
}

// addPriceRow adds a day to the table.
func addPriceRow(m *markup, day calendarDay, p *site.PricePoint) {
	m.raw(`<tr><th scope="row">`).time(day.ISO, day.Date)
	m.raw(`</th><td class="num">`).value(display.DollarsOrNull(p.MinPriceUSD))
	m.raw(`</td><td class="num">`).value(display.DollarsOrNull(p.MaxPriceUSD))
	m.raw(`</td><td class="num">`).text(display.Number(int64(p.Changes))).raw("</td></tr>\n")
}

// drawSpans draws the spans with prices, each up to the next one, scaled to the highest price.
func drawSpans(spans []priceSpan, most *big.Rat, cal *Calendar) template.HTML {
	var m markup
	for i, s := range spans {
		end := StripDays
		if i+1 < len(spans) {
			end = spans[i+1].day
		}
		if end > s.day && s.point.MinPriceUSD != nil && s.point.MaxPriceUSD != nil {
			s.draw(&m, cal, end, most)
		}
	}
	return m.html()
}

// priceSpan is a span of days with the same prices. It begins at a day of the chart.
type priceSpan struct {
	day   int
	point *site.PricePoint
}

// draw draws the bar of a span up to the day end, scaled to the highest price.
func (s priceSpan) draw(m *markup, cal *Calendar, end int, most *big.Rat) {
	at := func(d site.Decimal) int { return pricesHeight * Share100(display.Rational(d), most) / barsHeight }
	low, high := at(*s.point.MinPriceUSD), at(*s.point.MaxPriceUSD)
	low = min(low, high-minBar)
	m.raw("<g><title>").text(cal.Days[s.day].Date)
	if end-1 > s.day {
		m.raw(" to ").text(cal.Days[end-1].Date)
	}
	m.raw(": ").text(display.Dollars(*s.point.MinPriceUSD))
	if s.point.MinPriceUSD.Compare(*s.point.MaxPriceUSD) != 0 {
		m.raw(" to ").text(display.Dollars(*s.point.MaxPriceUSD))
	}
	x, width := s.day*stripStep, (end-s.day)*stripStep
	m.raw("</title>").rect("bar", x, pricesHeight-high, width, high-low)
	m.rect("touch", x, noY, width, pricesHeight).raw("</g>\n")
}
