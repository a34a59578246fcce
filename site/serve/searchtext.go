package serve

import (
	"fmt"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// searchText returns a page of the services whose text matches a query.
func (h *handler) searchText(snap *output.Snapshot, index *routes.Index, q routes.Query) (cutResponse, error) {
	rows, meta, err := search.ResultsPage(q, len(index.Slugs), searchSource{termFiles{h, snap, index}})
	if err != nil {
		return cutResponse{}, err
	}
	return newPage(q.Route.Framing, rows, meta, meta.Total)
}

// findText returns what a text matches in the terms of the snapshot.
func (h *handler) findText(snap *output.Snapshot, index *routes.Index, text string) (*search.Result, error) {
	files := termFiles{h, snap, index}
	terms, err := files.Index()
	if err != nil {
		return nil, err
	}
	return search.Find(terms, text, files)
}

// searchSource reads the files of a snapshot for a search.
type searchSource struct{ termFiles }

// Column implements search.resultsSource.
func (s searchSource) Column(name string) (*search.Column, error) {
	return s.handler.columnReader(s.snap, s.index)(name)
}

// Rows implements search.resultsSource.
func (s searchSource) Rows(places []int32) ([]site.RowParts, error) {
	return s.handler.serviceRows(s.snap, s.index, places)
}

// termFiles reads the files of terms of a snapshot.
type termFiles struct {
	handler *handler
	snap    *output.Snapshot
	index   *routes.Index
}

// Index implements search.resultsSource.
func (f termFiles) Index() (*site.TermIndex, error) {
	terms, err := readJSON[site.One[site.TermIndex]](f.handler, f.snap, site.TermsFile)
	if err != nil {
		return nil, err
	}
	if n := terms.Data.Services; n != len(f.index.Slugs) {
		return nil, fmt.Errorf("file %s: %w: it has %d services; according to %s it must have %d", site.TermsFile,
			archive.ErrDamaged, n, routes.IndexFile, len(f.index.Slugs))
	}
	return &terms.Data, nil
}

// Shard implements search.Source.
func (f termFiles) Shard(name string) (*search.Shard, error) {
	terms, err := f.Index()
	if err != nil {
		return nil, err
	}
	s, err := readCachedFile(f.handler, f.snap, routes.TermShardKey(name), "terms",
		func(data []byte) (termFile, error) {
			lines, _, err := encode.Framing{}.Split(data)
			if err != nil {
				return termFile{}, err
			}
			if n := terms.Shards[name]; len(lines) != n {
				return termFile{}, fmt.Errorf("it has %d terms; according to %s it must have %d", len(lines),
					site.TermsFile, n)
			}
			s, err := search.ParseShard(lines, terms.Services)
			return termFile{s}, err
		})
	return s.Shard, err
}

// Vocabulary implements search.Source.
func (f termFiles) Vocabulary() (*site.Vocabulary, error) {
	v, err := readJSON[site.One[site.Vocabulary]](f.handler, f.snap, site.VocabularyFile)
	if err != nil {
		return nil, err
	}
	return &v.Data, nil
}

// termFile is a file of terms in the cache.
type termFile struct{ *search.Shard }

func (f termFile) size() int { return f.Size() }
