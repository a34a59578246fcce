package judge

import (
	"slices"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/hint"
	"tollbook/site/postgres"
	"tollbook/site/postgres/sources"
)

// catalogueAge is how long the last reading of a source says what it lists.
const catalogueAge = 72 * time.Hour

// newCatalogues returns which endpoints of a service each public source lists, by name: the sources that are read, and
// of the others those with documented rules of their own that an endpoint breaks. list is what is known of endpoints.
func newCatalogues(public *sources.Facts, f *postgres.ServiceFacts, list []hint.Facts,
	now time.Time) []site.CatalogueListing {
	out := []site.CatalogueListing{}
	read := map[string]*sources.State{}
	names := hint.OwnRules()
	for i := range public.Sources {
		if s := &public.Sources[i]; site.ValidSlug(s.Name) {
			read[s.Name] = s
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		c := newCatalogueListing(name, read[name], public.ListedBy[f.ID], list, now)
		if read[name] != nil || c.MissingCount > 0 {
			out = append(out, c)
		}
	}
	return out
}

// newCatalogueListing returns what a source lists of a service. s is nil for a source that is not read.
func newCatalogueListing(name string, s *sources.State, listed []sources.Listing, list []hint.Facts,
	now time.Time) site.CatalogueListing {
	c := site.CatalogueListing{Source: name, Missing: []site.CatalogueMissing{}}
	if how := hint.HowListed(name); how != "" {
		c.How = &how
	}
	isKnown := false // what the source does not list is known
	if s != nil && s.SucceededAt != nil {
		c.ReadAt = site.TimeOrNull(*s.SucceededAt)
		if now.Sub(*s.SucceededAt) < catalogueAge {
			isKnown = s.Accepted != nil && !s.Accepted.Partial
			c.Listed = new(false)
		}
	}
	var paths []string
	complete := true
	for _, l := range listed {
		if l.Source == name && l.Until == nil && c.Listed != nil {
			c.Listed, paths, complete = new(true), l.Paths, len(l.Paths) < sources.MaxPaths
		}
	}
	if c.Listed != nil && !*c.Listed && !isKnown {
		c.Listed = nil
	}
	for i := range list {
		x := &list[i]
		if slices.Contains(paths, resourcePath(x.Endpoint)) {
			continue
		}
		rules := hint.BrokenRules(name, x)
		if len(rules) == 0 && !(isKnown && complete && x.Header != nil) {
			continue
		}
		if c.MissingCount++; len(c.Missing) < site.MissingEndpoints {
			c.Missing = append(c.Missing, site.CatalogueMissing{Endpoint: x.Endpoint, Rules: rules})
		}
	}
	return c
}

// resourcePath returns the path of an endpoint as sources name it: without its query, with its tool.
func resourcePath(endpoint string) string {
	_, path, _ := strings.Cut(endpoint, " ")
	path, tool, isTool := strings.Cut(path, "#")
	path, _, _ = strings.Cut(path, "?")
	path = strings.TrimRight(path, "/")
	if isTool {
		path += "#" + tool
	}
	return path
}
