// Package incidents recomputes incidents from the logs of checks: when they began and ended, and which began at the
// same time as those of many other services. It reads a snapshot alone.
package incidents

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"tollbook/.ci/recompute/snapshot"
)

const rule = "Incidents"

// Check is a counted check.
type Check struct {
	At time.Time
	Up bool
}

// Service is a service with its counted checks, oldest first. The log IsCut if older checks are deleted.
type Service struct {
	Detail snapshot.Node
	Host   string
	Checks []Check
	IsCut  bool

	incidents []*incident // newest first
}

// incident is an incident as recomputed. Of one that began before the log, the published facts are taken.
type incident struct {
	of     *Service
	start  time.Time
	end    *time.Time
	failed int
	gap    any // seconds or nil
	byDay  bool
	cause  string
	shared any // members of the published object, or nil
	affect int // services of the shared outage
}

// Recompute compares the incidents of all services, their lists and what follows for the status.
func Recompute(snap *snapshot.Snapshot, r *snapshot.Report, services []*Service) {
	published := map[string][]snapshot.Node{}
	for page := 1; ; page++ {
		rows := snap.JSON("v1/incidents/per_page=100/page=" + strconv.Itoa(page) + ".json").Get("data").Items()
		for _, row := range rows {
			slug := row.Get("slug").Text()
			published[slug] = append(published[slug], row)
		}
		if len(rows) == 0 {
			break
		}
	}
	var all []*incident
	for _, s := range services {
		s.read(published[s.Detail.Get("slug").Text()])
		all = append(all, s.incidents...)
	}
	findShared(services)
	slices.SortFunc(all, func(a, b *incident) int {
		return cmp.Or(b.start.Compare(a.start), cmp.Compare(a.of.slug(), b.of.slug()))
	})
	for _, s := range services {
		s.figure(r)
	}
	figurePage(snap, r, "v1/incidents.json", all, 1, 25)
	for _, size := range []int{25, 100} {
		for page := 1; page == 1 || (page-1)*size < len(all); page++ {
			name := "v1/incidents/per_page=" + strconv.Itoa(size) + "/page=" + strconv.Itoa(page) + ".json"
			figurePage(snap, r, name, all, page, size)
		}
	}
	r.Figure(rule, snap.JSON("v1/index.json").At("lists", "v1/incidents"), len(all))
}

func (s *Service) slug() string { return s.Detail.Get("slug").Text() }

// read finds the runs of failed checks in the log. Incidents that began before the first success of a log that IsCut
// are taken from the published ones.
func (s *Service) read(published []snapshot.Node) {
	var runs []*incident
	var run *incident
	var before time.Time // of the last check
	isWhole := !s.IsCut
	began := time.Time{}
	for _, c := range s.Checks {
		switch {
		case !isWhole:
			if c.Up {
				isWhole, began = true, c.At
			}
		case !c.Up && run == nil:
			run = &incident{of: s, start: c.At, failed: 1, gap: 0}
			runs = append(runs, run)
		case run != nil:
			run.gap = max(run.gap.(int), int(c.At.Sub(before)/time.Second))
			if run.failed++; c.Up {
				run.failed--
				run.end, run = &c.At, nil
			}
		}
		before = c.At
	}
	slices.Reverse(runs)
	for _, x := range runs {
		if x.failed >= 2 {
			s.incidents = append(s.incidents, x)
		}
	}
	for _, row := range published {
		if start := row.Get("started_at").Time(); s.IsCut && (!isWhole || !start.After(began)) {
			x := &incident{of: s, start: start, failed: row.Get("failed_checks").Int(),
				gap: row.Get("longest_gap_seconds").Value, byDay: row.Get("precision").Text() == "day"}
			if end := row.Get("ended_at").Time(); !end.IsZero() {
				x.end = &end
			}
			s.incidents = append(s.incidents, x)
		}
	}
}

// row returns the published form of an incident.
func (x *incident) row() map[string]any {
	isVisited := x.of.Detail.Get("status").Text() != "unknown"
	row := map[string]any{
		"slug": x.of.slug(), "name": x.of.Detail.Get("name").Text(), "started_at": x.start, "ended_at": nil,
		"duration_seconds": nil, "ongoing": x.end == nil && isVisited, "kind": "degraded", "failed_checks": x.failed,
		"longest_gap_seconds": x.gap, "precision": "check", "cause": cmp.Or(x.cause, "own"), "shared": x.shared,
	}
	if x.end != nil {
		row["ended_at"], row["duration_seconds"] = *x.end, int(x.end.Sub(x.start)/time.Second)
	}
	if x.failed >= 3 {
		row["kind"] = "offline"
	}
	if x.byDay {
		row["precision"] = "day"
	}
	return row
}

// rows returns the published form of incidents.
func rows(list []*incident) []any {
	rows := []any{}
	for _, x := range list {
		rows = append(rows, x.row())
	}
	return rows
}

// figure compares what the detail of a service says.
func (s *Service) figure(r *snapshot.Report) {
	r.Figure(rule, s.Detail.Get("incidents"), rows(s.incidents[:min(20, len(s.incidents))]))
	var since any
	if s.Detail.Get("status").Text() == "offline" && len(s.incidents) > 0 && s.incidents[0].end == nil {
		since = s.incidents[0].start
	}
	r.Figure(rule, s.Detail.Get("offline_since"), since)
}

// figurePage compares a page of the list of all incidents.
func figurePage(snap *snapshot.Snapshot, r *snapshot.Report, name string, all []*incident, page, size int) {
	file, from := snap.JSON(name), min((page-1)*size, len(all))
	r.Figure(rule, file.Get("data"), rows(all[from:min(from+size, len(all))]))
	r.Figure(rule, file.Get("meta"), map[string]any{"total": len(all), "page": page, "per_page": size,
		"total_pages": (len(all) + size - 1) / size})
}
