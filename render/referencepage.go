package render

import (
	"strings"

	"tollbook/render/openapi"
	"tollbook/site"
	"tollbook/site/routes"
)

const (
	referenceRoute = "reference-page"
	typesRoute     = "types-page"

	referenceFilesRoute = "reference-files-page"

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

// referenceBody is the value of the template of the reference page, and of the page of files.
type referenceBody struct {
	openapi.Reference
	OfFiles bool
}

// Reference returns reference.html.
func (a *API) Reference() ([]byte, error) { return a.reference(false) }

// Files returns reference/files.html: the operations on files at paths of their own.
func (a *API) Files() ([]byte, error) { return a.reference(true) }

func (a *API) reference(ofFiles bool) ([]byte, error) {
	data, err := a.PageData()
	if err != nil {
		return nil, err
	}
	body := referenceBody{data, ofFiles}
	body.Groups = nil
	for _, g := range data.Groups {
		if (g.Name == openapi.FilesTag) == ofFiles {
			body.Groups = append(body.Groups, g)
		}
	}
	p := page{
		Key: bareKey(referenceRoute, ""), Kind: kindReference, Title: "API reference", JSON: openAPIKey,
		HasMarkdown: true, Body: body,
		Description: "Every route of the API with parameters, examples and errors: data on services that charge per " +
			"request over HTTP 402, as JSON.",
	}
	if ofFiles {
		p.Key, p.Title, p.HasMarkdown = bareKey(referenceFilesRoute, ""), "API files", false
		p.Description = "Every file of the directory at a path of its own, with an example: tables as CSV, and the " +
			"inputs of the rules by which responses are made."
		p.Up = breadcrumb{"API", bareKey(referenceRoute, "")}
	}
	return a.renderer.render(p)
}

// typesBody is the value of the template of the pages of types: all parts by name, or one with its fields.
type typesBody struct {
	Parts []openapi.TypesPart // on the page of all
	Part  *openapi.TypesPart  // nil on the page of all
}

// Types returns reference/types.html: all types by name.
func (a *API) Types() ([]byte, error) {
	return a.renderer.render(page{
		Key: bareKey(typesRoute, ""), Kind: kindTypes, Title: "API types", JSON: openAPIKey,
		Description: "Every type of the API's responses by name.",
		Up:          breadcrumb{"API", bareKey(referenceRoute, "")}, Body: typesBody{Parts: a.Document.Types()},
	})
}

// TypesPages returns the pages of the parts of the types.
func (a *API) TypesPages() ([]Asset, error) {
	var pages []Asset
	for _, part := range a.Document.Types() {
		key := typesKey(part.Name)
		data, err := a.renderer.render(page{
			Key: key, Kind: kindTypes, Title: "API types: " + strings.ToLower(part.Tag), JSON: openAPIKey,
			Description: "The types of the API's responses with their fields and what they mean: " +
				strings.ToLower(part.Tag) + ".",
			Up: breadcrumb{"API types", bareKey(typesRoute, "")}, Body: typesBody{Part: &part},
		})
		if err != nil {
			return nil, err
		}
		pages = append(pages, Asset{Key: key, Bytes: data})
	}
	return pages, nil
}

// typesKey returns the key of the page of a part of the types.
func typesKey(part string) string { return bareKey("types-"+part+"-page", "") }
