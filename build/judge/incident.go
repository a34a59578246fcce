// This part of the package judges when services were out of order: incidents made of runs of failed checks, and which
// of them have a cause outside the service because many services failed at the same time.
//
// Its functions are pure. It must never know a database, a page or a clock.

package judge

import (
	"cmp"
	"slices"
	"time"

	"tollbook/site"
	"tollbook/site/postgres/checks"
)

// beginsAfter is how many checks in a row must fail for an incident to begin. After offlineAfter, its kind is offline.
const beginsAfter = 2

// incidentService is what the incidents of a service are judged by.
type incidentService struct {
	Slug, Name   string
	Runs         []checks.FailureRun // oldest first
	Failures     int                 // consecutive failed checks now
	FailingSince *time.Time          // the first of them
	IsKnown      bool                // the status is known now
	IsCompared   bool                // it counts in groups: it is visited
	CreatedAt    time.Time
	Host         string
	Facilitators []string // by id
	Networks     []string // abbreviations
}

// incidentsOf returns the incidents of each service, newest first.
func incidentsOf(services []incidentService) [][]site.Incident {
	list := make([][]site.Incident, len(services))
	for i := range services {
		s := &services[i]
		for k := len(s.Runs) - 1; k >= 0; k-- {
			if s.Runs[k].Checks >= beginsAfter {
				x := newIncident(s, &s.Runs[k])
				if len(list[i]) < site.IncidentPages {
					x.ID = new(site.IncidentID(s.Slug, x.StartedAt))
				}
				list[i] = append(list[i], x)
			}
		}
	}
	findShared(services, list)
	return list
}

// newIncident returns the incident of a run of a service's failed checks.
func newIncident(s *incidentService, run *checks.FailureRun) site.Incident {
	x := site.Incident{Slug: s.Slug, Name: s.Name, StartedAt: site.NewTime(run.FirstAt), Kind: site.StatusDegraded,
		FailedChecks: run.Checks, Precision: site.PrecisionCheck, Cause: site.CauseOwn,
		Ongoing: run.EndedAt == nil && s.IsKnown, FirstFailure: newFailure(run.First), LastFailure: newFailure(run.Last)}
	if run.Checks >= offlineAfter {
		x.Kind = site.StatusOffline
	}
	if run.EndedAt != nil && !run.EndsInGap {
		x.EndedAt = new(site.NewTime(*run.EndedAt))
		x.DurationSeconds = new(int64(x.EndedAt.Sub(x.StartedAt.Time) / time.Second))
	}
	switch {
	case run.ByDay && run.EndedAt == nil && s.FailingSince != nil: // its first check is not stored, but known
		x.StartedAt, x.FailedChecks = site.NewTime(*s.FailingSince), s.Failures
	case run.ByDay:
		x.Precision = site.PrecisionDay
	default:
		x.LongestGapSeconds = new(run.LongestGap / 1000)
	}
	return x
}

// newFailure returns what went wrong in a failed check, nil if the check was not stored.
func newFailure(f checks.Failure) *site.IncidentFailure {
	if f == (checks.Failure{}) {
		return nil
	}
	return &site.IncidentFailure{StatusCode: f.StatusCode, ErrorMessage: f.Message}
}

// offlineSince returns when the incident of a service that is offline began: its first failed check. It is nil for a
// service with another status.
func offlineSince(status string, list []site.Incident) *site.Time {
	if status != site.StatusOffline || len(list) == 0 || list[0].EndedAt != nil {
		return nil
	}
	return &list[0].StartedAt
}

// allIncidents returns the incidents of all services, newest first.
func allIncidents(list [][]site.Incident) []site.Incident {
	all := slices.Concat(list...)
	slices.SortFunc(all, func(a, b site.Incident) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt.Time), cmp.Compare(a.Slug, b.Slug))
	})
	return all
}
