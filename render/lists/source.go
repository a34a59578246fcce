// This file makes what the pages of public sources show: of all what they have in common, of one its newest answers,
// services and drops. It must never know a route or a template.

package lists

import (
	"tollbook/render/chart"
	"tollbook/site"
	"tollbook/site/display"
)

// Limits of the page.
const (
	maxPulls    = 20
	maxServices = 200
	maxDrops    = 200
)

// sourceList is what the page of all sources shows.
type sourceList struct {
	Sources []site.SourceDetail
	Overlap overlapTable
}

// NewSourceList returns what the page of all sources shows.
func NewSourceList(list []site.SourceDetail) sourceList { return sourceList{list, newOverlap(list)} }

// sourceBody is what the page of a source shows. Lists are the first rows of those of the source.
type sourceBody struct {
	*site.SourceDetail
	Listed       chart.Listed
	Pulls        []pull
	MorePulls    int
	Services     []site.SourceService
	MoreServices int
	Dropped      []site.SourceDrop
	MoreDropped  int
	Shared       []overlapCell // with each other source
}

// pull is one reading of a source.
type pull struct {
	site.SourcePull
	Result string // in words
}

// NewSourcePage returns what the page of a source shows.
func NewSourcePage(s *site.SourceDetail, calendar *chart.Calendar) sourceBody {
	b := sourceBody{SourceDetail: s, Listed: chart.NewListed(s, calendar),
		Services: s.Services[:min(len(s.Services), maxServices)], Dropped: s.Dropped[:min(len(s.Dropped), maxDrops)]}
	for _, p := range s.Pulls[:min(len(s.Pulls), maxPulls)] {
		result := display.PullOutcome(p.Outcome)
		if p.Partial != nil && *p.Partial {
			result += ", in part"
		}
		b.Pulls = append(b.Pulls, pull{p, result})
	}
	b.MorePulls, b.MoreServices = len(s.Pulls)-len(b.Pulls), s.ServiceCount-len(b.Services)
	b.MoreDropped = len(s.Dropped) - len(b.Dropped)
	for _, o := range s.Overlap {
		b.Shared = append(b.Shared, newOverlapCell(&s.Source, o.Source, o.ResourceCount))
	}
	return b
}
