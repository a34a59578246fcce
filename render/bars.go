package render

import (
	"fmt"
	"html/template"
	"math/big"
	"strconv"
	"strings"
	"time"

	"tollbook/site"
)

// Of the charts of 90 days of volume, in units of their viewBox; a day is stripStep wide, as in the strip.
const (
	barsDays   = site.SeriesDays
	barsHeight = 100
	minBar     = 2 // height of the smallest volume, so that it is seen
)

// bars is a chart of volume by UTC day, and the same as rows of a table. It is drawn here and not by a template because a
// directory has thousands of them; nothing but numbers and dates is in it.
type bars struct {
	Width, Height int
	Columns       template.HTML
	Days          []barsDay // with a settlement, oldest first
	Most          string    // the largest day's volume, the scale; "" without any
	Summary       string    // what the chart shows, in words
}

type barsDay struct{ ISO, Date, Volume, Exact, Count string }

// newBars lays out the days up to now's. Days before since are not measured and drawn as gaps; nil is no such day.
func newBars(points []site.VolumePoint, now site.Time, since *site.Time) bars {
	by := pointsByDate(points)
	today := now.UTC().Truncate(24 * time.Hour)
	c := bars{Width: barsDays * stripStep, Height: barsHeight}
	most, total, mostOn := new(big.Rat), new(big.Rat), ""
	for i := range barsDays {
		if p, ok := by[today.AddDate(0, 0, i+1-barsDays).Format(time.DateOnly)]; ok {
			v := rational(p.VolumeUSD)
			total.Add(total, v)
			if v.Cmp(most) > 0 {
				most, mostOn = v, today.AddDate(0, 0, i+1-barsDays).Format(layoutDay)
			}
		}
	}
	var b strings.Builder
	for i := range barsDays {
		date := today.AddDate(0, 0, i+1-barsDays)
		p, ok := by[date.Format(time.DateOnly)]
		switch {
		case ok && p.TxCount > 0:
			d := barsDay{ISO: site.NewTime(date).String(), Date: date.Format(layoutDay), Volume: cents(p.VolumeUSD), Exact: dollars(p.VolumeUSD), Count: plural(p.TxCount, "settlement", "settlements")}
			c.Days = append(c.Days, d)
			height := share100(rational(p.VolumeUSD), most)
			fmt.Fprintf(&b, `<g><title>%s: %s in %s</title><rect class="bar" x="%d" y="%d" width="%d" height="%d"/><rect class="touch" x="%d" width="%d" height="%d"/></g>`+"\n",
				d.Date, d.Volume, d.Count, i*stripStep, barsHeight-height, stripBar, height, i*stripStep, stripBar, barsHeight)
		case since != nil && date.Before(since.UTC().Truncate(24*time.Hour)):
			fmt.Fprintf(&b, `<g><title>%s: not measured</title><rect class="gap" x="%d" y="%d" width="%d" height="%d"/><rect class="touch" x="%d" width="%d" height="%d"/></g>`+"\n",
				date.Format(layoutDay), i*stripStep, barsHeight-gapHeight, stripBar, gapHeight, i*stripStep, stripBar, barsHeight)
		}
	}
	c.Columns = template.HTML(b.String())
	c.Summary = "No settlement in the last 90 days."
	if len(c.Days) > 0 {
		c.Summary = fmt.Sprintf("%s on %s of the last 90 days", cents(decimalOf(total)), plural(int64(len(c.Days)), "day", "days"))
		if mostOn != "" {
			c.Most = cents(decimalOf(most))
			c.Summary += "; most on " + mostOn + ", " + c.Most
		}
		c.Summary += "."
	}
	if first := today.AddDate(0, 0, 1-barsDays); since != nil && first.Before(since.UTC().Truncate(24*time.Hour)) {
		c.Summary += " Measured since " + since.UTC().Format(layoutDay) + "; what came before is not known."
	}
	return c
}

func pointsByDate(points []site.VolumePoint) map[string]*site.VolumePoint {
	by := make(map[string]*site.VolumePoint, len(points))
	for i := range points {
		by[points[i].Date] = &points[i]
	}
	return by
}

// Of a small chart in a row of a table.
const (
	sparkStep   = 2
	sparkHeight = 24
)

// spark is the columns of a small chart of volume, as the data of one path; "" where nothing was settled.
func spark(points []site.VolumePoint, now site.Time) string {
	by := pointsByDate(points)
	today := now.UTC().Truncate(24 * time.Hour)
	most := new(big.Rat)
	for i := range barsDays {
		if p, ok := by[today.AddDate(0, 0, i+1-barsDays).Format(time.DateOnly)]; ok {
			if v := rational(p.VolumeUSD); v.Cmp(most) > 0 {
				most = v
			}
		}
	}
	var b strings.Builder
	for i := range barsDays {
		p, ok := by[today.AddDate(0, 0, i+1-barsDays).Format(time.DateOnly)]
		if !ok || p.TxCount == 0 {
			continue
		}
		height := max(1, share100(rational(p.VolumeUSD), most)*sparkHeight/barsHeight)
		b.WriteString("M" + strconv.Itoa(i*sparkStep) + " " + strconv.Itoa(sparkHeight) + "v-" + strconv.Itoa(height) + "h" + strconv.Itoa(sparkStep) + "v" + strconv.Itoa(height) + "z")
	}
	return b.String()
}

// share100 is how high a volume stands against the largest, minBar to 100.
func share100(v, most *big.Rat) int {
	if most.Sign() <= 0 {
		return minBar
	}
	f, _ := new(big.Rat).Quo(v, most).Float64()
	return max(minBar, min(barsHeight, int(f*barsHeight+.5)))
}

// rational is a decimal to reckon with; what is none counts as 0.
func rational(d site.Decimal) *big.Rat {
	if r, ok := new(big.Rat).SetString(string(d)); ok && len(d) < 100 {
		return r
	}
	return new(big.Rat)
}

func decimalOf(r *big.Rat) site.Decimal {
	d, err := site.ParseDecimal(r.FloatString(18))
	if err != nil {
		return "0" // never of sums of non-negative amounts
	}
	return d
}

// cents is a volume for reading: dollars and cents, halves up. What is less than a cent is told exactly.
func cents(d site.Decimal) string {
	if d == "" {
		return ""
	}
	r := rational(d)
	if r.Sign() == 0 || r.Cmp(big.NewRat(1, 100)) < 0 {
		return dollars(d)
	}
	whole, frac, _ := strings.Cut(r.FloatString(2), ".")
	if len(whole) > maxWhole {
		return dollars(d)
	}
	return "$" + group(whole) + "." + frac
}

// roughly is a volume at a glance: whole dollars from a thousand on, halves up.
func roughly(d site.Decimal) string {
	r := rational(d)
	if whole := r.FloatString(0); r.Cmp(big.NewRat(1000, 1)) >= 0 && len(whole) <= maxWhole {
		return "$" + group(whole)
	}
	return cents(d)
}

// formatDecimal formats a decimal, or one that may be unknown.
func formatDecimal(v any, format func(site.Decimal) string) (string, error) {
	switch d := v.(type) {
	case site.Decimal:
		return format(d), nil
	case *site.Decimal:
		if d == nil {
			return "", nil
		}
		return format(*d), nil
	}
	return "", fmt.Errorf("format %T as dollars", v)
}
