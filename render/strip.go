package render

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"

	"tollbook/site"
)

// Of the charts of a service's 90 days, in units of their viewBox; each day is stripStep wide.
const (
	stripDays   = 90
	stripStep   = 10
	stripBar    = 8
	stripHeight = 40
	speedHeight = 60
	gapHeight   = 3
	minDown     = 6 // height of the smallest failure, so that it is seen
	minSpeed    = 2
)

// strip is the charts of a service's last 90 days, and the same as rows of a table. The charts are drawn here and not by a
// template because a directory has thousands of them; nothing but numbers and dates is in them.
type strip struct {
	Width, Height, SpeedHeight int
	Uptime, Speed              template.HTML // columns of the charts
	Days                       []stripDay    // oldest first
	Covered                    int           // days with a check
	Slowest                    string        // the slowest day's average, the scale of the second chart; "" without any
	Summary                    string        // what the first chart shows, in words
}

// stripDay is a row; a day without a check has only its date.
type stripDay struct {
	ISO, Date, Uptime, Checks, Response string
}

// newStrip lays out the days up to now's; a point of another day is left out.
func newStrip(points []site.UptimeDataPoint, now site.Time) strip {
	const dayLength = 24 * time.Hour
	today := now.UTC().Truncate(dayLength)
	byDay := map[time.Time]*site.UptimeDataPoint{}
	slowest := 0
	for i := range points {
		p := &points[i]
		date := p.PeriodStart.UTC().Truncate(dayLength)
		if date.After(today) || !date.After(today.Add(-stripDays*dayLength)) || p.TotalChecks <= 0 {
			continue
		}
		byDay[date] = p
		if p.AvgResponseTimeMS != nil {
			slowest = max(slowest, *p.AvgResponseTimeMS)
		}
	}
	s := strip{Width: stripDays * stripStep, Height: stripHeight, SpeedHeight: speedHeight, Covered: len(byDay)}
	if slowest > 0 {
		s.Slowest = millis(&slowest)
	}
	var uptime, speed strings.Builder
	var worst stripDay
	lowest := 100.0
	for i := range stripDays {
		date := today.Add(-time.Duration(stripDays-1-i) * dayLength)
		d := stripDay{ISO: site.NewTime(date).String(), Date: date.Format(layoutDay)}
		p := byDay[date]
		if p == nil {
			drawGap(&uptime, i*stripStep, d)
		} else {
			d.Uptime, d.Checks, d.Response = percent(&p.UptimePercentage), plural(p.TotalChecks, "check", "checks"), millis(p.AvgResponseTimeMS)
			drawUptime(&uptime, i*stripStep, d, p)
			drawSpeed(&speed, i*stripStep, d, p.AvgResponseTimeMS, slowest)
			if p.UptimePercentage < lowest {
				worst, lowest = d, p.UptimePercentage
			}
		}
		s.Days = append(s.Days, d)
	}
	s.Uptime, s.Speed = template.HTML(uptime.String()), template.HTML(speed.String())
	s.Summary = s.summary(worst)
	return s
}

// drawUptime draws what answered from the bottom up, and what failed above it.
func drawUptime(b *strings.Builder, x int, d stripDay, p *site.UptimeDataPoint) {
	down := int(math.Round((1 - max(0, min(1, p.UptimePercentage/100))) * stripHeight))
	if p.SuccessfulChecks < p.TotalChecks {
		down = max(down, minDown)
	}
	fmt.Fprintf(b, "<g><title>%s: %s of %s</title>", d.Date, d.Uptime, d.Checks)
	if down > 0 {
		fmt.Fprintf(b, `<rect class="down" x="%d" width="%d" height="%d"/>`, x, stripBar, down)
	}
	if down < stripHeight {
		fmt.Fprintf(b, `<rect class="up" x="%d" y="%d" width="%d" height="%d"/>`, x, down, stripBar, stripHeight-down)
	}
	b.WriteString("</g>\n")
}

// drawGap draws a day without a check: a mark at the foot, and something to hover over.
func drawGap(b *strings.Builder, x int, d stripDay) {
	fmt.Fprintf(b, `<g><title>%s: no check</title><rect class="gap" x="%d" y="%d" width="%d" height="%d"/><rect class="touch" x="%d" width="%d" height="%d"/></g>`+"\n",
		d.Date, x, stripHeight-gapHeight, stripBar, gapHeight, x, stripBar, stripHeight)
}

// drawSpeed draws a day's average response time against the slowest day's; a day without one is left blank.
func drawSpeed(b *strings.Builder, x int, d stripDay, ms *int, slowest int) {
	if ms == nil || slowest <= 0 {
		return
	}
	height := max(minSpeed, int(speedHeight*int64(*ms)/int64(slowest)))
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d"><title>%s: %s</title></rect>`+"\n", x, speedHeight-height, stripBar, height, d.Date, d.Response)
}

// summary says in words what the first chart shows.
func (s *strip) summary(worst stripDay) string {
	if s.Covered == 0 {
		return "No check in the last 90 days."
	}
	text := plural(int64(s.Covered), "day", "days") + " with checks, " + number(int64(stripDays-s.Covered)) + " without"
	if worst.Date == "" {
		return text + "; no check failed."
	}
	return text + "; lowest " + worst.Uptime + " on " + worst.Date + "."
}
