package chart

import (
	"html/template"
	"math"
	"math/big"
	"strconv"
	"time"

	"tollbook/site"
	"tollbook/site/display"
)

// axis is the scale of a chart: from zero to a round number, with evenly spaced ticks.
type axis struct {
	top   *big.Rat
	ticks []string // labels, the highest first, zero last
}

const maxSteps = 4 // steps between the ticks of an axis

// newAxis returns a scale that includes most. A step is 1, 2 or 5 times a power of ten, and at least least. A scale
// without values ends at one.
func newAxis(most *big.Rat, least int64, format func(*big.Rat) string) axis {
	if most.Sign() <= 0 {
		most = big.NewRat(1, 1)
	}
	about, _ := most.Float64()
	step := new(big.Rat)
	for exponent, n := int(math.Floor(math.Log10(about)))-1, 0; ; n++ {
		step.Mul(powerOfTen(exponent+n/3), big.NewRat([]int64{1, 2, 5}[n%3], 1))
		if step.Cmp(big.NewRat(least, 1)) >= 0 && new(big.Rat).Mul(step, big.NewRat(maxSteps, 1)).Cmp(most) >= 0 {
			break
		}
	}
	a := axis{top: new(big.Rat), ticks: []string{format(new(big.Rat))}}
	for a.top.Cmp(most) < 0 {
		a.top.Add(a.top, step)
		a.ticks = append([]string{format(a.top)}, a.ticks...)
	}
	return a
}

// powerOfTen returns 10 to the power of n.
func powerOfTen(n int) *big.Rat {
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil)
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), p)
	}
	return new(big.Rat).SetInt(p)
}

func dollarTick(r *big.Rat) string { return display.Dollars(site.DecimalOf(r)) }

func numberTick(r *big.Rat) string { return display.Number(r.Num().Int64()) }

func millisTick(r *big.Rat) string { return display.Millis(new(int(r.Num().Int64()))) }

// percentAxis is the scale of shares.
var percentAxis = axis{top: big.NewRat(100, 1), ticks: []string{"100%", "50%", "0%"}}

// Ranges of days that a reader may choose. Each has ticks of its own; a stylesheet shows those of the chosen range.
const (
	longRange   = StripDays // months, and the middle of each on a wide chart
	middleRange = 30        // weeks
	shortRange  = 7         // days
)

// dateTicks returns the dated ticks of all ranges. The class of a tick says to which range it belongs, and "end" that
// its label is on the left, because it would not fit on the right.
func dateTicks(days *[StripDays]calendarDay) *markup {
	m := newMarkup(3000)
	for i := range days {
		at := days[i].at
		label := at.Format("2 Jan")
		switch {
		case at.Day() == 1 && at.Month() == time.January:
			m.tick("month", i, longRange, at.Format("2 Jan 2006"))
		case at.Day() == 1:
			m.tick("month", i, longRange, label)
		case at.Day() == 15:
			m.tick("half", i, longRange, label)
		}
		if i >= StripDays-middleRange && at.Weekday() == time.Monday {
			m.tick("week", i, middleRange, label)
		}
		if i >= StripDays-shortRange {
			if (StripDays-i)%2 == 0 {
				m.tick("day other", i, shortRange, label)
			} else {
				m.tick("day", i, shortRange, label)
			}
		}
	}
	return m
}

// tick appends a dated tick at the beginning of a day. An SVG without a viewBox is not stretched, so that its text
// is not either; its lines and labels have places in percent.
func (m *markup) tick(class literal, day, shown int, label string) {
	m.raw(`<svg class="`).raw(class)
	if shown > shortRange && StripDays-day < shown/7 {
		m.raw(" end")
	}
	m.raw(`" x="`).percent(day).raw(`"><line y2="100%"/><text`)
	if shown == shortRange {
		m.raw(` x=".56%"`) // the middle of the day
	}
	m.raw(` y="100%">`).text(label).raw("</text></svg>")
}

// percent appends the place of the beginning of a day.
func (m *markup) percent(day int) *markup {
	m.b.WriteString(strconv.FormatFloat(100*float64(day)/StripDays, 'f', 2, 64))
	return m.raw("%")
}

// plot is a chart of the days of a calendar.
type plot struct {
	class  literal
	title  string // with the unit
	about  string // the chart in a sentence
	height int    // of the scale
	below  int    // of the marks below the scale, 0 for none
	axis   *axis
	marks  *markup
}

// html returns the plot of a calendar with its title, axes and gridlines.
func (p *plot) html(cal *Calendar) template.HTML {
	return p.in(frame{slots: StripDays, over: cal.ticks, unit: "days", last: cal.Days[StripDays-1].Key,
		span: "the last 90 days"})
}

// frame is the horizontal axis of a plot.
type frame struct {
	slots int
	over  *markup // what is not stretched: ticks and labels
	unit  literal // of a slot that scripts read, "" for none
	last  string  // date of the last slot
	span  string  // all slots in words
}

// in returns the plot in a frame.
func (p *plot) in(f frame) template.HTML {
	m := newMarkup(p.marks.b.Len() + f.over.b.Len() + 1000)
	m.raw(`<p class="title">`).text(p.title).raw(`</p><div class="plot"`)
	if f.unit != "" {
		m.raw(` data-`).raw(f.unit).raw(`="`).number(f.slots).raw(`" data-last="`).text(f.last).raw(`"`)
	}
	m.raw(`><p class="y" aria-hidden="true">`)
	for _, tick := range p.axis.ticks {
		m.raw("<span>").text(tick).raw("</span>")
	}
	m.raw(`</p><div class="pane"><svg class="x" aria-hidden="true">`).join(f.over).raw("</svg>\n")
	m.raw(`<svg class="`).raw(p.class).raw(` marks" viewBox="0 0 `).number(f.slots * stripStep).raw(" ")
	m.number(p.height + p.below).raw(`" preserveAspectRatio="none" role="img" aria-label="`).text(p.title).raw(`, `)
	m.text(f.span).raw(`. `).text(p.about).raw(`">`)
	var grid path
	steps := len(p.axis.ticks) - 1
	for i := range steps {
		grid.line(0, p.height*i/steps, f.slots*stripStep)
	}
	if p.below > 0 {
		grid.line(0, p.height, f.slots*stripStep)
	}
	return m.path("grid", &grid).join(p.marks).raw("</svg></div></div>\n").html()
}

// path is the data of an SVG path, written from numbers alone.
type path struct{ data []byte }

// column adds a vertical line in the middle of a day.
func (p *path) column(day, from, to int) {
	p.command('M', day*stripStep+stripBar/2, from)
	p.command('V', to)
}

// line adds a horizontal line.
func (p *path) line(x, y, to int) {
	p.command('M', x, y)
	p.command('H', to)
}

// box adds a rectangle.
func (p *path) box(x, y, width, height int) {
	p.command('M', x, y)
	p.command('h', width)
	p.command('v', height)
	p.command('h', -width)
	p.data = append(p.data, 'z')
}

func (p *path) command(letter byte, numbers ...int) {
	p.data = append(p.data, letter)
	for i, n := range numbers {
		if i > 0 {
			p.data = append(p.data, ' ')
		}
		p.data = strconv.AppendInt(p.data, int64(n), 10)
	}
}
