package judge

import (
	"encoding/hex"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/sources"
)

// newListedBy returns who lists a service.
func newListedBy(list []sources.Listing) []site.ListedBy {
	out := make([]site.ListedBy, len(list))
	for i, l := range list {
		out[i] = site.ListedBy{Source: l.Source, Since: site.NewTime(l.Since), Until: timeOrNull(l.Until),
			ResourceCount: l.Resources}
	}
	return out
}

// newSources returns the public sources by name. Hidden services are not counted.
func newSources(f *postgres.Facts) []site.Source {
	services := map[string]int{}
	for i := range f.Services {
		for _, l := range f.Public.ListedBy[f.Services[i].ID] {
			if l.Until == nil {
				services[l.Source]++
			}
		}
	}
	list := make([]site.Source, len(f.Public.Sources))
	for i, s := range f.Public.Sources {
		list[i] = site.Source{
			Source: s.Name, Kind: s.Kind, Address: withoutQuery(s.Address),
			LastAttemptAt: site.NewTime(*s.Last.EndedAt),
			LastSuccessAt: timeOrNull(s.SucceededAt), Failures: s.Failures, Answer: newSourceAnswer(s.Accepted),
			HeldBack: newSourceAnswer(s.Held), ServiceCount: services[s.Name], Overlap: []site.SourceOverlap{},
		}
		for _, o := range f.Public.Overlaps {
			if !slices.Contains(o.Sources, s.ID) {
				continue
			}
			list[i].ResourceCount += o.Resources
			if len(o.Sources) == 1 {
				list[i].UniqueCount = o.Resources
			}
		}
		for _, other := range f.Public.Sources {
			if other.ID != s.ID {
				list[i].Overlap = append(list[i].Overlap, site.SourceOverlap{Source: other.Name,
					ResourceCount: countShared(f.Public.Overlaps, s.ID, other.ID)})
			}
		}
	}
	return list
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

func newSourceAnswer(p *sources.Pull) *site.SourceAnswer {
	if p == nil {
		return nil
	}
	return &site.SourceAnswer{ReceivedAt: site.NewTime(*p.EndedAt), Resources: p.Resources,
		SHA256: hex.EncodeToString(p.SHA256)}
}
