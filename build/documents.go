package build

import (
	"fmt"
	"slices"
	"sync"

	"tollbook/build/data"
	"tollbook/output/archive"
	"tollbook/render"
	"tollbook/render/openapi"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/webbotauth"
)

// exampleRecorder is a tree that copies the files that become examples in the documents.
type exampleRecorder struct {
	tree
	mu       sync.Mutex
	examples openapi.Examples
}

func recordExamples(x openapi.Examples, to tree) *exampleRecorder {
	return &exampleRecorder{tree: to, examples: x}
}

// Add records a file and adds it.
func (w *exampleRecorder) Add(name string, data []byte) error {
	w.record(name, data)
	return w.tree.Add(name, data)
}

// Pack records a file and packs it.
func (w *exampleRecorder) Pack(name string, data []byte) archive.Packed {
	w.record(name, data)
	return w.tree.Pack(name, data)
}

// Reuse implements tree. It records the file if it becomes an example.
func (w *exampleRecorder) Reuse(name string) (archive.Packed, bool) {
	p, ok := w.tree.Reuse(name)
	if !ok || !w.wants(name) {
		return p, ok
	}
	data, err := p.Contents()
	if err != nil {
		return p, false
	}
	w.record(name, data)
	return p, true
}

func (w *exampleRecorder) wants(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.examples.Wants(name)
}

func (w *exampleRecorder) record(name string, data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.examples.Record(name, data)
}

// recordFunc keeps a copy of a file that becomes an example. It does not keep data.
type recordFunc func(name string, data []byte)

// recordedStore is a store of data files that records those that become examples.
type recordedStore struct {
	data.Store
	record recordFunc
}

// Add implements data.Store.
func (s recordedStore) Add(name string, data []byte) error {
	s.record(name, data)
	return s.Store.Add(name, data)
}

// writeDocuments writes the documents that describe the snapshot: the route table, the API with examples, llms.txt,
// robots.txt and sitemaps. It must run after all example files were written.
func writeDocuments(renderer *render.Renderer, seen openapi.Examples, add addFunc) error {
	table, err := encode.JSON(routes.Table())
	if err != nil {
		return err
	}
	if err := add(routes.TableFile, table); err != nil {
		return err
	}
	api, err := renderer.API(seen)
	if err != nil {
		return fmt.Errorf("describe the API: %w", err)
	}
	apiMarkdown, err := api.Markdown()
	if err != nil {
		return err
	}
	llms, err := renderer.LLMs()
	if err != nil {
		return err
	}
	files := []render.Asset{{Key: routes.LLMsFile, Bytes: llms},
		{Key: render.RobotsFile, Bytes: renderer.Robots()}, apiMarkdown}
	if text := renderer.Security(); text != nil {
		files = append(files, render.Asset{Key: render.SecurityFile, Bytes: text})
	}
	if directory := renderer.KeyDirectory(); directory != nil {
		files = append(files, render.Asset{Key: webbotauth.DirectoryFile, Bytes: directory})
	}
	sitemaps, err := renderer.Sitemap()
	if err != nil {
		return err
	}
	for _, document := range []struct {
		key    string
		render func() ([]byte, error)
	}{
		{routes.OpenAPIFile, api.OpenAPI},
		{bare("reference-page", "").Key(), api.Reference},
		{bare("reference-files-page", "").Key(), api.Files},
		{bare("types-page", "").Key(), api.Types},
		{bare("search-page", "").Key(), renderer.SearchPage},
		{bare("submit-page", "").Key(), renderer.SubmitPage},
		{bare("suggest-page", "").Key(), renderer.SuggestPage},
	} {
		data, err := document.render()
		if err != nil {
			return fmt.Errorf("render %s: %w", document.key, err)
		}
		files = append(files, render.Asset{Key: document.key, Bytes: data})
	}
	types, err := api.TypesPages()
	if err != nil {
		return fmt.Errorf("render types: %w", err)
	}
	for _, f := range slices.Concat(files, types, sitemaps) {
		if err := add(f.Key, f.Bytes); err != nil {
			return err
		}
	}
	return nil
}
