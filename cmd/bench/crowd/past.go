package crowd

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres/checks"
)

// trouble is a time in which a service had problems.
type trouble struct {
	from, to time.Time
	status   string // "" if the state was inconclusive
}

// past generates the visits of a service, from the first day of history to the moment. It stores their sums, or the
// checks themselves.
func (s *service) past() {
	c, r := s.c, s.c.random(ofPast, s.k)
	times := s.times(r)
	troubles := s.troubles(r)
	flaky := []float64{0, 0.0005, 0.005, 0.03}[chosen(r, []float64{45, 35, 15, 5})]
	at := s.created.Add(time.Duration(r.IntN(60_000)) * time.Millisecond)
	if at.Before(c.first) {
		at = c.first.Add(time.Duration(r.IntN(900_000)) * time.Millisecond)
	}
	last, up, fails := (*string)(nil), false, 0
	var since, success *time.Time
	var counted []checks.Check                // whose days are sums
	if s.fate != well && s.since.Before(at) { // it began before the history
		success = &s.since
		if s.fate == down {
			since, fails = &s.since, 1+int(at.Sub(s.since)/day)
		}
	}
	calm := c.o.Moment.Add(-time.Hour) // the state does not change any more
	for next := 0; !at.After(c.o.Moment); {
		status := site.StatusOnline
		for next < len(troubles) && !at.Before(troubles[next].to) {
			next++
		}
		switch {
		case next < len(troubles) && !at.Before(troubles[next].from):
			status = troubles[next].status
		case at.Before(calm) && r.Float64() < flaky:
			status = []string{site.StatusOffline, site.StatusDegraded, ""}[r.IntN(3)]
		}
		if last == nil && status == "" {
			status = site.StatusOnline // the first visit determines the state
		}
		check := checks.Check{ServiceID: s.is.ID, CheckedAt: at, Counted: status != ""}
		t := times[r.IntN(len(times))]
		switch status {
		case site.StatusOnline:
			check.EndpointsFound = len(s.endpoints)
		case site.StatusDegraded:
			check.EndpointsFound = len(s.endpoints) - 1
		}
		switch status {
		case "":
			status = *last // unchanged
		case site.StatusOffline:
			if up = false; fails == 0 {
				since = &check.CheckedAt
			}
			fails++
		default:
			up, fails, since = true, 0, nil
		}
		last = &status
		if check.EndpointsFound > 0 {
			success = &check.CheckedAt
		}
		check.Status, check.IsUp, check.ConsecutiveFailures = last, up, fails
		if check.Counted && up {
			check.ResponseTimeMS = new(t)
		}
		check.IntervalS = int(site.Interval(s.is.CheckInterval, since, at) / time.Second)
		if check.Counted && at.Before(s.c.raw) {
			counted = append(counted, check)
		}
		s.keep(&check, r)
		s.is.LastCheckedAt = &check.CheckedAt
		if check.Counted {
			s.is.LastStatus = last
		}
		at = at.Add(time.Duration(float64(site.Interval(s.is.CheckInterval, since, at)) * (0.8 + 0.4*r.Float64())).
			Truncate(time.Millisecond))
	}
	for _, span := range checks.Spans(counted, s.c.raw) {
		for day := span.From.Truncate(day); day.Before(span.To); day = day.AddDate(0, 0, 1) {
			s.dayOf(day).AddSpan(span, 24*time.Hour)
		}
	}
	s.is.LastSuccessAt, s.is.ConsecutiveFailures, s.is.FailingSince, s.is.NextCheckAt = success, fails, since, at
}

// times returns response times of the service, in their real proportions.
func (s *service) times(r *rand.Rand) []int {
	times := make([]int, 64)
	for i := range times {
		times[i] = max(4, int(float64(s.latency)*math.Exp(0.22*r.NormFloat64())))
	}
	times[0] *= 3 // one response in a while is slow
	return times
}

// troubles returns the troubles of the whole history in order: short ones, and the one that lasts until the moment.
func (s *service) troubles(r *rand.Rand) []trouble {
	var list []trouble
	begin := s.c.first
	if s.created.After(begin) {
		begin = s.created
	}
	end := s.c.o.Moment.Add(-time.Hour)
	if s.fate != well {
		end = s.since
	}
	if span := end.Sub(begin); span > day {
		for range chosen(r, []float64{55, 25, 12, 5, 3}) {
			from := begin.Add(time.Duration(r.Float64() * float64(span)))
			list = append(list, trouble{from, from.Add(time.Duration(r.ExpFloat64() * float64(2*time.Hour))),
				pick(r, []string{site.StatusOffline, site.StatusDegraded, ""})})
		}
	}
	slices.SortFunc(list, func(a, b trouble) int { return a.from.Compare(b.from) })
	for i := range list {
		if list[i].to.After(end) {
			list[i].to = end
		}
	}
	forever := s.c.o.Moment.Add(time.Hour)
	switch s.fate {
	case down:
		list = append(list, trouble{s.since, forever, site.StatusOffline})
	case partly:
		list = append(list, trouble{s.since, forever, site.StatusDegraded})
	default:
		list = append(list, trouble{forever, forever, ""})
	}
	return list
}

// keep stores a check, by itself or in the sum of its day.
func (s *service) keep(check *checks.Check, r *rand.Rand) {
	if check.CheckedAt.Before(s.c.raw) {
		s.dayOf(check.CheckedAt.Truncate(day)).Add(*check)
		return
	}
	check.ID = checkID(r)
	switch {
	case !check.Counted:
		check.StatusCode, check.ErrorMessage = new(429), new("answers 429 Too Many Requests")
		check.UncountedReason = new("rate_limited")
	case *check.Status == site.StatusOffline:
		check.ErrorMessage = new("connection refused")
	case *check.Status == site.StatusDegraded:
		check.StatusCode, check.ErrorMessage = new(200), new("answers 200 OK without asking for payment")
	default:
		check.StatusCode = new(402)
	}
	s.is.Checks = append(s.is.Checks, *check)
}

// dayOf returns the sums of a UTC day, which may be new.
func (s *service) dayOf(start time.Time) *checks.Rollup {
	i, found := slices.BinarySearchFunc(s.is.Days, start, func(d checks.Rollup, start time.Time) int {
		return d.Start.Compare(start)
	})
	if !found {
		s.is.Days = slices.Insert(s.is.Days, i, checks.Rollup{ServiceID: s.is.ID, Start: start,
			Histogram: make([]int64, site.HistogramBuckets)})
	}
	return &s.is.Days[i]
}

// checkID returns a random id of a check.
func checkID(r *rand.Rand) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:8], r.Uint64())
	binary.BigEndian.PutUint64(id[8:], r.Uint64())
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // version 4, as for random ids
	return id
}
