package main

import (
	"net/url"

	"tollbook/.ci/recompute/incidents"
	"tollbook/.ci/recompute/snapshot"
)

// recomputeIncidents computes the incidents of all services from their logs.
func recomputeIncidents(d *directory, r *snapshot.Report) {
	var list []*incidents.Service
	for _, s := range d.services {
		v := s.visits(d)
		of := &incidents.Service{Detail: s.detail, IsCut: !v.whole.IsZero()}
		if u, err := url.Parse(s.detail.Get("base_url").Text()); err == nil {
			of.Host = u.Hostname()
		}
		for _, visit := range v.list {
			if visit.counted {
				of.Checks = append(of.Checks, incidents.Check{At: visit.at, Up: visit.up})
			}
		}
		list = append(list, of)
	}
	incidents.Recompute(d.snap, r, list)
}
