package render

import (
	"html/template"
	"slices"
	"strings"

	"tollbook/render/submitform"
	"tollbook/site"
	"tollbook/site/invisible"
)

const (
	kindSubmit  = "submit"
	submitRoute = "submit-page"
)

// scriptPolicy is the ContentSecurityPolicy of pages with a script or a form. The form is sent to this server alone.
const scriptPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'"

// SubmitPage returns submit.html.
func (e *Renderer) SubmitPage() ([]byte, error) {
	categories := append(slices.Clone(e.snapshot.Categories), site.Categories...)
	categories = slices.DeleteFunc(categories, func(c string) bool { return strings.ContainsFunc(c, invisible.Is) })
	slices.Sort(categories)
	part, err := submitform.Render(e.pages.prefix+site.CallByName("submit").Pattern,
		site.SubmitForm{Categories: slices.Compact(categories)})
	if err != nil {
		return nil, err
	}
	return e.render(page{
		Key: bareKey(submitRoute, ""), Kind: kindSubmit, Title: "Submit a service", Policy: scriptPolicy,
		Script:      e.pages.submitScript,
		Description: "Submit a service that charges per request over HTTP 402 for listing in this directory.",
		Body:        struct{ Part template.HTML }{part},
	})
}
