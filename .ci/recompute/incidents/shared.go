package incidents

import (
	"maps"
	"slices"
	"time"

	"tollbook/.ci/recompute/snapshot"
)

// window is how long after the first incident of a shared outage others may begin.
const window = 30 * time.Minute

// causes are the groups of services that may fail together, the first wins among equals.
var causes = []struct {
	name string
	of   func(*Service) []string
}{
	{"measurement", func(*Service) []string { return []string{""} }},
	{"host", func(s *Service) []string { return []string{s.Host} }},
	{"facilitator", func(s *Service) []string { return s.Detail.At("assessment", "traction", "settled_via").Texts() }},
	{"network", func(s *Service) []string { return s.Detail.Get("networks").Texts() }},
}

// findShared finds the shared outages of every group.
func findShared(services []*Service) {
	for _, cause := range causes {
		groups := map[string][]*Service{}
		for _, s := range services {
			if s.Detail.Get("paused_at").Exists() || s.Detail.Get("delisted_at").Exists() {
				continue
			}
			for _, name := range cause.of(s) {
				groups[name] = append(groups[name], s)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			if name != "" || cause.name == "measurement" {
				findOutages(groups[name], cause.name, name)
			}
		}
	}
}

// findOutages looks at each incident of a group, oldest first, and at those that began within the window after it. The
// incidents of an outage are in no other outage of the group.
func findOutages(group []*Service, cause, name string) {
	var list []*incident
	for _, s := range group {
		for _, x := range s.incidents {
			if !x.byDay {
				list = append(list, x)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *incident) int { return a.start.Compare(b.start) })
	for len(list) > 0 {
		from, n := list[0].start, 0
		failed, hosts := map[*Service]bool{}, map[string]bool{}
		for n < len(list) && list[n].start.Sub(from) <= window {
			failed[list[n].of], hosts[list[n].of.Host] = true, true
			n++
		}
		up := countUp(group, from)
		isShared := len(failed) >= 3 && 2*len(failed) >= up && (cause == "host" || len(hosts) > 1)
		if cause == "measurement" {
			isShared = len(failed) >= 10 && 2*len(failed) > up
		}
		if !isShared {
			list = list[1:]
			continue
		}
		for _, x := range list[:n] {
			x.join(cause, len(failed), map[string]any{"name": snapshot.TextOrNull(name),
				"failed": len(failed), "services": up, "from": from, "to": list[n-1].start})
		}
		list = list[n:]
	}
}

// join makes an incident a part of a shared outage, unless a larger one explains it.
func (x *incident) join(cause string, failed int, shared map[string]any) {
	if x.shared != nil && (x.cause == "measurement" || x.affect >= failed) {
		return
	}
	x.cause, x.affect, x.shared = cause, failed, shared
}

// countUp counts the services that were listed and had no incident just before a time.
func countUp(group []*Service, at time.Time) (up int) {
	for _, s := range group {
		if s.Detail.Get("created_at").Time().After(at) {
			continue
		}
		isDown := slices.ContainsFunc(s.incidents, func(x *incident) bool {
			return x.start.Before(at) && (x.end == nil || x.end.After(at))
		})
		if !isDown {
			up++
		}
	}
	return up
}
