package render

import (
	"strings"

	"tollbook/site/routes"
)

// Keys of files for programs that have no route.
const (
	RobotsFile  = "robots.txt"
	SitemapFile = "sitemap.xml"
)

// Robots returns robots.txt, which names the sitemap and allows all pages, but no searches: each links to many others.
func (e *Renderer) Robots() []byte {
	return []byte("# Everything but searches may be crawled. For a description and the JSON API see " +
		e.address(routes.LLMsFile) + "\n" +
		"User-agent: *\nAllow: /\nDisallow: /search?\nDisallow: /search.html?\n\n" +
		"Sitemap: " + e.address(SitemapFile) + "\n")
}

// Sitemap returns sitemap.xml and the files that it refers to.
func (e *Renderer) Sitemap() ([]Asset, error) {
	return writeSitemap(SitemapFile, e.sitemapPages(), e.address)
}

// sitemapPages returns the pages of routes without parameters, then those of lists, groups, facilitators and services.
func (e *Renderer) sitemapPages() []sitemapPage {
	now := e.snapshot.Now.String()
	var pages []sitemapPage
	put := func(key, at string) { pages = append(pages, sitemapPage{Loc: e.address(key), LastMod: at}) }
	for i := range routes.All {
		if r := &routes.All[i]; r.Ext == ".html" && !strings.Contains(r.Pattern, "{") {
			put(bareKey(r.Name, ""), now)
		}
	}
	for _, t := range e.pages.operatorPages {
		put(t.Key, now)
	}
	listed := e.snapshot.ListedItems()
	for n := 2; (n-1)*PageRows < len(listed); n++ {
		put(listKey(n), now)
	}
	for _, g := range e.Groups() {
		for n := 1; n <= g.Pages(); n++ {
			put(g.Key(n), now)
		}
	}
	for i := range e.snapshot.Facilitators {
		put(facilitatorKey(e.snapshot.Facilitators[i].FacilitatorID), now)
	}
	for i := range e.snapshot.Sources {
		put(sourceKey(e.snapshot.Sources[i].Source.Source), now)
	}
	for _, item := range listed {
		at := item.CreatedAt
		if item.LastCheckedAt != nil && item.LastCheckedAt.After(at.Time) {
			at = *item.LastCheckedAt
		}
		put(serviceKey(item.Slug), at.String())
	}
	return pages
}
