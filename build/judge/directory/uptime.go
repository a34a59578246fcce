package directory

import (
	"math"
	"slices"
	"time"

	"tollbook/site"
	"tollbook/site/postgres/polls"
)

// counter sums polls of a document.
type counter struct {
	polls       int
	up, counted int64 // seconds
	latencies   []int32
}

// add adds polls with one outcome. Refusals of our own guard say nothing about a facilitator, and a missing /health is
// no outage.
func (t *counter) add(d polls.Day) {
	if d.Outcome == polls.Refused || d.Outcome == polls.Absent {
		return
	}
	t.polls += d.Polls
	t.counted += d.Seconds
	if d.Outcome == polls.Answered {
		t.up += d.Seconds
		t.latencies = append(t.latencies, d.Latencies...)
	}
}

// uptime returns the percentage of the time for which polls count that was answered, with two decimals; nil without a
// poll.
func (t *counter) uptime() *float64 {
	if t.counted <= 0 {
		return nil
	}
	return new(math.Round(10_000*float64(t.up)/float64(t.counted)) / 100)
}

// quantile returns the smallest latency that at least a share of all answers did not exceed; nil without an answer.
func (t *counter) quantile(percent int) *int {
	n := len(t.latencies)
	if n == 0 {
		return nil
	}
	slices.Sort(t.latencies)
	return new(int(t.latencies[max(0, (n*percent+99)/100-1)]))
}

// addPolls adds the sums of the last 30 days, and of each of them.
func addPolls(s *site.FacilitatorSupported, days []polls.Day) {
	var all, health counter
	by := map[string]*counter{}
	var dates []string
	for _, d := range days {
		if d.Document == polls.DocumentHealth {
			health.add(d)
			continue
		}
		all.add(d)
		date := d.Day.UTC().Format(time.DateOnly)
		if by[date] == nil {
			by[date] = &counter{}
			dates = append(dates, date)
		}
		by[date].add(d)
	}
	s.Uptime30d, s.HealthUptime30d, s.PollCount30d = all.uptime(), health.uptime(), all.polls
	s.MedianLatencyMS30d, s.P95LatencyMS30d = all.quantile(50), all.quantile(95)
	s.Days = []site.SupportedDay{}
	slices.Sort(dates)
	for _, date := range dates {
		if t := by[date]; t.polls > 0 {
			s.Days = append(s.Days, site.SupportedDay{Date: date, PollCount: t.polls, Uptime: t.uptime(),
				MedianLatencyMS: t.quantile(50)})
		}
	}
}
