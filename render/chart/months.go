package chart

import (
	"html/template"
	"math"
	"math/big"
	"time"

	"tollbook/site"
	"tollbook/site/display"
)

// Limits of a chart of months. One with less history begins with months without a value.
const (
	leastMonths = 12
	mostMonths  = 60
)

// Months is a chart of all UTC months of a series, and the months with a value as rows of a table. It contains only
// numbers and dates.
type Months struct {
	Of    string        // "uptime"
	Label string        // "Uptime by month"
	Heads []string      // of the columns after the first
	Plot  template.HTML // "" without a value
	Rows  template.HTML // oldest first
}

// months are the months of a chart, this month last.
type months struct {
	first time.Time
	count int
}

// newMonths returns the months since a date, at most mostMonths.
func newMonths(since string, cal *Calendar) months {
	last := cal.Days[StripDays-1].at
	last = last.AddDate(0, 0, 1-last.Day())
	n := leastMonths
	if at, err := time.Parse(time.DateOnly, since); err == nil {
		n = max(n, 12*(last.Year()-at.Year())+int(last.Month()-at.Month())+1)
	}
	n = min(n, mostMonths)
	return months{last.AddDate(0, 1-n, 0), n}
}

// at returns the beginning of a month.
func (m months) at(i int) time.Time { return m.first.AddDate(0, i, 0) }

// index returns the month of a date, and false for a date before the first month.
func (m months) index(date string) (int, bool) {
	at, err := time.Parse(time.DateOnly, date)
	if err != nil || at.Before(m.first) {
		return 0, false
	}
	i := 12*(at.Year()-m.first.Year()) + int(at.Month()-m.first.Month())
	return i, i < m.count
}

// html returns a plot of the months.
func (m months) html(p *plot) template.HTML {
	ticks := newMarkup(80 * m.count)
	for i := range m.count {
		at := m.at(i)
		class, label := literal("half"), at.Format("Jan")
		switch {
		case at.Month() == time.January:
			class, label = "month", at.Format("2006")
		case m.count > 2*leastMonths:
			continue // years are enough
		case (at.Month()-time.January)%3 == 0:
			class = "month"
		}
		ticks.raw(`<svg class="`).raw(class).raw(`" x="`).share(i, m.count).raw(`"><line y2="100%"/><text y="100%">`)
		ticks.text(label).raw("</text></svg>")
	}
	return p.in(frame{slots: m.count, over: ticks, unit: "months", last: m.at(m.count - 1).Format(time.DateOnly),
		span: "all months"})
}

// month appends the month of a row of a table; its values follow.
func (m *markup) month(at time.Time) *markup {
	return m.raw(`<tr><th scope="row">`).time(site.NewTime(at).String(), at.Format("Jan 2006")).raw(`</th>`)
}

// NewUptimeMonths returns the mean uptime of the days of each month with a check.
func NewUptimeMonths(points []site.ScorePoint, cal *Calendar) Months {
	if len(points) == 0 {
		return Months{}
	}
	m := newMonths(points[0].Date, cal)
	sums, days, worst := make([]float64, m.count), make([]int, m.count), make([]float64, m.count)
	for i := range points {
		p := &points[i]
		if at, ok := m.index(p.Date); ok {
			if days[at] == 0 || p.UptimePercentage < worst[at] {
				worst[at] = p.UptimePercentage
			}
			sums[at], days[at] = sums[at]+p.UptimePercentage, days[at]+1
		}
	}
	var bars uptimeBars
	var rows markup
	for i := range m.count {
		if days[i] == 0 {
			bars.addGap(i)
			continue
		}
		mean := math.Round(100*sums[i]/float64(days[i])) / 100
		bars.add(i, mean, worst[i] < 100)
		rows.month(m.at(i)).raw(`<td class="num">`).text(display.Percent(&mean)).raw(`</td><td class="num">`)
		rows.text(display.Percent(&worst[i])).raw(`</td><td class="num">`).number(days[i]).raw("</td></tr>\n")
	}
	return Months{Of: "uptime", Label: "Uptime by month", Heads: []string{"Mean of days", "Lowest day", "Days checked"},
		Rows: rows.html(), Plot: m.html(&plot{class: "days", title: "Uptime by month, mean of its UTC days",
			about: "A failed check on any day is marked.", height: stripHeight, below: missHeight, axis: &percentAxis,
			marks: bars.marks(new(markup))})}
}

