package render

import (
	"tollbook/render/lists"
	"tollbook/site"
)

const (
	kindSources  = "sources"
	kindSource   = "source"
	sourcesRoute = "sources-page"
)

func sourceKey(name string) string { return bareKey("source-page", name) }

// SourcesPage returns sources.html: the public sources that are read, and what they have in common.
func (e *Renderer) SourcesPage() ([]byte, error) {
	return e.render(page{
		Key: bareKey(sourcesRoute, ""), Kind: kindSources, JSON: bareKey("sources", ""), Title: "Sources",
		Description: "Which public directories and catalogues list the services of this directory, when they were " +
			"read last, and how much they have in common.",
		HasMarkdown: true, Body: lists.NewSourceList(e.snapshot.Sources),
	})
}

// SourcePage returns sources/<name>.html.
func (e *Renderer) SourcePage(s *site.SourceDetail) ([]byte, error) {
	name := s.Source.Source
	return e.render(page{
		Key: sourceKey(name), Kind: kindSource, JSON: bareKey("source", name), Title: name,
		HasMarkdown: true, Up: breadcrumb{"Sources", bareKey(sourcesRoute, "")},
		Description: name + ": what this public source lists, what it dropped and when, and its newest answers.",
		Body:        lists.NewSourcePage(s, e.calendar),
	})
}
