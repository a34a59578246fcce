package build

import (
	"fmt"

	"tollbook/render"
	"tollbook/site"
)

// watch keeps, of the files that are added, those that examples are made of.
func watch(x render.Examples, add func(string, []byte) error) func(string, []byte) error {
	keys := x.Keys()
	return func(name string, data []byte) error {
		if keys[name] {
			x.Bodies[name] = data
		}
		return add(name, data)
	}
}

// writeDocuments writes what describes the snapshot for programs and readers: the route table, the API by the examples
// that were seen, llms.txt, robots.txt and sitemaps. It comes after every file that is an example.
func writeDocuments(edition *render.Edition, seen render.Examples, add func(string, []byte) error) error {
	routes, err := render.JSON(site.Table())
	if err != nil {
		return err
	}
	if err := add(site.RoutesFile, routes); err != nil {
		return err
	}
	api, err := edition.API(seen)
	if err != nil {
		return fmt.Errorf("describe the API: %w", err)
	}
	files := []render.Asset{{Key: render.LLMsFile, Bytes: edition.LLMs()}, {Key: render.RobotsFile, Bytes: edition.Robots()}, api.Twin()}
	if text := edition.Security(); text != nil {
		files = append(files, render.Asset{Key: render.SecurityFile, Bytes: text})
	}
	sitemaps, err := edition.Sitemap()
	if err != nil {
		return err
	}
	for _, document := range []struct {
		key    string
		render func() ([]byte, error)
	}{
		{site.OpenAPIFile, api.OpenAPI},
		{bare("reference-page", "").Key(), api.Reference},
		{bare("submit-page", "").Key(), edition.Submit},
	} {
		data, err := document.render()
		if err != nil {
			return fmt.Errorf("render %s: %w", document.key, err)
		}
		files = append(files, render.Asset{Key: document.key, Bytes: data})
	}
	for _, f := range append(files, sitemaps...) {
		if err := add(f.Key, f.Bytes); err != nil {
			return err
		}
	}
	return nil
}
