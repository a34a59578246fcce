package main

import (
	"math"
	"math/big"
	"slices"
	"time"
)

const uptimeRule = "Uptime and response times"

// visit is a row of a service's log of checks.
type visit struct {
	row      node
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
	index := d.snap.json(name + "/log.json")
	v := visits{total: index.get("next").int()}
	for _, row := range d.snap.log(name) {
		counted := row.get("counted")
		v.list = append(v.list, visit{
			row: row, at: row.get("checked_at").time(), counted: counted.bool() || !counted.exists(),
			up: row.get("is_up").bool(), timed: row.get("response_time_ms").hasValue(),
			response: row.get("response_time_ms").int(),
		})
	}
	if len(v.list) > 0 && index.get("first").int() > 0 {
		v.whole = midnight(v.list[0].at).Add(day)
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
func recomputeUptime(d *directory, r *report) {
	for _, s := range d.services {
		v := s.visits(d)
		recomputePoints(d, r, s, v)
		recomputeWindows(d, r, s, v)
		recomputeScores(d, r, s)
		detail, reliability := s.detail, s.detail.at("assessment", "reliability")
		r.figure(uptimeRule, detail.get("total_checks"), v.total)
		r.figure(uptimeRule, reliability.get("total_checks"), detail.get("total_checks"))
		lastDay := hoursBefore(d.now, 24)
		c := v.count(lastDay, d.now.Add(time.Nanosecond))
		r.figure(uptimeRule, detail.get("avg_response_time_ms"), mean(c.response, c.timed))
		r.figure(uptimeRule, reliability.get("avg_response_ms"), mean(c.response, c.timed))
		r.figure(uptimeRule, reliability.get("response_p95_ms"), p95(v, d.now))
	}
}

// hoursBefore returns the beginning of the last n complete UTC hours before now.
func hoursBefore(now time.Time, n int) time.Time {
	return now.UTC().Truncate(time.Hour).Add(-time.Duration(n) * time.Hour)
}

// recomputePoints computes the points of the uptime series from the log. Points of days that are no longer in the log
// are inputs; their percentage follows from their counts.
func recomputePoints(d *directory, r *report, s *service, v visits) {
	series := d.snap.json(s.file("uptime/period=90d.json"))
	points := series.get("data").items()
	for _, point := range points {
		start := point.get("period_start").time()
		total, up := point.get("total_checks"), point.get("successful_checks")
		if start.Before(v.whole) {
			r.input(total)
			r.input(up)
			r.input(point.get("avg_response_time_ms"))
			r.input(point.get("period_start"))
		} else {
			c := v.count(start, start.Add(day))
			r.figure(uptimeRule, total, c.total)
			r.figure(uptimeRule, up, c.up)
			r.figure(uptimeRule, point.get("avg_response_time_ms"), mean(c.response, c.timed))
			r.figure(uptimeRule, point.get("period_start"), midnight(start))
		}
		r.figure(uptimeRule, point.get("uptime_percentage"), percent(up.int(), total.int()))
		end := start.Add(day)
		if end.After(d.now) {
			end = s.detail.get("last_checked_at").time()
			if end.After(d.now) {
				end = d.now // a visit may end while the snapshot is read
			}
		}
		r.figure(uptimeRule, point.get("period_end"), end)
	}
	var days []time.Time // days with a counted visit in the log
	for _, visit := range v.list {
		if start := midnight(visit.at); visit.counted && !start.Before(v.whole) && !slices.Contains(days, start) {
			days = append(days, start)
		}
	}
	var published []time.Time
	for _, point := range points {
		if start := point.get("period_start").time(); !start.Before(v.whole) {
			published = append(published, start)
		}
	}
	today := midnight(d.now)
	days = slices.DeleteFunc(days, func(t time.Time) bool { return t.Before(today.Add(-89 * day)) })
	if !slices.EqualFunc(days, published, time.Time.Equal) {
		r.compare(uptimeRule, series.get("data"), describe(series.get("data").value), "another set of days")
	}
	for period, first := range map[string]time.Time{
		"24h": midnight(hoursBefore(d.now, 24)), "7d": today.Add(-6 * day), "30d": today.Add(-29 * day),
	} {
		var want []any
		for _, point := range points {
			if !point.get("period_start").time().Before(first) {
				want = append(want, point.value)
			}
		}
		r.figure(uptimeRule, d.snap.json(s.file("uptime/period="+period+".json")).get("data"), want)
	}
	r.figure(uptimeRule, d.snap.json(s.file("uptime.json")), d.snap.json(s.file("uptime/period=30d.json")))
}

// recomputeWindows computes the four windows of uptime. 24 hours are counted in the log, days in the points.
func recomputeWindows(d *directory, r *report, s *service, v visits) {
	points := d.snap.json(s.file("uptime/period=90d.json")).get("data").items()
	uptime := s.detail.get("uptime")
	set := func(window string, days int, c counter) {
		r.figure(uptimeRule, uptime.get(window), percent(c.up, c.total))
		r.figure(uptimeRule, s.detail.at("assessment", "reliability", "uptime", window), percent(c.up, c.total))
		r.figure(uptimeRule, uptime.at("coverage", window, "daysCovered"), days)
		r.figure(uptimeRule, uptime.at("coverage", window, "checkCount"), c.total)
	}
	from := hoursBefore(d.now, 24)
	days := 0
	for start := midnight(from); !start.After(d.now); start = start.Add(day) {
		begin := start
		if begin.Before(from) {
			begin = from
		}
		if v.count(begin, start.Add(day)).total > 0 {
			days++
		}
	}
	c := v.count(from, d.now.Add(time.Nanosecond))
	set("24h", days, c)
	r.figure(uptimeRule, s.detail.get("uptime_24h"), percent(c.up, c.total))
	for window, n := range map[string]int{"7d": 7, "30d": 30, "90d": 90} {
		first := midnight(d.now).Add(-time.Duration(n-1) * day)
		days, c := 0, counter{}
		for _, point := range points {
			if !point.get("period_start").time().Before(first) {
				days++
				c.total += point.get("total_checks").int()
				c.up += point.get("successful_checks").int()
			}
		}
		set(window, days, c)
	}
}

// p95 returns the 95th percentile of the response times of 7 days, from a histogram of 64 buckets.
func p95(v visits, now time.Time) *big.Rat {
	first := midnight(now).Add(-6 * day)
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
func recomputeScores(d *directory, r *report, s *service) {
	points := map[string]node{}
	for _, point := range d.snap.json(s.file("uptime/period=90d.json")).get("data").items() {
		points[point.get("period_start").time().Format(time.DateOnly)] = point
	}
	prices := d.snap.json(s.file("price/period=all.json")).get("data").items()
	for _, score := range d.snap.json(s.file("scores/period=all.json")).get("data").items() {
		date := score.get("date")
		if point, ok := points[date.text()]; ok {
			r.figure(uptimeRule, score.get("uptime_percentage"), point.get("uptime_percentage"))
			r.figure(uptimeRule, score.get("avg_response_time_ms"), point.get("avg_response_time_ms"))
			r.figure(uptimeRule, date, date.text())
			delete(points, date.text())
		} else {
			r.input(score.get("uptime_percentage"))
			r.input(score.get("avg_response_time_ms"))
			r.input(date)
		}
		stable := score.get("price_stability")
		want := stability(prices, date.text())
		if one := big.NewRat(1, 1); want == nil && (!stable.hasValue() || stable.number().Cmp(one) == 0) {
			r.input(stable) // prices that do not count are in no point: nothing says when the first of them was asked
		} else {
			r.figure(economicsRule, stable, want)
		}
	}
	if len(points) > 0 {
		r.compare(uptimeRule, d.snap.json(s.file("scores/period=all.json")).get("data"), "a list", "more days")
	}
}