// NewPriceMonths returns the lowest and the highest price at any time of each month. A month without a point has the
// prices of the last point before it.
func NewPriceMonths(points []site.PricePoint, cal *Calendar) Months {
	if len(points) == 0 {
		return Months{}
	}
	m := newMonths(points[0].Date, cal)
	lows, highs := make([]*site.Decimal, m.count), make([]*site.Decimal, m.count)
	widen := func(at int, p *site.PricePoint) {
		if p.MinPriceUSD != nil && (lows[at] == nil || p.MinPriceUSD.Compare(*lows[at]) < 0) {
			lows[at] = p.MinPriceUSD
		}
		if p.MaxPriceUSD != nil && (highs[at] == nil || p.MaxPriceUSD.Compare(*highs[at]) > 0) {
			highs[at] = p.MaxPriceUSD
		}
	}
	changes, next := make([]int, m.count), 0
	for i := range m.count {
		end := m.at(i + 1).Format(time.DateOnly)
		isFirst := next < len(points) && points[next].Date == m.at(i).Format(time.DateOnly)
		if next > 0 && !isFirst {
			widen(i, &points[next-1])
		}
		for ; next < len(points) && points[next].Date < end; next++ {
			if points[next].Date < m.first.Format(time.DateOnly) {
				continue
			}
			widen(i, &points[next])
			changes[i] += points[next].Changes
		}
	}
	var top *site.Decimal
	for _, d := range highs {
		if d != nil && (top == nil || d.Compare(*top) > 0) {
			top = d
		}
	}
	if top == nil {
		return Months{}
	}
	scale := newAxis(top.Rational(), 0, dollarTick)
	var bars path
	var rows markup
	for i := range m.count {
		if lows[i] == nil || highs[i] == nil {
			continue
		}
		bars.prices(i*stripStep, stripStep, *lows[i], *highs[i], scale.top)
		rows.month(m.at(i)).raw(`<td class="num">`).text(display.Dollars(*lows[i])).raw(`</td><td class="num">`)
		rows.text(display.Dollars(*highs[i])).raw(`</td><td class="num">`).number(changes[i]).raw("</td></tr>\n")
	}
	return Months{Of: "prices", Label: "Prices by month", Heads: []string{"Lowest", "Highest", "Changes"},
		Rows: rows.html(), Plot: m.html(&plot{class: "prices",
			title: "Lowest to highest price by month, US dollars", about: "Prices at any time of each month.",
			height: pricesHeight, axis: &scale, marks: new(markup).path("bar", &bars)})}
}

// NewVolumeMonths returns the volume of each month. Months that end before since are drawn as gaps, because they are
// not measured.
func NewVolumeMonths(points []site.VolumePoint, cal *Calendar, since *site.Time) Months {
	if len(points) == 0 {
		return Months{}
	}
	m := newMonths(points[0].Date, cal)
	sums, counts := make([]*big.Rat, m.count), make([]int64, m.count)
	most := new(big.Rat)
	for i := range points {
		at, ok := m.index(points[i].Date)
		if !ok || points[i].TxCount == 0 {
			continue
		}
		if sums[at] == nil {
			sums[at] = new(big.Rat)
		}
		sums[at].Add(sums[at], points[i].VolumeUSD.Rational())
		counts[at] += points[i].TxCount
		if sums[at].Cmp(most) > 0 {
			most.Set(sums[at])
		}
	}
	scale := newAxis(most, 0, dollarTick)
	var bars, gaps path
	var rows markup
	for i, sum := range sums {
		if sum == nil {
			if since != nil && m.at(i+1).Before(since.Time) {
				gaps.column(i, barsHeight, barsHeight-gapHeight)
			}
			continue
		}
		bars.column(i, barsHeight, barsHeight-Share100(sum, scale.top))
		rows.month(m.at(i)).raw(`<td class="num">`).text(display.Dollars(site.DecimalOf(sum)))
		rows.raw(`</td><td class="num">`).text(display.Number(counts[i])).raw("</td></tr>\n")
	}
	return Months{Of: "volume", Label: "Volume by month", Heads: []string{"Volume", "Settlements"},
		Rows: rows.html(), Plot: m.html(&plot{class: "volume", title: "Volume by month, US dollars",
			about: "Sums of UTC days.", height: barsHeight, axis: &scale,
			marks: new(markup).path("gap", &gaps).path("bar", &bars)})}
}
