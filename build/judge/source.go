package judge

import (
	"tollbook/site"
	"tollbook/site/postgres/sources"
)

// newListedBy returns who lists a service.
func newListedBy(list []sources.Listing) []site.ListedBy {
	out := make([]site.ListedBy, 0, len(list))
	for _, l := range list {
		if site.ValidSlug(l.Source) { // else the row is damaged
			out = append(out, site.ListedBy{Source: l.Source, Since: site.NewTime(l.Since), Until: timeOrNull(l.Until),
				ResourceCount: l.Resources})
		}
	}
	return out
}
