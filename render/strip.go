package render

import (
	"fmt"
	"math"
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
	minDown     = 6 // height of the smallest failure, so that it is seen
)

// strip is the charts of a service's last 90 days.
type strip struct {
	Width, Height, SpeedHeight, Bar int
	Days                            []stripDay // oldest first
	Covered, Gaps                   int
	Slowest                         *int // the slowest day's average, milliseconds; the scale of the second chart
	Summary                         string
}

// stripDay is a column: what was up from the bottom, what was down above it, nothing for a day without a check.
type stripDay struct {
	X           int
	Date        site.Time
	Known       bool
	Point       site.UptimeDataPoint
	UpY, UpH    int
	DownH       int
	SpeedY      int
	SpeedH      int // 0 without a response time
	Title       string
	SpeedTitle  string
	UptimeShown *float64
}

// newStrip lays out the days up to now's; a point of another day is left out.
func newStrip(points []site.UptimeDataPoint, now site.Time) strip {
	const dayLength = 24 * time.Hour
	today := now.UTC().Truncate(dayLength)
	byDay := map[time.Time]*site.UptimeDataPoint{}
	s := strip{Width: stripDays * stripStep, Height: stripHeight, SpeedHeight: speedHeight, Bar: stripBar}
	for i := range points {
		p := &points[i]
		date := p.PeriodStart.UTC().Truncate(dayLength)
		if date.After(today) || !date.After(today.Add(-stripDays*dayLength)) || p.TotalChecks <= 0 {
			continue
		}
		byDay[date] = p
		if p.AvgResponseTimeMS != nil && (s.Slowest == nil || *p.AvgResponseTimeMS > *s.Slowest) {
			s.Slowest = p.AvgResponseTimeMS
		}
	}
	for i := range stripDays {
		date := today.Add(-time.Duration(stripDays-1-i) * dayLength)
		d := stripDay{X: i * stripStep, Date: site.NewTime(date)}
		if p := byDay[date]; p != nil {
			d.fill(p, s.Slowest)
			s.Covered++
		} else {
			d.Title = date.Format(layoutDay) + ": no check"
		}
		s.Days = append(s.Days, d)
	}
	s.Gaps = stripDays - s.Covered
	s.Summary = s.summary()
	return s
}

func (d *stripDay) fill(p *site.UptimeDataPoint, slowest *int) {
	d.Known, d.Point, d.UptimeShown = true, *p, &p.UptimePercentage
	share := max(0, min(1, p.UptimePercentage/100))
	d.DownH = int(math.Round((1 - share) * stripHeight))
	if p.SuccessfulChecks < p.TotalChecks {
		d.DownH = max(d.DownH, minDown)
	}
	d.UpY, d.UpH = d.DownH, stripHeight-d.DownH
	date := d.Date.Format(layoutDay)
	d.Title = fmt.Sprintf("%s: %s of %s", date, percent(&p.UptimePercentage), plural(p.TotalChecks, "check", "checks"))
	if p.AvgResponseTimeMS != nil && *slowest > 0 {
		d.SpeedH = max(2, speedHeight**p.AvgResponseTimeMS / *slowest)
		d.SpeedY = speedHeight - d.SpeedH
		d.SpeedTitle = date + ": " + millis(p.AvgResponseTimeMS)
	}
}

// summary says in words what the first chart shows.
func (s *strip) summary() string {
	if s.Covered == 0 {
		return "No check in the last 90 days."
	}
	var worst *stripDay
	for i := range s.Days {
		if d := &s.Days[i]; d.Known && (worst == nil || d.Point.UptimePercentage < worst.Point.UptimePercentage) {
			worst = d
		}
	}
	text := plural(int64(s.Covered), "day", "days") + " with checks, " + number(int64(s.Gaps)) + " without"
	if worst.Point.UptimePercentage >= 100 {
		return text + "; no check failed."
	}
	return text + "; lowest " + percent(&worst.Point.UptimePercentage) + " on " + worst.Date.Format(layoutDay) + "."
}
