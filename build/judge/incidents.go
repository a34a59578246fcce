package judge

import (
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
			list[i].IsCompared = f.State == postgres.StateListed
			list[i].CreatedAt, list[i].Host = site.NewTime(f.CreatedAt).Time, hostname(f.BaseURL)
			list[i].Facilitators, list[i].Networks = d.revenue.facilitators(i), item.Networks
		}
		f.Runs = nil
	}
	d.incidents = incidentsOf(list)
	for i := range list {
		if last := d.options.LastGood[list[i].Slug]; last != nil && last.ListingDetail != nil {
			d.incidents[i] = last.Detail.Incidents
		}
	}
	d.Snapshot.Incidents = allIncidents(d.incidents)
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
