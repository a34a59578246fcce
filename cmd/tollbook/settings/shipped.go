package settings

import (
	"tollbook/crawl/pull"
	"tollbook/crawl/source"
)

// shippedSources returns the sources that come with Tollbook. None is read until an operator enables it.
func shippedSources() []pull.Source {
	var list []pull.Source
	for _, p := range source.PublicSources() {
		s := newSource(p.Name, p.Kind, p.Address)
		s.Period = p.Period
		list = append(list, s)
	}
	return list
}
