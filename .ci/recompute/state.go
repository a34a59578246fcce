package main

import (
	"math/big"
	"time"
)

// recomputeState computes the status of every service, and what follows from the times of its last successes.
func recomputeState(d *directory, r *report) {
	for _, s := range d.services {
		detail, v := s.detail, s.visits(d)
		reliability := detail.at("assessment", "reliability")
		checked := detail.get("last_checked_at").time()
		last := time.Time{}
		if len(v.list) > 0 {
			last = v.list[len(v.list)-1].at
		}
		r.figure(logRule, reliability.get("last_checked_at"), detail.get("last_checked_at"))
		r.figure(logRule, reliability.get("consecutive_failures"), detail.get("consecutive_failures"))
		if checked.After(last) && d.now.Sub(checked) <= logDelay {
			r.input(detail.get("last_checked_at")) // the last visit is not in the log yet
			r.input(detail.get("consecutive_failures"))
			r.input(detail.get("status"))
		} else {
			r.figure(logRule, detail.get("last_checked_at"), last)
			failures, since := v.failures()
			if failures == len(v.list) && !v.whole.IsZero() {
				r.input(detail.get("consecutive_failures")) // the failures began before the oldest row
			} else {
				r.figure(logRule, detail.get("consecutive_failures"), failures)
			}
			r.figure(logRule, detail.get("status"), status(d, s, v, failures, since))
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
	interval := time.Duration(s.detail.get("check_interval_minutes").int()) * time.Minute
	if failures > 0 && d.now.Sub(since) >= day {
		interval = max(interval, time.Hour)
	}
	if failures > 0 && d.now.Sub(since) >= 7*day {
		interval = max(interval, day)
	}
	var last *visit
	for i := range v.list {
		if v.list[i].counted {
			last = &v.list[i]
		}
	}
	switch checked := s.detail.get("last_checked_at").time(); {
	case last == nil && v.whole.IsZero(), d.now.Sub(checked) > max(time.Hour, 3*interval):
		return "unknown"
	case failures >= 3:
		return "offline"
	case failures > 0:
		return "degraded"
	}
	active, paid := 0, 0
	for _, e := range s.evidence.get("endpoints").items() {
		if e.get("is_active").bool() {
			active++
			if e.get("verdict").text() == "paid" {
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
func figureTimes(d *directory, r *report, s *service) {
	detail, assessment := s.detail, s.detail.get("assessment")
	var success time.Time // the newest time at which an active endpoint asked for payment
	for _, e := range detail.get("endpoints").items() {
		if at := e.get("last_seen_at").time(); at.After(e.get("first_seen_at").time()) && at.After(success) {
			success = at
		}
	}
	if success.IsZero() {
		r.input(detail.get("last_success_at")) // it was an endpoint that is no longer active, or nothing
	} else {
		r.figure(logRule, detail.get("last_success_at"), success)
	}
	var ready time.Time
	if at := detail.get("last_success_at").time(); !at.IsZero() {
		ready = at.Add(7 * day)
	}
	r.figure(logRule, detail.get("payment_ready_until"), ready)
	r.figure(logRule, detail.get("payment_ready"), ready.After(d.now) && canBePaid(d, s))
	r.figure(logRule, detail.get("verified"), detail.get("verified_until").time().After(d.now))

	domain := assessment.get("domain")
	var age *big.Rat
	if created := domain.get("created_date").time(); !created.IsZero() {
		age = big.NewRat(int64(max(0, d.now.Sub(created))/day), 1)
	}
	r.figure("Risk", domain.get("age_days"), age)

	newest := detail.get("last_checked_at").time()
	facts := []node{assessment.at("site", "checked_at"), domain.get("checked_at"),
		assessment.at("traction", "last_settlement_at")}
	for _, e := range s.evidence.get("endpoints").items() {
		facts = append(facts, e.at("answer", "received_at"), e.at("terms", "received_at"))
	}
	for _, fact := range facts {
		if at := fact.time(); at.After(newest) {
			newest = at
		}
	}
	if assessment.get("synthesis").hasValue() {
		r.input(assessment.get("updated_at")) // the time of the model's answer may be newer
	} else {
		r.figure("Facts and judgments", assessment.get("updated_at"), newest)
	}
}
