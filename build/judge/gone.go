package judge

import (
	"cmp"
	"slices"
	"time"

	"tollbook/site"
	"tollbook/site/postgres/checks"
)

// goneSince returns since when a service with these runs of failed checks, oldest first, is gone, nil if it is not. It
// is gone once all checks failed on the UTC days of site.GoneAfter, and until one succeeds. A day on which no check
// counted is not one of these days: nobody knows what the service did.
func goneSince(runs []checks.FailureRun) *site.Time {
	if len(runs) == 0 {
		return nil
	}
	last := &runs[len(runs)-1]
	if last.EndedAt != nil || time.Duration(last.FailedDays)*24*time.Hour < site.GoneAfter {
		return nil
	}
	return site.TimeOrNull(last.BeganAt)
}

// findLive returns, by the place of each service that is gone, the services that are online or degraded and name now an
// account that it named last: by name, at most site.MaxSharedWith. The rows of all services and claims are in the same
// order.
func findLive(services []site.Listing, claims [][]claim) map[int][]site.SharedWithItem {
	gone := map[recipient][]int{} // places, by account
	for i := range services {
		if services[i].Item.GoneSince == nil {
			continue
		}
		for _, c := range claims[i] {
			if c.newest && hasValue(c.network) && !isOwnerless(c.recipient) {
				gone[accountOf(c.recipient)] = append(gone[accountOf(c.recipient)], i)
			}
		}
	}
	live := map[int][]site.SharedWithItem{}
	for i := range services {
		item := &services[i].Item
		if len(gone) == 0 || item.Status != site.StatusOnline && item.Status != site.StatusDegraded {
			continue
		}
		for _, c := range claims[i] {
			if !c.until.IsZero() {
				continue
			}
			for _, at := range gone[accountOf(c.recipient)] {
				live[at] = append(live[at], site.SharedWithItem{Name: item.Name, Slug: item.Slug})
			}
		}
	}
	for at, list := range live {
		slices.SortFunc(list, func(a, b site.SharedWithItem) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Slug, b.Slug))
		})
		list = slices.Compact(list)
		live[at] = list[:min(len(list), site.MaxSharedWith)]
	}
	return live
}
