package render

import (
	"encoding/json"
	"strings"

	"tollbook/render/markdown"
	"tollbook/render/source"
	"tollbook/site"
	"tollbook/site/display"
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
		HasMarkdown: true, Body: source.NewList(e.snapshot.Sources),
	})
}

// SourcePage returns sources/<name>.html.
func (e *Renderer) SourcePage(s *site.SourceDetail) ([]byte, error) {
	name := s.Source.Source
	return e.render(page{
		Key: sourceKey(name), Kind: kindSource, JSON: bareKey("source", name), Title: name,
		HasMarkdown: true, Up: breadcrumb{"Sources", bareKey(sourcesRoute, "")},
		Description: name + ": what this public source lists, what it dropped and when, and its newest answers.",
		Body:        source.New(s, e.calendar),
	})
}

// sourcesMarkdown returns the pages of public sources as Markdown.
func (e *Renderer) sourcesMarkdown() []Asset {
	key := bareKey(sourcesRoute, "")
	b := e.startMarkdown("Sources", key)
	markdown.WriteSources(b, e.snapshot.Sources, e.address(bareKey("sources", "")))
	files := []Asset{{markdown.Key(key), b.Bytes()}}
	for i := range e.snapshot.Sources {
		name := e.snapshot.Sources[i].Source.Source
		b := e.startMarkdown(name, sourceKey(name))
		markdown.WriteSource(b, &e.snapshot.Sources[i], e.address(bareKey("source", name)), e.serviceMarkdownAddress)
		files = append(files, Asset{markdown.Key(sourceKey(name)), b.Bytes()})
	}
	return files
}

// changeTitle returns what a record says, in a few words.
func changeTitle(c change) string {
	switch c.Kind {
	case site.SourceListed:
		return "a source lists an endpoint"
	case site.SourceDropped:
		return "a source dropped an endpoint"
	}
	return strings.ToLower(c.Label) + " changed"
}

// sourceLines returns the line of a record of a source that lists a resource or dropped it.
func sourceLines(r *site.ChangeRecord) []changeLine {
	var s site.SourceSummary
	if json.Unmarshal(r.Summary, &s) != nil {
		return nil
	}
	l := changeLine{What: display.Line(s.Endpoint, display.MaxName)}
	name := display.Line(s.Source, display.MaxName)
	if r.Type == site.SourceListed {
		l.New = "listed by " + name
	} else {
		l.Old = "listed by " + name
	}
	return []changeLine{l}
}
