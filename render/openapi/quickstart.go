package openapi

import (
	"net/url"
	"strings"

	"tollbook/render/guide"
	"tollbook/site/display"
)

// quickstart returns the three calls with which most readers begin. An empty directory has no service to ask about.
func (a *Document) quickstart() []quickCall {
	call := func(id, title, about, target string) quickCall {
		address := display.EndpointURL(a.directory.BaseURL, target)
		return quickCall{id, title, about, guide.GetSamples(address)}
	}
	words := a.examples.text("q")
	if words == "" {
		words = "weather"
	}
	calls := []quickCall{call("find", "Find services",
		"Services that do what a text says, with their endpoints, prices and advice.",
		"/v1/search?q="+url.QueryEscape(words)+"&status=online")}
	if slug := a.examples.Segments["slug"]; slug != "" {
		calls = append(calls, call("pay", "Ask whether one may be paid",
			"data.assessment.advice has the level and its reasons; data.endpoints has prices and recipients.",
			"/v1/services/"+slug))
	}
	return append(calls, call("watch", "See what changed", "New prices, recipients and grades, newest first.",
		"/v1/changes?days=7"))
}

// TypesData returns the value of the template of the page of types.
func (a *Document) TypesData() []referenceType { return a.types() }

// Span is a run of text, as code or not.
type Span struct {
	Text string
	Code bool
}

// Spans splits text at its backticks.
func Spans(s string) []Span {
	var out []Span
	for i, text := range strings.Split(s, "`") {
		if text != "" {
			out = append(out, Span{text, i%2 == 1})
		}
	}
	return out
}
