package sample

import (
	"math/rand/v2"
	"net/http"
	"time"
)

// incident is a stretch of the past in which a service was not itself.
type incident struct {
	from, to time.Time
	kind     string
}

// temper says how many incidents befall a service in ninety days, and how long one lasts at most.
var tempers = map[string]struct {
	incidents int
	longest   time.Duration
}{
	"calm":   {2, 40 * time.Minute},
	"steady": {6, 3 * time.Hour},
	"shaky":  {22, 9 * time.Hour},
}

// kinds of incidents; those that befall more often stand there more often.
var incidentKinds = []string{"bad-gateway", "bad-gateway", "partial", "partial", "sluggish", "sluggish", "unreachable",
	"unreachable", "timeout", "busy"}

// quiet is how long before the start nothing befalls anybody: the present begins undisturbed.
const quiet = 3 * time.Hour

// incidents are what befell the service in the ninety days before start: the same for the same service and start.
func (s *service) incidents(start time.Time) []incident {
	r := rand.New(rand.NewPCG(s.seed, 1))
	temper := tempers[s.Temper]
	var list []incident
	for range temper.incidents {
		from := start.Add(-quiet - time.Duration(r.Int64N(int64(90*day))))
		lasts := 10*time.Minute + time.Duration(r.Int64N(int64(temper.longest)))
		kind := incidentKinds[r.IntN(len(incidentKinds))]
		if to := from.Add(lasts); to.Before(start.Add(-quiet)) {
			list = append(list, incident{from, to, kind})
		}
	}
	return list
}

// afflict is what a visitor finds instead of f, at endpoint i of n.
func (x incident) afflict(f finding, i, n int) finding {
	switch {
	case x.kind == "bad-gateway", x.kind == "partial" && i == 0 && n > 1:
		return finding{verdict: failed, status: http.StatusBadGateway, reason: "answers 502 Bad Gateway",
			delay: f.delay / 2}
	case x.kind == "unreachable":
		return finding{verdict: failed, reason: "connection refused"}
	case x.kind == "timeout":
		return finding{verdict: failed, reason: "timed out after 15 s"}
	case x.kind == "busy":
		return finding{verdict: inconclusive, status: http.StatusServiceUnavailable,
			reason: "answers 503 Service Unavailable and says when to come back", delay: f.delay / 2}
	case x.kind == "sluggish":
		f.delay += slowLimit
	}
	return f
}
