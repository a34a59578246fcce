package render

import (
	"html/template"
	"slices"
	"strings"

	"tollbook/render/submitform"
	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/routes"
)

const (
	kindSubmit  = "submit"
	submitRoute = "submit-page"
)

// SubmitPage returns submit.html.
func (e *Renderer) SubmitPage() ([]byte, error) {
	categories := append(slices.Clone(e.snapshot.Categories), site.Categories...)
	categories = slices.DeleteFunc(categories, func(c string) bool { return strings.ContainsFunc(c, invisible.Is) })
	slices.Sort(categories)
	part, err := submitform.Render(e.pages.prefix+routes.CallByName("submit").Pattern,
		site.SubmitForm{Categories: slices.Compact(categories)})
	if err != nil {
		return nil, err
	}
	return e.render(page{
		Key: bareKey(submitRoute, ""), Kind: kindSubmit, Title: "Submit a service",
		Description: "Submit a service that charges per request over HTTP 402 for listing in this directory.",
		Body:        struct{ Part template.HTML }{part},
	})
}
