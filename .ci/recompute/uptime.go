package main

import (
	"math"
	"math/big"
	"slices"
	"time"

	"tollbook/.ci/recompute/history"
	"tollbook/.ci/recompute/snapshot"
)

const uptimeRule = "Uptime and response times"

// visit is a row of a service's log of checks.
type visit struct {
	row      snapshot.Node
	at       time.Time
	counted  bool // an inconclusive visit does not count
	up       bool
	timed    bool // it has a response time
	response int  // milliseconds
}

// visits is the log of a service, oldest first.
type visits struct {
	list  []visit
	whole time.Time // from this midnight on the log has every visit; rows are deleted after 30 days
	total int       // visits ever
}

// visits returns the log of the service, which is read once.
func (s *service) visits(d *directory) visits {
	if s.log == nil {
		v := readVisits(d, s)
		s.log = &v
	}
	return *s.log
}

func readVisits(d *directory, s *service) visits {
	name := s.file("checks")
	index := d.snap.JSON(name + "/log.json")
	v := visits{total: index.Get("next").Int()}
	for _, row := range d.snap.Log(name) {
		counted := row.Get("counted")
		v.list = append(v.list, visit{
			row: row, at: row.Get("checked_at").Time(), counted: counted.Bool() || !counted.Exists(),
			up: row.Get("is_up").Bool(), timed: row.Get("response_time_ms").HasValue(),
			response: row.Get("response_time_ms").Int(),
		})
	}
	if len(v.list) > 0 && index.Get("first").Int() > 0 {
		v.whole = snapshot.Midnight(v.list[0].at).Add(snapshot.Day)
	}
	return v
}

// counter sums counted visits.
type counter struct{ total, up, timed, response int }

// count returns the sums of the counted visits from one time to another.
func (v visits) count(from, to time.Time) (c counter) {
	for _, visit := range v.list {
		if !visit.counted || visit.at.Before(from) || !visit.at.Before(to) {
			continue
		}
		c.total++
		if visit.up {
			c.up++
		}
		if visit.timed {
			c.timed++
			c.response += visit.response
		}
	}
	return c
}

// recomputeUptime computes uptime, response times, their series and the scores of every service.
func recomputeUptime(d *directory, r *snapshot.Report) {
	for _, s := range d.services {
		v := s.visits(d)
		recomputePoints(d, r, s, v)
		recomputeWindows(d, r, s, v)
		recomputeScores(d, r, s)
		detail, reliability := s.detail, s.detail.At("assessment", "reliability")
		r.Figure(uptimeRule, detail.Get("total_checks"), v.total)
		r.Figure(uptimeRule, reliability.Get("total_checks"), detail.Get("total_checks"))
		lastDay := hoursBefore(d.now, 24)
		c := v.count(lastDay, d.now.Add(time.Nanosecond))
		r.Figure(uptimeRule, detail.Get("avg_response_time_ms"), snapshot.Mean(c.response, c.timed))
		r.Figure(uptimeRule, reliability.Get("avg_response_ms"), snapshot.Mean(c.response, c.timed))
		r.Figure(uptimeRule, reliability.Get("response_p95_ms"), p95(v, d.now))
	}
}

// hoursBefore returns the beginning of the last n complete UTC hours before now.
func hoursBefore(now time.Time, n int) time.Time {
	return now.UTC().Truncate(time.Hour).Add(-time.Duration(n) * time.Hour)
}

// recomputePoints computes the points of the uptime series from the log. Points of days that are no longer in the log
// are inputs; their percentage follows from their counts.
func recomputePoints(d *directory, r *snapshot.Report, s *service, v visits) {
	series := d.snap.JSON(s.file("uptime/period=90d.json"))
	points := series.Get("data").Items()
	for _, point := range points {
		start := point.Get("period_start").Time()
		total, up := point.Get("total_checks"), point.Get("successful_checks")
		if start.Before(v.whole) {
			r.Input(total)
			r.Input(up)
			r.Input(point.Get("avg_response_time_ms"))
			r.Input(point.Get("period_start"))
		} else {
			c := v.count(start, start.Add(snapshot.Day))
			r.Figure(uptimeRule, total, c.total)
			r.Figure(uptimeRule, up, c.up)
			r.Figure(uptimeRule, point.Get("avg_response_time_ms"), snapshot.Mean(c.response, c.timed))
			r.Figure(uptimeRule, point.Get("period_start"), snapshot.Midnight(start))
		}
		r.Figure(uptimeRule, point.Get("uptime_percentage"), snapshot.Percent(up.Int(), total.Int()))
		end := start.Add(snapshot.Day)
		if end.After(d.now) {
			end = s.detail.Get("last_checked_at").Time()
			if end.After(d.now) {
				end = d.now // a visit may end while the snapshot is read
			}
		}
		r.Figure(uptimeRule, point.Get("period_end"), end)
	}
	var days []time.Time // days with a counted visit in the log
	for _, visit := range v.list {
		if start := snapshot.Midnight(visit.at); visit.counted && !start.Before(v.whole) &&
			!slices.Contains(days, start) {
			days = append(days, start)
		}
	}
	var published []time.Time
	for _, point := range points {
		if start := point.Get("period_start").Time(); !start.Before(v.whole) {
			published = append(published, start)
		}
	}
	today := snapshot.Midnight(d.now)
	days = slices.DeleteFunc(days, func(t time.Time) bool { return t.Before(today.Add(-89 * snapshot.Day)) })
	if !slices.EqualFunc(days, published, time.Time.Equal) {
		r.Compare(uptimeRule, series.Get("data"), snapshot.Describe(series.Get("data").Value), "another set of days")
	}
	for period, first := range map[string]time.Time{
		"24h": snapshot.Midnight(hoursBefore(d.now, 24)), "7d": today.Add(-6 * snapshot.Day),
		"30d": today.Add(-29 * snapshot.Day),
	} {
		var want []any
		for _, point := range points {
			if !point.Get("period_start").Time().Before(first) {
				want = append(want, point.Value)
			}
		}
		r.Figure(uptimeRule, d.snap.JSON(s.file("uptime/period="+period+".json")).Get("data"), want)
	}
	r.Figure(uptimeRule, d.snap.JSON(s.file("uptime.json")), d.snap.JSON(s.file("uptime/period=30d.json")))
}

