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
	Rows          template.HTML // days on which prices were first seen or changed, oldest first
	Most          string        // the highest price, the scale; "" without any
	Summary       string
}

// NewPrices returns a chart with a bar for each span of days with the same prices. Days before the first price are
// blank. lowest is the current lowest price, which may differ from that of the last day.
func NewPrices(points []site.PricePoint, lowest *site.Decimal, cal *Calendar) Prices {
	c := Prices{Width: StripDays * stripStep, Height: pricesHeight, Summary: "No price in dollars is known yet."}
	var spans []priceSpan
	most := new(big.Rat)
	moves := 0
	var rows markup
	for i := range points {
		p := &points[i]
		at, shown := cal.index[p.Date]
		if !shown && p.Date > cal.Days[0].Key || p.MinPriceUSD == nil || p.MaxPriceUSD == nil {
			continue
		}
		if !shown { // a price from before the first day is valid on it
			spans = []priceSpan{{0, p}}
			continue
		}
		if n := len(spans); n == 1 && spans[0].day == 0 && spans[0].point.Date == p.Date {
			continue
		}
		spans = append(spans, priceSpan{at, p})
		moves += p.Changes
		rows.raw(`<tr><th scope="row">`).time(cal.Days[at].ISO, cal.Days[at].Date)
		rows.raw(`</th><td class="num">`).text(display.Dollars(*p.MinPriceUSD))
		rows.raw(`</td><td class="num">`).text(display.Dollars(*p.MaxPriceUSD))
		rows.raw(`</td><td class="num">`).text(display.Number(int64(p.Changes))).raw("</td></tr>\n")
	}
	c.Rows = rows.html()
	if len(spans) == 0 {
		return c
	}
	top := spans[0].point.MaxPriceUSD
	for _, s := range spans {
		if v := display.Rational(*s.point.MaxPriceUSD); v.Cmp(most) > 0 {
			most, top = v, s.point.MaxPriceUSD
		}
	}
	c.Most = display.Dollars(*top)
	var m markup
	for i, s := range spans {
		end := StripDays
		if i+1 < len(spans) {
			end = spans[i+1].day
		}
		if end > s.day {
			s.draw(&m, cal, end, most)
		}
	}
	c.Steps = m.html()
	c.Summary = display.Plural(int64(moves), "change", "changes") + " in the last 90 days."
	if lowest != nil {
		c.Summary = "Now from " + display.Dollars(*lowest) + "; " + c.Summary
	}
	return c
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
