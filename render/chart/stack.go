package chart

import (
	"bytes"
	"encoding/csv"
	"html/template"
	"math/big"
	"time"

	"tollbook/site"
	"tollbook/site/display"
)

// StackParts is the maximum number of parts of a column that have a name. The rest is one part, others.
const StackParts = 6

// Sizes of a stacked chart, in units of its viewBox. A stylesheet draws a unit as about a pixel.
const (
	stackHeight = 200
	stackGap    = 1 // between parts, so that each has only paper beside it
)

// stackFills are the classes of parts, the first at the bottom. Neighbours differ in lightness and in texture.
var stackFills = [StackParts]literal{"part-1", "part-2", "part-3", "part-4", "part-5", "part-6"}

const otherFill literal = "part-other"

// Part is what one network, token or facilitator contributes to columns.
type Part struct {
	Key    string // its name in a file: letters, digits and a few signs
	Points []site.VolumePoint
	Others bool // it stands for several
}

// Stack is a chart of volume by UTC day whose columns are divided into parts.
type Stack struct {
	Plot     template.HTML   // "" without a settlement in dollars
	Swatches []template.HTML // of the parts, in their order
	Rows     template.HTML   // of the table: the days with a settlement, oldest first, with the total and each part
	Summary  string
	Since    string // the first day that is measured, as "2026-11-20"; "" if all days of the chart are
	lines    [][]string

	days   *[StripDays]calendarDay
	totals []*big.Rat // by day, nil without a settlement
	values [][StripDays]*big.Rat
	parts  []int // the fill of each part, StackParts for one that stands for several
}

// NewStack returns a chart of parts, the first at the bottom of the columns. There are at most StackParts, and others.
// Days before since are not measured. what is the title, without the unit.
func NewStack(what string, parts []Part, cal *Calendar, since *site.Time) Stack {
	totals, values, heads := sumParts(parts, cal)
	var sums []site.VolumePoint
	for day, v := range totals {
		if v != nil {
			sums = append(sums, site.VolumePoint{Date: cal.Days[day].Key, VolumeUSD: site.DecimalOf(v), TxCount: 1})
		}
	}
	all := NewBars(what, sums, cal, since)
	s := Stack{Summary: all.Summary, Since: all.Since, lines: [][]string{heads}, days: &cal.Days, totals: totals,
		values: values, parts: make([]int, len(parts))}
	for i := range parts {
		if s.parts[i] = i; parts[i].Others {
			s.parts[i] = StackParts
		}
	}
	most := new(big.Rat)
	var rows markup
	for day, v := range totals {
		if v == nil {
			continue
		}
		if v.Cmp(most) > 0 {
			most = v
		}
		s.addRow(&rows, &cal.Days[day], v, values, day)
	}
	s.Rows = rows.html()
	if most.Sign() == 0 {
		return s
	}
	scale := newAxis(most, 0, dollarTick)
	marks, shapes := new(markup), drawStack(totals, values, scale.top)
	marks.path("gap", drawGaps(cal, since, totals))
	for i := range parts {
		fill := otherFill
		if !parts[i].Others {
			fill = stackFills[i]
		}
		marks.path(fill, &shapes[i])
		s.Swatches = append(s.Swatches, swatch(fill))
	}
	s.Plot = (&plot{class: "volume stacked", title: what + ", US dollars", about: s.Summary, height: stackHeight,
		axis: &scale, marks: marks}).html(cal)
	return s
}

// sumParts returns the volume of each day, nil without a settlement, that of each part, and the head of a file.
func sumParts(parts []Part, cal *Calendar) (totals []*big.Rat, values [][StripDays]*big.Rat, heads []string) {
	totals, values = make([]*big.Rat, StripDays), make([][StripDays]*big.Rat, len(parts))
	heads = []string{"day", "total"}
	for i := range parts {
		var points [StripDays]*site.VolumePoint
		points, values[i] = cal.place(parts[i].Points)
		heads = append(heads, parts[i].Key)
		for day, p := range points {
			if p == nil || p.TxCount == 0 {
				values[i][day] = nil
				continue
			}
			if totals[day] == nil {
				totals[day] = new(big.Rat)
			}
			totals[day].Add(totals[day], values[i][day])
		}
	}
	return totals, values, heads
}

// addRow adds a day to the table.
func (s *Stack) addRow(rows *markup, day *calendarDay, total *big.Rat, values [][StripDays]*big.Rat, n int) {
	rows.raw(`<tr><th scope="row">`).time(day.ISO, day.Date).raw(`</th><td class="num">`)
	rows.text(display.Dollars(site.DecimalOf(total))).raw("</td>")
	line := []string{day.Key, string(site.DecimalOf(total))}
	for i := range values {
		v := values[i][n]
		if v == nil || v.Sign() == 0 {
			rows.raw(`<td class="num"><span class="quiet">none</span></td>`)
			line = append(line, "0")
			continue
		}
		rows.raw(`<td class="num">`).text(display.Dollars(site.DecimalOf(v))).raw("</td>")
		line = append(line, string(site.DecimalOf(v)))
	}
	rows.raw("</tr>\n")
	s.lines = append(s.lines, line)
}

// CSV returns the table as a file. Volumes are in US dollars.
func (s *Stack) CSV() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	_ = w.WriteAll(s.lines) // a buffer does not fail
	return b.Bytes()
}

// drawStack returns the shapes of parts. The top of a column is its total, as of a column without parts.
func drawStack(totals []*big.Rat, values [][StripDays]*big.Rat, top *big.Rat) []path {
	shapes := make([]path, len(values))
	height := func(v *big.Rat) int {
		f, _ := new(big.Rat).Quo(v, top).Float64()
		return int(f*stackHeight + .5)
	}
	for day, total := range totals {
		if total == nil || total.Sign() == 0 {
			continue
		}
		sum, from, tall := new(big.Rat), 0, max(minBar, height(total))
		for i := range values {
			v := values[i][day]
			if v == nil || v.Sign() == 0 {
				continue
			}
			to := height(sum.Add(sum, v))
			if sum.Cmp(total) == 0 {
				to = tall
			}
			if to == from {
				continue // less than half a unit: its sum with the next part may be drawn
			}
			start := from
			if from > 0 && to-from > 2*stackGap {
				start += stackGap
			}
			shapes[i].column(day, stackHeight-start, stackHeight-to)
			from = to
		}
	}
	return shapes
}

// drawGaps returns the marks of days that are not measured.
func drawGaps(cal *Calendar, since *site.Time, totals []*big.Rat) *path {
	gaps := new(path)
	for i := range cal.Days {
		if since != nil && totals[i] == nil && cal.Days[i].Key < since.UTC().Format(time.DateOnly) {
			gaps.column(i, stackHeight, stackHeight-gapHeight)
		}
	}
	return gaps
}

// swatch returns a fill as in the columns, for a legend.
func swatch(fill literal) template.HTML {
	m := new(markup).raw(`<svg class="swatch" viewBox="0 0 8 20" preserveAspectRatio="none" aria-hidden="true">`)
	return m.raw(`<path class="`).raw(fill).raw(`" d="M4 20V0"/></svg>`).html()
}
