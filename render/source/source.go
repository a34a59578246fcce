// Package source makes what the pages of public sources show: of all what they have in common, of one its newest
// answers, services and drops. It must never know a route or a template.
package source

import (
	"tollbook/render/chart"
	"tollbook/render/overlap"
	"tollbook/site"
	"tollbook/site/display"
)

// Limits of the page.
const (
	maxPulls    = 20
	maxServices = 200
	maxDrops    = 200
)

// List is what the page of all sources shows.
type List struct {
	Sources []site.SourceDetail
	Overlap overlap.Table
}

// NewList returns what the page of all sources shows.
func NewList(list []site.SourceDetail) List { return List{list, overlap.New(list)} }

// Body is what the page of a source shows. Lists are the first rows of those of the source.
type Body struct {
	*site.SourceDetail
	Listed       chart.Listed
	Pulls        []Pull
	MorePulls    int
	Services     []site.SourceService
	MoreServices int
	Dropped      []site.SourceDrop
	MoreDropped  int
	Shared       []overlap.Cell // with each other source
}

// Pull is one reading of a source.
type Pull struct {
	site.SourcePull
	Result string // in words
}

// New returns what the page of a source shows.
func New(s *site.SourceDetail, calendar *chart.Calendar) Body {
	b := Body{SourceDetail: s, Listed: chart.NewListed(s, calendar),
		Services: s.Services[:min(len(s.Services), maxServices)], Dropped: s.Dropped[:min(len(s.Dropped), maxDrops)]}
	for _, p := range s.Pulls[:min(len(s.Pulls), maxPulls)] {
		result := display.PullOutcome(p.Outcome)
		if p.Partial != nil && *p.Partial {
			result += ", in part"
		}
		b.Pulls = append(b.Pulls, Pull{p, result})
	}
	b.MorePulls, b.MoreServices = len(s.Pulls)-len(b.Pulls), s.ServiceCount-len(b.Services)
	b.MoreDropped = len(s.Dropped) - len(b.Dropped)
	for _, o := range s.Overlap {
		b.Shared = append(b.Shared, overlap.NewCell(&s.Source, o.Source, o.ResourceCount))
	}
	return b
}