// recomputeWindows computes the four windows of uptime. 24 hours are counted in the log, days in the points.
func recomputeWindows(d *directory, r *snapshot.Report, s *service, v visits) {
	points := d.snap.JSON(s.file("uptime/period=90d.json")).Get("data").Items()
	uptime := s.detail.Get("uptime")
	set := func(window string, days int, c counter) {
		r.Figure(uptimeRule, uptime.Get(window), snapshot.Percent(c.up, c.total))
		r.Figure(uptimeRule, s.detail.At("assessment", "reliability", "uptime", window),
			snapshot.Percent(c.up, c.total))
		r.Figure(uptimeRule, uptime.At("coverage", window, "daysCovered"), days)
		r.Figure(uptimeRule, uptime.At("coverage", window, "checkCount"), c.total)
	}
	from := hoursBefore(d.now, 24)
	days := 0
	for start := snapshot.Midnight(from); !start.After(d.now); start = start.Add(snapshot.Day) {
		begin := start
		if begin.Before(from) {
			begin = from
		}
		if v.count(begin, start.Add(snapshot.Day)).total > 0 {
			days++
		}
	}
	c := v.count(from, d.now.Add(time.Nanosecond))
	set("24h", days, c)
	r.Figure(uptimeRule, s.detail.Get("uptime_24h"), snapshot.Percent(c.up, c.total))
	for window, n := range map[string]int{"7d": 7, "30d": 30, "90d": 90} {
		first := snapshot.Midnight(d.now).Add(-time.Duration(n-1) * snapshot.Day)
		days, c := 0, counter{}
		for _, point := range points {
			if !point.Get("period_start").Time().Before(first) {
				days++
				c.total += point.Get("total_checks").Int()
				c.up += point.Get("successful_checks").Int()
			}
		}
		set(window, days, c)
	}
}

// p95 returns the 95th percentile of the response times of 7 days, from a histogram of 64 buckets.
func p95(v visits, now time.Time) *big.Rat {
	first := snapshot.Midnight(now).Add(-6 * snapshot.Day)
	var buckets [64]int
	n := 0
	for _, visit := range v.list {
		if visit.counted && visit.timed && !visit.at.Before(first) {
			bucket := int(math.Floor(4 * math.Log2(float64(max(1, visit.response)))))
			buckets[min(63, bucket)]++
			n++
		}
	}
	rank := (95*n + 99) / 100
	for i, count := range buckets {
		if rank -= count; rank <= 0 && n > 0 {
			return big.NewRat(int64(math.Round(math.Pow(2, (float64(i)+0.5)/4))), 1)
		}
	}
	return nil
}

// recomputeScores computes the scores from the uptime points and the changes of the price series. Days before the
// points are inputs, except for the stability.
func recomputeScores(d *directory, r *snapshot.Report, s *service) {
	points := map[string]snapshot.Node{}
	uptime := d.snap.JSON(s.file("uptime/period=90d.json")).Get("data").Items()
	for _, point := range uptime {
		points[point.Get("period_start").Time().Format(time.DateOnly)] = point
	}
	prices := d.snap.JSON(s.file("price/period=all.json")).Get("data").Items()
	for _, score := range d.snap.JSON(s.file("scores/period=all.json")).Get("data").Items() {
		history.Score(d.now, r, s.detail, score, uptime)
		date := score.Get("date")
		if point, ok := points[date.Text()]; ok {
			r.Figure(uptimeRule, score.Get("uptime_percentage"), point.Get("uptime_percentage"))
			r.Figure(uptimeRule, score.Get("avg_response_time_ms"), point.Get("avg_response_time_ms"))
			r.Figure(uptimeRule, date, date.Text())
			delete(points, date.Text())
		} else {
			r.Input(score.Get("uptime_percentage"))
			r.Input(score.Get("avg_response_time_ms"))
			r.Input(date)
		}
		stable := score.Get("price_stability")
		want := stability(prices, date.Text())
		if one := big.NewRat(1, 1); want == nil && (!stable.HasValue() || stable.Number().Cmp(one) == 0) {
			r.Input(stable) // prices that do not count are in no point: nothing says when the first of them was asked
		} else {
			r.Figure(economicsRule, stable, want)
		}
	}
	if len(points) > 0 {
		r.Compare(uptimeRule, d.snap.JSON(s.file("scores/period=all.json")).Get("data"), "a list", "more days")
	}
}
