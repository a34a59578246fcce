package judge

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
)

// judgeIncidents judges the incidents of all services and drops their runs of failed checks. A service whose facts
// cannot be read keeps the incidents that were published last, and is no part of a shared outage.
func (d *Directory) judgeIncidents() {
	list := make([]incidentService, len(d.facts.Services))
	for i := range list {
		f, item := &d.facts.Services[i], &d.Snapshot.Services[i].Item
		list[i] = incidentService{Slug: f.Slug, Name: f.Name}
		if d.options.LastGood[f.Slug] == nil {
			list[i].Runs, list[i].IsKnown = f.Runs, item.Status != site.StatusUnknown
			list[i].Failures, list[i].FailingSince = f.ConsecutiveFailures, f.FailingSince
			list[i].IsCompared = f.State == postgres.StateListed
			list[i].CreatedAt, list[i].Host = site.NewTime(f.CreatedAt).Time, hostname(f.BaseURL)
			list[i].Facilitators, list[i].Networks = d.revenue.facilitators(i), item.Networks
		}
		f.Runs = nil
	}
	d.incidents = incidentsOf(list)
	for i := range list {
		if last := d.options.LastGood[list[i].Slug]; last != nil && last.ListingDetail != nil {
			d.incidents[i] = nil
			for k := range last.Incidents {
				d.incidents[i] = append(d.incidents[i], last.Incidents[k].Incident)
			}
		}
	}
	d.Snapshot.Incidents = allIncidents(d.incidents)
	d.beside = newBeside(d.Snapshot.Incidents)
}

// incidentDetails returns the incidents of the ith service that have pages, with what these show beside them.
func (d *Directory) incidentDetails(i int, endpoints []site.Endpoint) []site.IncidentDetail {
	of := d.incidents[i]
	list := make([]site.IncidentDetail, 0, len(of))
	for _, x := range of {
		if x.ID == nil {
			continue
		}
		detail := site.IncidentDetail{Incident: x, Endpoints: []string{}}
		for k := range endpoints {
			if e := &endpoints[k]; len(detail.Endpoints) < namedEndpoints && !e.FirstSeenAt.After(x.StartedAt.Time) &&
				(x.EndedAt == nil || !e.LastSeenAt.Before(x.StartedAt.Time)) {
				detail.Endpoints = append(detail.Endpoints, e.Method+" "+e.Path)
			}
		}
		detail.OtherIncidents, detail.Others = d.beside.of(&x)
		list = append(list, detail)
	}
	return list
}

// beside finds the incidents that were at the same time as another.
type beside struct {
	all          []site.Incident // newest first
	starts, ends []time.Time     // of all incidents, sorted; ongoing ones have no end
}

// Limits of what is beside an incident: so many endpoints and other incidents are named, and so many incidents on each
// side of it are compared with it.
const (
	namedEndpoints = 25 // of which a check asks no more
	namedBeside    = 10
	searchedBeside = 200
)

func newBeside(all []site.Incident) *beside {
	b := &beside{all: all}
	for i := range all {
		b.starts = append(b.starts, all[i].StartedAt.Time)
		if !all[i].Ongoing {
			b.ends = append(b.ends, endOf(&all[i]))
		}
	}
	slices.SortFunc(b.starts, time.Time.Compare)
	slices.SortFunc(b.ends, time.Time.Compare)
	return b
}

// endOf returns when an incident ended that is not ongoing. One whose end is not known counts up to its beginning.
func endOf(x *site.Incident) time.Time {
	if x.EndedAt == nil {
		return x.StartedAt.Time
	}
	return x.EndedAt.Time
}

// of returns how many incidents of other services did not end before x began, nor begin after it ended, and the ones
// that began nearest to it, newest first. A service's own incidents never overlap.
func (b *beside) of(x *site.Incident) (count int, named []site.IncidentBeside) {
	begun := len(b.starts)
	if !x.Ongoing {
		begun = countUntil(b.starts, endOf(x))
	}
	count = max(0, begun-countBefore(b.ends, x.StartedAt.Time)-1)
	place := sort.Search(len(b.all), func(i int) bool { return !b.all[i].StartedAt.After(x.StartedAt.Time) })
	var near []*site.Incident
	for i := max(0, place-searchedBeside); i < min(len(b.all), place+searchedBeside); i++ {
		y := &b.all[i]
		if y.Slug != x.Slug && (x.Ongoing || !y.StartedAt.After(endOf(x))) &&
			(y.Ongoing || !endOf(y).Before(x.StartedAt.Time)) {
			near = append(near, y)
		}
	}
	distance := func(y *site.Incident) time.Duration { return y.StartedAt.Sub(x.StartedAt.Time).Abs() }
	slices.SortStableFunc(near, func(y, z *site.Incident) int { return cmp.Compare(distance(y), distance(z)) })
	near = near[:min(len(near), namedBeside)]
	slices.SortFunc(near, func(y, z *site.Incident) int {
		return cmp.Or(z.StartedAt.Compare(y.StartedAt.Time), cmp.Compare(y.Slug, z.Slug))
	})
	named = make([]site.IncidentBeside, 0, len(near))
	for _, y := range near {
		named = append(named, site.IncidentBeside{Slug: y.Slug, Name: y.Name, ID: y.ID, StartedAt: y.StartedAt})
	}
	return count, named
}

// addIncidents adds the newest incidents of the ith service to its detail.
func (d *Directory) addIncidents(i int, detail *site.ServiceDetail) {
	of := d.incidents[i]
	detail.OfflineSince = offlineSince(detail.Status, of)
	detail.Incidents = append([]site.Incident{}, of[:min(len(of), site.ServiceIncidents)]...)
}

// facilitators returns the ids of the facilitators that settled payments of the ith service within 30 days.
func (t *revenueIndex) facilitators(i int) (ids []string) {
	if status, _, _ := t.status(i); status == site.TractionMeasured {
		for _, v := range t.revenues[i].listFacilitators() {
			ids = append(ids, v.ID)
		}
	}
	return ids
}
