package render

import (
	"strings"

	"tollbook/render/dataset"
	"tollbook/render/markdown"
	"tollbook/site"
)

const (
	kindData  = "data"
	dataRoute = "data-page"
)

// dataset returns the tables of the directory.
func (e *Renderer) dataset() *site.Dataset {
	if e.snapshot.Dataset == nil {
		return &site.Dataset{}
	}
	return e.snapshot.Dataset
}

// DataPage returns data.html: the tables of the directory as files, and what they answer.
func (e *Renderer) DataPage() ([]byte, error) {
	base := strings.TrimSuffix(e.address(""), "/")
	return e.render(page{
		Key: bareKey(dataRoute, ""), Kind: kindData, JSON: bareKey("data", ""), Title: "Data", HasMarkdown: true,
		Description: "All tables of this directory as Parquet, SQLite and CSV, with ten questions that they answer.",
		Body:        dataset.New(e.dataset(), e.pages.href(bareKey("data", "")), base),
	})
}

// dataMarkdown returns the page about the tables as Markdown.
func (e *Renderer) dataMarkdown() Asset {
	key := bareKey(dataRoute, "")
	b := e.startMarkdown("Data", key)
	markdown.WriteDataset(b, e.dataset(), e.address)
	return Asset{markdown.Key(key), b.Bytes()}
}
