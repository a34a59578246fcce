package crawl

import (
	"net/url"
	"slices"
	"strings"

	"tollbook/crawl/facts"
	"tollbook/crawl/source"
	"tollbook/site/postgres"
)

// returnMoved returns the resources with those at hosts that services moved to at the old hosts, which are listed.
// Resources of a host that opted out stay as they are, and are not listed.
func returnMoved(items []facts.Item, listed postgres.Listed) []facts.Item {
	if len(listed.Moved) == 0 {
		return items
	}
	items = slices.Clone(items)
	for i := range items {
		u, err := url.Parse(items[i].URL)
		if err != nil {
			continue
		}
		host := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(u.Host), ":443"), ":80")
		_, optedOut := listed.OptOuts.Find(host)
		if old := listed.Moved[source.CanonicalHost(host)]; old != "" && !optedOut {
			items[i].URL = strings.Replace(items[i].URL, "//"+u.Host, "//"+old, 1)
		}
	}
	return items
}
