package render

import (
	"tollbook/render/openapi"
	"tollbook/site"
	"tollbook/site/routes"
)

const (
	referenceRoute = "reference-page"
	typesRoute     = "types-page"

	// openAPIKey is the key of the same description for programs.
	openAPIKey = routes.OpenAPIFile
)

// API is the description of the API, as an OpenAPI document and as pages.
type API struct {
	*openapi.Document
	renderer *Renderer
}

// API returns the description of the API with examples of the snapshot.
func (e *Renderer) API(x openapi.Examples) (*API, error) {
	s := &e.pages.site
	d, err := openapi.New(openapi.Directory{Title: s.Title, BaseURL: s.BaseURL, Contact: s.Contact, Sample: s.Sample},
		x)
	return &API{d, e}, err
}

// Examples chooses the services of examples. endpoints returns the endpoints of the service at an index of the
// snapshot, which may not contain them yet.
func (e *Renderer) Examples(endpoints func(place int) []site.Endpoint) openapi.Examples {
	return openapi.ChooseExamples(e.snapshot, endpoints)
}

// Reference returns reference.html.
func (a *API) Reference() ([]byte, error) {
	body, err := a.PageData()
	if err != nil {
		return nil, err
	}
	return a.renderer.render(page{
		Key: bareKey(referenceRoute, ""), Kind: kindReference, Title: "API " +
			"reference", JSON: openAPIKey, HasMarkdown: true,
		Description: "Every route of the API with parameters, examples and errors: data on services that charge per " +
			"request over HTTP 402, as JSON.",
		Body: body,
	})
}

// Types returns reference/types.html: the types of responses.
func (a *API) Types() ([]byte, error) {
	return a.renderer.render(page{
		Key: bareKey(typesRoute, ""), Kind: kindTypes, Title: "API types", JSON: openAPIKey,
		Description: "Every type of the API's responses with its fields and what they mean.",
		Up:          breadcrumb{"API", bareKey(referenceRoute, "")}, Body: a.TypesData(),
	})
}
