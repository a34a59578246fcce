package sample

import (
	"math/rand/v2"
	"net/http"
	"time"
)

// incident is a period in the past in which a service had a fault.
type incident struct {
	from, to time.Time
	kind     string
}

// tempers maps a service's temper to its number of incidents in ninety days and the longest duration of one.
var tempers = map[string]struct {
	incidents int
	longest   time.Duration
}{
	"calm":   {2, 40 * time.Minute},
	"steady": {6, 3 * time.Hour},
	"shaky":  {22, 9 * time.Hour},
}

// Kinds of incidents. Frequent kinds are listed several times.
var incidentKinds = []string{"bad-gateway", "bad-gateway", "partial", "partial", "sluggish", "sluggish", "unreachable",
	"unreachable", "timeout", "busy"}

// quiet is the time before the start without incidents, so that the world starts undisturbed.
const quiet = 3 * time.Hour

// incidents returns the service's incidents in the ninety days before start. Equal services and starts give equal
// incidents.
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

// afflict returns the finding during the incident instead of f, at endpoint i of n.
func (x incident) afflict(f finding, i, n int) finding {
	switch {
	case x.kind == "bad-gateway", x.kind == "partial" && i == 0 && n > 1:
		return finding{verdict: failed, class: "server_error", status: http.StatusBadGateway,
			reason: "answers 502 Bad Gateway", delay: f.delay / 2, answer: badGateway()}
	case x.kind == "unreachable":
		return unreachable("connection refused")
	case x.kind == "timeout":
		return unreachable("timed out after 15 s")
	case x.kind == "busy":
		busy := text(http.StatusServiceUnavailable, "busy\n")
		busy.header.Set("Retry-After", "60")
		return finding{verdict: inconclusive, class: "unavailable", status: busy.status,
			reason: "answers 503 Service Unavailable and says when to come back", delay: f.delay / 2, answer: busy}
	case x.kind == "sluggish":
		f.delay += slowLimit
	}
	return f
}
