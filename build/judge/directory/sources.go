// This file judges what public sources of services list: their counts, overlap, newest answers and drops. Its
// functions are pure; they know no file, database or clock.

package directory

import (
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/sources"
)

// NewSources returns the public sources by name, as of now. Hidden services are neither counted nor named.
func NewSources(f *postgres.Facts, now time.Time) []site.SourceDetail {
	services, byID := map[string][]site.SourceService{}, map[int64]*postgres.ServiceFacts{}
	for i := range f.Services {
		s := &f.Services[i]
		byID[s.ID] = s
		for _, l := range f.Public.ListedBy[s.ID] {
			if l.Until == nil {
				services[l.Source] = append(services[l.Source], site.SourceService{Slug: s.Slug, Name: s.Name,
					Since: site.NewTime(l.Since), ResourceCount: l.Resources})
			}
		}
	}
	var list []site.SourceDetail
	for i := range f.Public.Sources {
		s := &f.Public.Sources[i]
		if !site.ValidSlug(s.Name) {
			continue // the configuration accepts no such name, so the row is damaged
		}
		of := services[s.Name]
		slices.SortFunc(of, func(a, b site.SourceService) int { return strings.Compare(a.Slug, b.Slug) })
		detail := site.SourceDetail{
			Source: newSource(&f.Public, s, len(of)), Pulls: newPulls(s.Pulls),
			Days:     newDays(f.Public.Days[s.ID], now),
			Services: append([]site.SourceService{}, of[:min(len(of), site.SourceServices)]...),
			Dropped:  []site.SourceDrop{},
		}
		for _, d := range f.Public.Drops[s.ID] {
			if of := byID[d.Service]; of != nil {
				detail.Dropped = append(detail.Dropped, site.SourceDrop{Slug: of.Slug, Name: of.Name,
					Endpoint: d.Endpoint, Since: site.NewTime(d.Since), Until: site.NewTime(d.Until)})
			}
		}
		list = append(list, detail)
	}
	return list
}

// newSource returns a source that lists resources of a number of services.
func newSource(f *sources.Facts, s *sources.State, services int) site.Source {
	out := site.Source{
		Source: s.Name, Kind: s.Kind, Address: withoutQuery(s.Address), LastAttemptAt: site.NewTime(*s.Last.EndedAt),
		Failures: s.Failures, Answer: newAnswer(s.Accepted), HeldBack: newAnswer(s.Held), ServiceCount: services,
		Overlap: []site.SourceOverlap{},
	}
	if s.Accepted != nil {
		out.Partial = &s.Accepted.Partial
	}
	if s.SucceededAt != nil {
		at := site.NewTime(*s.SucceededAt)
		out.LastSuccessAt = &at
	}
	for _, o := range f.Overlaps {
		if !slices.Contains(o.Sources, s.ID) {
			continue
		}
		out.ResourceCount += o.Resources
		if len(o.Sources) == 1 {
			out.UniqueCount = o.Resources
		}
	}
	for _, other := range f.Sources {
		if other.ID != s.ID && site.ValidSlug(other.Name) {
			out.Overlap = append(out.Overlap, site.SourceOverlap{Source: other.Name,
				ResourceCount: countShared(f.Overlaps, s.ID, other.ID)})
		}
	}
	return out
}

// withoutQuery returns a URL without its query, which may contain a key of the operator.
func withoutQuery(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return address
}

// countShared returns how many resources two sources list.
func countShared(overlaps []sources.Overlap, a, b int) (n int) {
	for _, o := range overlaps {
		if slices.Contains(o.Sources, a) && slices.Contains(o.Sources, b) {
			n += o.Resources
		}
	}
	return n
}

func newAnswer(p *sources.Pull) *site.SourceAnswer {
	if p == nil {
		return nil
	}
	return &site.SourceAnswer{ReceivedAt: site.NewTime(*p.EndedAt), Resources: p.Resources,
		SHA256: hex.EncodeToString(p.SHA256)}
}

// newPulls returns pulls, newest first.
func newPulls(list []sources.Pull) []site.SourcePull {
	out := make([]site.SourcePull, 0, len(list))
	for _, p := range slices.Backward(list) {
		pull := site.SourcePull{EndedAt: site.NewTime(*p.EndedAt), Outcome: p.Outcome, StatusCode: p.Status}
		if p.Outcome != site.PullFailed {
			sum := hex.EncodeToString(p.SHA256)
			pull.Resources, pull.SHA256 = &p.Resources, &sum
		}
		if p.Outcome == site.PullAccepted || p.Outcome == site.PullHeld {
			pull.Skipped, pull.Partial = &p.Skipped, &p.Partial
		}
		out = append(out, pull)
	}
	return out
}

// newDays returns the days of the last site.SeriesDays, with the number of resources that were listed at their ends.
// days are all days with a change, oldest first.
func newDays(days []sources.Day, now time.Time) []site.SourceDay {
	out, resources := []site.SourceDay{}, 0
	first := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-site.SeriesDays)
	for _, d := range days {
		resources += d.Listed - d.Dropped
		if !d.Date.Before(first) {
			out = append(out, site.SourceDay{Date: d.Date.Format(time.DateOnly), Resources: resources,
				Listed: d.Listed, Dropped: d.Dropped})
		}
	}
	return out
}
