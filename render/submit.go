package render

import (
	"html/template"
	"slices"
	"strings"

	"tollbook/render/lists"
	"tollbook/site"
	"tollbook/site/invisible"
)

const (
	kindSubmit   = "submit"
	submitRoute  = "submit-page"
	kindSuggest  = "suggest"
	suggestRoute = "suggest-page"
)

// SubmitPage returns submit.html.
func (e *Renderer) SubmitPage() ([]byte, error) {
	categories := append(slices.Clone(e.snapshot.Categories), site.Categories...)
	categories = slices.DeleteFunc(categories, func(c string) bool { return strings.ContainsFunc(c, invisible.Is) })
	slices.Sort(categories)
	part, err := lists.Submission(e.pages.prefix, slices.Compact(categories))
	if err != nil {
		return nil, err
	}
	return e.render(page{
		Key: bareKey(submitRoute, ""), Kind: kindSubmit, Title: "Submit a service",
		Description: "Submit a service that charges per request over HTTP 402 for listing in this directory.",
		Body:        struct{ Part template.HTML }{part},
	})
}

// SuggestPage returns suggest.html.
func (e *Renderer) SuggestPage() ([]byte, error) {
	return e.render(page{
		Key: bareKey(suggestRoute, ""), Kind: kindSuggest, Title: "Suggest a correction",
		Description: "Suggest a correction, a feature or a service to the operator of this directory.",
	})
}
