package judge

import (
	"slices"
	"sort"
	"time"

	"tollbook/site"
)

// Services of a group have a shared outage if incidents of so many of them began within sharedWindow, and of at least
// half of those that had no incident before. Services of one host do not make an outage of a facilitator or network.
const (
	sharedWindow   = 30 * time.Minute
	sharedServices = 3
	allServices    = 10 // for CauseMeasurement, where it must be more than half
)

// begin is the beginning of an incident.
type begin struct {
	at         time.Time
	service, k int // place of the service and of its incident
}

// group is the services with one host, facilitator or network, or all services.
type group struct {
	cause   string
	name    *string
	members []int
}

// findShared sets the cause of incidents that began at the same time as those of many services of a group. Of several
// groups the one with the most failed services is the cause, of equal ones the first.
func findShared(services []incidentService, list [][]site.Incident) {
	for _, g := range groupsOf(services) {
		g.find(services, list, func(b begin, shared site.SharedOutage) {
			x := &list[b.service][b.k]
			if x.Shared == nil || x.Cause != site.CauseMeasurement && x.Shared.Failed < shared.Failed {
				x.Cause, x.Shared = g.cause, &shared
			}
		})
	}
}

// groupsOf returns all groups: all services first, then hosts, facilitators and networks, each by name.
func groupsOf(services []incidentService) []group {
	all := group{cause: site.CauseMeasurement}
	by := [3]map[string][]int{{}, {}, {}}
	for i := range services {
		s := &services[i]
		if !s.IsCompared {
			continue
		}
		all.members = append(all.members, i)
		for n, names := range [3][]string{{s.Host}, s.Facilitators, s.Networks} {
			for _, name := range names {
				by[n][name] = append(by[n][name], i)
			}
		}
	}
	groups := []group{all}
	for n, cause := range []string{site.CauseHost, site.CauseFacilitator, site.CauseNetwork} {
		names := make([]string, 0, len(by[n]))
		for name, members := range by[n] {
			if name != "" && len(members) >= sharedServices {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			groups = append(groups, group{cause, &name, by[n][name]})
		}
	}
	return groups
}

// find calls mark for each incident of a shared outage of the group.
func (g *group) find(services []incidentService, list [][]site.Incident, mark func(begin, site.SharedOutage)) {
	var begins []begin
	var listed, starts, ends []time.Time // of members and their incidents, sorted
	for _, i := range g.members {
		listed = append(listed, services[i].CreatedAt)
		for _, r := range services[i].Runs {
			if r.Checks >= beginsAfter && r.EndedAt != nil {
				ends = append(ends, site.NewTime(*r.EndedAt).Time)
			}
		}
		for k, x := range list[i] {
			starts = append(starts, x.StartedAt.Time)
			if x.Precision == site.PrecisionCheck {
				begins = append(begins, begin{x.StartedAt.Time, i, k})
			}
		}
	}
	for _, times := range [][]time.Time{listed, starts, ends} {
		slices.SortFunc(times, time.Time.Compare)
	}
	slices.SortFunc(begins, func(a, b begin) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.service - b.service
	})
	failed, end := map[int]int{}, 0 // incidents of each service within the window
	for i := 0; i < len(begins); {
		for ; end < len(begins) && begins[end].at.Sub(begins[i].at) <= sharedWindow; end++ {
			failed[begins[end].service]++
		}
		from := begins[i].at
		up := countUntil(listed, from) - countBefore(starts, from) + countUntil(ends, from)
		if !g.isShared(services, failed, up) {
			if failed[begins[i].service]--; failed[begins[i].service] == 0 {
				delete(failed, begins[i].service)
			}
			i++
			continue
		}
		shared := site.SharedOutage{Name: g.name, Failed: len(failed), Services: up, From: site.NewTime(from),
			To: site.NewTime(begins[end-1].at)}
		for ; i < end; i++ {
			mark(begins[i], shared)
		}
		clear(failed)
	}
}

// isShared reports whether the services that failed are enough of those that were up.
func (g *group) isShared(services []incidentService, failed map[int]int, up int) bool {
	n := len(failed)
	if g.cause == site.CauseMeasurement {
		return n >= allServices && 2*n > up
	}
	if n < sharedServices || 2*n < up {
		return false
	}
	hosts := map[string]bool{}
	for i := range failed {
		hosts[services[i].Host] = true
	}
	return g.cause == site.CauseHost || len(hosts) > 1
}

// countUntil returns how many of the sorted times are not after t.
func countUntil(times []time.Time, t time.Time) int {
	return sort.Search(len(times), func(i int) bool { return times[i].After(t) })
}

// countBefore returns how many of the sorted times are before t.
func countBefore(times []time.Time, t time.Time) int {
	return sort.Search(len(times), func(i int) bool { return !times[i].Before(t) })
}
