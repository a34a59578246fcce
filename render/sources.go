package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"tollbook/render/markdown"
	"tollbook/render/overlap"
	"tollbook/site"
	"tollbook/site/display"
)

const (
	kindSources  = "sources"
	sourcesRoute = "sources-page"
)

type sourcesBody struct {
	Sources []site.Source
	Overlap overlap.Table
}

// SourcesPage returns sources.html: the public sources that are read, and what they have in common.
func (e *Renderer) SourcesPage() ([]byte, error) {
	list := e.snapshot.Sources
	return e.render(page{
		Key: bareKey(sourcesRoute, ""), Kind: kindSources, JSON: bareKey("sources", ""), Title: "Sources",
		Description: "Which public directories and catalogues list the services of this directory, when they were " +
			"read last, and how much they have in common.",
		HasMarkdown: true, Body: sourcesBody{list, overlap.New(list)},
	})
}

// sourcesMarkdown returns the public sources as Markdown.
func (e *Renderer) sourcesMarkdown() Asset {
	key := bareKey(sourcesRoute, "")
	b := e.startMarkdown("Sources", key)
	fmt.Fprintf(b, "\nPublic directories and catalogues that are read. This page as JSON: %s\n\n"+
		"| Source | Resources | Only here | Services | Last read | Held back |\n|---|---|---|---|---|---|\n",
		e.address(bareKey("sources", "")))
	for _, s := range e.snapshot.Sources {
		held := "no"
		if s.HeldBack != nil {
			held = "yes"
		}
		fmt.Fprintf(b, "| %s | %d | %d | %d | %s | %s |\n", display.Markdown(s.Source, display.MaxLine),
			s.ResourceCount, s.UniqueCount, s.ServiceCount, markdown.OrUnknown(markdown.ISO(s.LastSuccessAt)), held)
	}
	return Asset{markdown.Key(key), b.Bytes()}
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
