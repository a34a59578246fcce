// Package history recomputes what a point of a service's scores says of its day: uptime over 30 days, the end of the
// point, and the grade and risk of today. It reads a snapshot alone.
package history

import (
	"time"

	"tollbook/.ci/recompute/snapshot"
)

const rule = "History of grades and risk"

// window is the number of UTC days of uptime_30d, and points that of the points of uptime.
const (
	window = 30
	points = 90
)

// recorded maps each field that is recorded to the place of today's value in the service's assessment.
var recorded = map[string][]string{
	"compliance_grade": {"compliance", "grade"}, "compliance_total": {"compliance", "total"},
	"risk_level": {"risk", "level"}, "min_price_usd": {"economics", "price_usd"},
	"response_p95_ms": {"reliability", "response_p95_ms"},
}

// Score recomputes the fields of a point of scores that tell what its day was like. uptime has the service's points of
// uptime. Records of former days are inputs.
func Score(now time.Time, r *snapshot.Report, detail, score snapshot.Node, uptime []snapshot.Node) {
	day, err := time.Parse(time.DateOnly, score.Get("date").Text())
	if err != nil {
		return // another rule names it
	}
	r.Figure(rule, score.Get("uptime_24h"), score.Get("uptime_percentage"))
	scoreMonth(now, r, score, uptime, day)
	if today := snapshot.Midnight(now); !day.Equal(today) {
		r.Figure(rule, score.Get("recorded_at"), stamp(day.Add(snapshot.Day)))
		scoreFormer(r, score)
		return
	}
	end := now
	if last := detail.Get("last_checked_at"); last.HasValue() && last.Time().After(day) && !last.Time().After(now) {
		end = last.Time()
	}
	r.Figure(rule, score.Get("recorded_at"), stamp(end))
	assessment := detail.Get("assessment")
	for field, place := range recorded {
		r.Figure(rule, score.Get(field), assessment.At(place...))
	}
	var failed, flags []any
	for _, check := range assessment.At("compliance", "checks").Items() {
		if !check.Get("pass").Bool() {
			failed = append(failed, check.Get("id").Text())
		}
	}
	for _, flag := range assessment.At("risk", "flags").Items() {
		flags = append(flags, flag.Get("code").Text())
	}
	r.Figure(rule, score.Get("compliance_failed_checks"), failed)
	r.Figure(rule, score.Get("risk_flags"), flags)
	r.Figure(rule, score.Get("compliance_passed"), assessment.At("compliance", "total").Int()-len(failed))
	r.Figure(rule, score.Get("methodology"), 1)
}

// scoreMonth recomputes uptime_30d from the points of uptime, if they reach back far enough.
func scoreMonth(now time.Time, r *snapshot.Report, score snapshot.Node, uptime []snapshot.Node, day time.Time) {
	first := day.Add((1 - window) * snapshot.Day)
	if first.Before(snapshot.Midnight(now).Add((1 - points) * snapshot.Day)) {
		r.Input(score.Get("uptime_30d"))
		return
	}
	up, total := 0, 0
	for _, p := range uptime {
		if start := p.Get("period_start").Time(); !start.Before(first) && !start.After(day) {
			up, total = up+p.Get("successful_checks").Int(), total+p.Get("total_checks").Int()
		}
	}
	r.Figure(rule, score.Get("uptime_30d"), snapshot.Percent(up, total))
}

// scoreFormer checks what was recorded on a former day. Only the number of passed checks follows from the rest.
func scoreFormer(r *snapshot.Report, score snapshot.Node) {
	for field := range recorded {
		r.Input(score.Get(field))
	}
	failed := score.Get("compliance_failed_checks")
	inputs := []snapshot.Node{failed, score.Get("risk_flags"), score.Get("methodology")}
	for _, n := range inputs {
		r.Input(n)
		for _, item := range n.Items() {
			r.Input(item)
		}
	}
	var passed any
	if failed.HasValue() {
		passed = score.Get("compliance_total").Int() - len(failed.Items())
	}
	r.Figure(rule, score.Get("compliance_passed"), passed)
}

// stamp returns a time as snapshots have it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
