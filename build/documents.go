package build

import (
	"bytes"
	"fmt"
	"sync"

	"tollbook/output/archive"
	"tollbook/render"
	"tollbook/render/openapi"
	"tollbook/site"
)

// watched keeps, of the files that go into a tree, those that examples are made of.
type watched struct {
	tree
	keys map[string]bool
	mu   sync.Mutex
	x    openapi.Examples
}

func watch(x openapi.Examples, to tree) *watched { return &watched{tree: to, keys: x.Keys(), x: x} }

// Add adds a file.
func (w *watched) Add(name string, data []byte) error {
	w.see(name, data)
	return w.tree.Add(name, data)
}

// Pack packs a file.
func (w *watched) Pack(name string, data []byte) archive.Packed {
	w.see(name, data)
	return w.tree.Pack(name, data)
}

// Reuse answers a file of the snapshot before.
func (w *watched) Reuse(name string) (archive.Packed, bool) {
	p, ok := w.tree.Reuse(name)
	if !ok || !w.keys[name] {
		return p, ok
	}
	data, err := p.Contents()
	if err != nil {
		return p, false
	}
	w.see(name, data)
	return p, true
}

func (w *watched) see(name string, data []byte) {
	if w.keys[name] {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.x.Bodies[name] = bytes.Clone(data)
	}
}

// writeDocuments writes what describes the snapshot for programs and readers: the route table, the API by the examples
// that were seen, llms.txt, robots.txt and sitemaps. It comes after every file that is an example.
func writeDocuments(edition *render.Edition, seen openapi.Examples, add func(string, []byte) error) error {
	routes, err := site.JSON(site.Table())
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
	apiMarkdown, err := api.Markdown()
	if err != nil {
		return err
	}
	files := []render.Asset{{Key: site.LLMsFile, Bytes: edition.LLMs()}, {Key: render.RobotsFile, Bytes: edition.Robots()}, apiMarkdown}
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
