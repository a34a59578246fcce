package chart

import (
	"html/template"
	"math/big"
	"strconv"

	"tollbook/site"
	"tollbook/site/display"
)

const (
	spreadSlots  = 8  // a chart with fewer classes has room for so many, so that no column is too wide
	spreadLabels = 10 // a chart with more classes names the powers of ten alone
	paneShare    = 80 // of the height of a pane, in percent, are marks; the rest is for labels
)

// Histogram is a chart of the lowest prices of the services of a category, and the same as rows of a table. It contains
// only numbers.
type Histogram struct {
	Plot    template.HTML
	Rows    template.HTML
	Summary string
	Median  string
}

// NewHistogram returns a chart with a column for each class of prices. If price is not nil, the class that contains it
// is marked as that of this service.
func NewHistogram(p *site.CategoryPrices, price *site.Decimal) Histogram {
	h := Histogram{Median: display.Dollars(p.MedianUSD)}
	h.Summary = "Lowest prices of " + display.Plural(int64(p.ServiceCount), "service", "services") + ", median " +
		h.Median
	if price != nil {
		h.Summary += "; this service (▼) asks for " + display.Dollars(*price)
	}
	h.Summary += "."
	most := 0
	for i := range p.Classes {
		most = max(most, p.Classes[i].ServiceCount)
	}
	scale := newAxis(big.NewRat(int64(most)*5, 4), 1, numberTick) // with room for the mark over a column
	slots := max(spreadSlots, len(p.Classes))
	var bars, here path
	var rows, over markup
	for i := range p.Classes {
		c := &p.Classes[i]
		isHere := price != nil && c.Has(*price)
		rows.classRow(c, isHere)
		over.bound(c.FromUSD, i, slots, len(p.Classes))
		if c.ServiceCount == 0 {
			continue
		}
		top := barsHeight - Share100(big.NewRat(int64(c.ServiceCount), 1), scale.top)
		columns := &bars
		if isHere {
			columns = &here
		}
		columns.column(i, barsHeight, top)
		over.count(c.ServiceCount, i, slots, top, isHere)
	}
	n := len(p.Classes)
	over.bound(p.Classes[n-1].BelowUSD, n, slots, n)
	h.Rows = rows.html()
	h.Plot = (&plot{class: "spread volume", title: "Services by lowest price, US dollars", about: h.Summary,
		height: barsHeight, axis: &scale, marks: new(markup).path("bar", &bars).path("here", &here)}).
		in(frame{slots: slots, over: &over, span: "by class"})
	return h
}

// bound appends the label of a bound between classes at the edge of a column, nothing for nil.
func (m *markup) bound(d *site.Decimal, edge, slots, classes int) {
	if d == nil {
		return
	}
	isPower := isPowerOfTen(string(*d))
	if !isPower && classes > spreadLabels {
		return
	}
	class := literal("half")
	if isPower {
		class = "month"
	}
	m.raw(`<svg class="`).raw(class).raw(`" x="`).share(edge, slots).raw(`"><line y2="100%"/><text y="100%">`)
	m.text(display.Dollars(*d)).raw("</text></svg>")
}

// isPowerOfTen reports whether a decimal has no digit but one 1 and zeros.
func isPowerOfTen(d string) bool {
	ones := 0
	for _, c := range d {
		switch c {
		case '1':
			ones++
		case '0', '.':
		default:
			return false
		}
	}
	return ones == 1
}

// count appends the number of services over a column whose top is at a height, and a mark if the class is that of this
// service. The mark has its own shape, so that its colour is not needed.
func (m *markup) count(n, class, slots, top int, isHere bool) {
	m.raw(`<svg class="month middle" x="`).share(class*stripStep+stripBar/2, slots*stripStep)
	m.raw(`" y="`).share(top*paneShare, barsHeight*100).raw(`"><text>`).number(n).raw("</text>")
	if isHere {
		m.raw(`<path d="M-6-26h12l-6 9z"/>`)
	}
	m.raw("</svg>")
}

// share appends n of all as a percentage.
func (m *markup) share(n, all int) *markup {
	m.b.WriteString(strconv.FormatFloat(100*float64(n)/float64(all), 'f', 2, 64))
	return m.raw("%")
}

// classRow appends a class to the table.
func (m *markup) classRow(c *site.PriceClass, isHere bool) {
	m.raw(`<tr><th scope="row">`)
	switch {
	case c.FromUSD == nil:
		m.raw("under ").text(display.Dollars(*c.BelowUSD))
	case c.BelowUSD == nil:
		m.text(display.Dollars(*c.FromUSD)).raw(" and more")
	default:
		m.text(display.Dollars(*c.FromUSD)).raw(" to under ").text(display.Dollars(*c.BelowUSD))
	}
	if isHere {
		m.raw(` <strong class="best">this service</strong>`)
	}
	m.raw(`</th><td class="num">`).text(display.Number(int64(c.ServiceCount))).raw("</td></tr>\n")
}
