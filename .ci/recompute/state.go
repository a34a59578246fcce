package main

import (
	"math/big"
	"time"

	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/snapshot"
)

// recomputeState computes the status of every service, and what follows from the times of its last successes.
func recomputeState(d *directory, r *snapshot.Report) {
	for _, s := range d.services {
		detail, v := s.detail, s.visits(d)
		reliability := detail.At("assessment", "reliability")
		checked := detail.Get("last_checked_at").Time()
		last := time.Time{}
		if len(v.list) > 0 {
			last = v.list[len(v.list)-1].at
		}
		r.Figure(logRule, reliability.Get("last_checked_at"), detail.Get("last_checked_at"))
		r.Figure(logRule, reliability.Get("consecutive_failures"), detail.Get("consecutive_failures"))
		if checked.After(last) && d.now.Sub(checked) <= logDelay {
			r.Input(detail.Get("last_checked_at")) // the last visit is not in the log yet
			r.Input(detail.Get("consecutive_failures"))
			r.Input(detail.Get("status"))
		} else {
			r.Figure(logRule, detail.Get("last_checked_at"), last)
			failures, since := v.failures()
			if failures == len(v.list) && !v.whole.IsZero() {
				r.Input(detail.Get("consecutive_failures")) // the failures began before the oldest row
			} else {
				r.Figure(logRule, detail.Get("consecutive_failures"), failures)
			}
			r.Figure(logRule, detail.Get("status"), status(d, s, v, failures, since))
		}
		figureTimes(d, r, s)
	}
}

// logDelay is the time from a visit to its row in the logs.
const logDelay = 2 * time.Minute

// failures returns how many counted visits failed since the last one that did not, and when the first of them was.
func (v visits) failures() (failures int, since time.Time) {
	for i := len(v.list) - 1; i >= 0; i-- {
		visit := v.list[i]
		if visit.counted && visit.up {
			break
		}
		if visit.counted {
			failures++
			since = visit.at
		}
	}
	return failures, since
}

// status returns the status of a service whose last visit is in the log.
func status(d *directory, s *service, v visits, failures int, since time.Time) string {
	interval := time.Duration(s.detail.Get("check_interval_minutes").Int()) * time.Minute
	if failures > 0 && d.now.Sub(since) >= snapshot.Day {
		interval = max(interval, time.Hour)
	}
	if failures > 0 && d.now.Sub(since) >= 7*snapshot.Day {
		interval = max(interval, snapshot.Day)
	}
	var last *visit
	for i := range v.list {
		if v.list[i].counted {
			last = &v.list[i]
		}
	}
	switch checked := s.detail.Get("last_checked_at").Time(); {
	case last == nil && v.whole.IsZero(), d.now.Sub(checked) > max(time.Hour, 3*interval):
		return "unknown"
	case failures >= 3:
		return "offline"
	case failures > 0:
		return "degraded"
	}
	active, paid := 0, 0
	for _, e := range s.evidence.Get("endpoints").Items() {
		if e.Get("is_active").Bool() {
			active++
			if e.Get("verdict").Text() == "paid" {
				paid++
			}
		}
	}
	if active == 0 || paid < active || last != nil && last.response > 5000 {
		return "degraded"
	}
	return "online"
}

// figureTimes compares what follows from the times of events: the last usable 402, the last proof of control, the
// registration of the domain, the newest fact.
func figureTimes(d *directory, r *snapshot.Report, s *service) {
	detail, assessment := s.detail, s.detail.Get("assessment")
	var success time.Time // the newest time at which an active endpoint asked for payment
	for _, e := range detail.Get("endpoints").Items() {
		if at := e.Get("last_seen_at").Time(); at.After(e.Get("first_seen_at").Time()) && at.After(success) {
			success = at
		}
	}
	if success.IsZero() {
		r.Input(detail.Get("last_success_at")) // it was an endpoint that is no longer active, or nothing
	} else {
		r.Figure(logRule, detail.Get("last_success_at"), success)
	}
	var ready time.Time
	if at := detail.Get("last_success_at").Time(); !at.IsZero() {
		ready = at.Add(7 * snapshot.Day)
	}
	r.Figure(logRule, detail.Get("payment_ready_until"), ready)
	r.Figure(logRule, detail.Get("payment_ready"), ready.After(d.now) && canBePaid(d, s) &&
		!conformance.SpeaksOther(detail))
	r.Figure(logRule, detail.Get("verified"), detail.Get("verified_until").Time().After(d.now))

	domain := assessment.Get("domain")
	var age *big.Rat
	if created := domain.Get("created_date").Time(); !created.IsZero() {
		age = big.NewRat(int64(max(0, d.now.Sub(created))/snapshot.Day), 1)
	}
	r.Figure("Risk", domain.Get("age_days"), age)

	newest := detail.Get("last_checked_at").Time()
	facts := []snapshot.Node{assessment.At("site", "checked_at"), domain.Get("checked_at"),
		assessment.At("traction", "last_settlement_at")}
	for _, e := range s.evidence.Get("endpoints").Items() {
		facts = append(facts, e.At("answer", "received_at"), e.At("terms", "received_at"))
	}
	for _, fact := range facts {
		if at := fact.Time(); at.After(newest) {
			newest = at
		}
	}
	if assessment.Get("synthesis").HasValue() {
		r.Input(assessment.Get("updated_at")) // the time of the model's answer may be newer
	} else {
		r.Figure("Facts and judgments", assessment.Get("updated_at"), newest)
	}
}
