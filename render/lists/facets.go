package lists

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/routes"
)

// NewFacets returns facets from the number of services by filter and value, the largest first. A value that applies is
// always there.
func NewFacets(s *Settings, values url.Values, all map[string]map[string]int) []Facet {
	return newFacets(s, values, nil, all)
}

func newFacets(s *Settings, values url.Values, read reading, all map[string]map[string]int) []Facet {
	effective := read.effective(values)
	var facets []Facet
	for i := range routes.Filters {
		of := &routes.Filters[i]
		if of.Words.Facet == "" {
			continue
		}
		counts := all[of.Name]
		chosen := effective.Get(of.Name)
		f := NewFacet(of.Name)
		var names []string
		for name := range counts {
			names = append(names, name)
		}
		if _, ok := counts[chosen]; chosen != "" && !ok {
			names = append(names, chosen)
		}
		slices.SortFunc(names, func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
		for _, name := range names {
			l := Link{Label: s.valueText(of.Name, name), Current: name == chosen,
				Href: with(s.Search, values, of.Name, name)}
			if l.Current {
				l.Href = read.without(s, values, of.Name)
			}
			f.Choices = append(f.Choices, Choice{Count: counts[name], Link: l})
		}
		if len(f.Choices) > 0 {
			facets = append(facets, f)
		}
	}
	return facets
}

// NewFacet returns the facet of a filter, without choices.
func NewFacet(filter string) Facet {
	return Facet{Name: filter, Label: filterByName(filter).Words.Facet}
}

// ServiceURL returns the URL of a service's page.
func (s *Settings) ServiceURL(slug string) string { return strings.Replace(s.Service, "_", slug, 1) }

// NetworkNames returns the names of networks, separated by commas.
func (s *Settings) NetworkNames(codes []string) string {
	var names []string
	for _, code := range codes {
		names = append(names, s.valueText("network", code))
	}
	return strings.Join(names, ", ")
}

// Chips returns networks as chips.
func (s *Settings) Chips(codes []string) []chip {
	chips := make([]chip, len(codes))
	for i, code := range codes {
		n := s.Networks[code]
		chips[i] = chip{Label: cmp.Or(n.Name, display.Line(code, display.MaxCode)), Href: n.Href,
			Title: display.Line(code, display.MaxCode)}
	}
	return chips
}

// chip is the name of a network, with its abbreviation as title.
type chip struct{ Label, Title, Href string }

// valueText returns a value of a filter as a reader sees it.
func (s *Settings) valueText(name, value string) string {
	if name == "network" {
		if n, ok := s.Networks[value]; ok {
			return n.Name
		}
	}
	if name == "verdict" && slices.Contains(site.AdviceLevels, value) {
		return display.AdviceLevel(value)
	}
	return display.Line(value, display.MaxCode)
}

// Counts returns the number of services by filter and value.
func Counts(services []*site.ServiceListItem) map[string]map[string]int {
	counts := map[string]map[string]int{"category": {}, "network": {}, "status": {}, "verdict": {}}
	for _, item := range services {
		counts["category"][item.Category]++
		counts["status"][display.Status(item.Status)]++
		counts["verdict"][item.AdviceLevel]++
		for _, code := range item.Networks {
			counts["network"][code]++
		}
	}
	return counts
}

// StatusFacet returns the statuses of all services, each with its search.
func StatusFacet(search string, st *site.StatusSummary) Facet {
	f := NewFacet("status")
	for _, s := range []struct {
		name  string
		count int
	}{{site.StatusOnline, st.Online}, {site.StatusDegraded, st.Degraded}, {site.StatusOffline, st.Offline},
		{site.StatusUnknown, st.Unknown}} {
		if s.count > 0 {
			f.Choices = append(f.Choices, Choice{Count: s.count,
				Link: Link{Label: s.name, Href: SearchURL(search, url.Values{"status": {s.name}})}})
		}
	}
	return f
}

// VerdictFacet returns the verdicts of services, the best first, each with its search.
func VerdictFacet(search string, services []*site.ServiceListItem) Facet {
	f, counts := NewFacet("verdict"), Counts(services)["verdict"]
	for _, level := range site.AdviceLevels {
		if counts[level] > 0 {
			f.Choices = append(f.Choices, Choice{Count: counts[level], Link: Link{Label: display.AdviceLevel(level),
				Href: SearchURL(search, url.Values{"verdict": {level}})}})
		}
	}
	return f
}
