package serve

import (
	"fmt"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/columns"
	"tollbook/site/encode"
	"tollbook/site/search/results"
)

// searchText returns a page of the services whose text matches a query.
func (h *handler) searchText(snap *output.Snapshot, index *site.Index, q site.Query) (*body, error) {
	rows, meta, err := results.Page(q, len(index.Slugs), searchSource{termFiles{h, snap, len(index.Slugs)}})
	if err != nil {
		return nil, err
	}
	return newPage(q.Route.Framing, rows, meta, meta.Total)
}

// searchSource reads the files of a snapshot for a search.
type searchSource struct{ termFiles }

// Index implements results.Source.
func (s searchSource) Index() (*site.TermIndex, error) {
	index, err := readJSON[site.One[site.TermIndex]](s.handler, s.snap, site.TermsFile)
	if err != nil {
		return nil, err
	}
	if n := index.Data.Services; n != s.services {
		return nil, fmt.Errorf("file %s: %w: it has %d services; according to %s it must have %d", site.TermsFile,
			archive.ErrDamaged, n, site.IndexFile, s.services)
	}
	return &index.Data, nil
}

// Column implements results.Source.
func (s searchSource) Column(name string) (*columns.Column, error) {
	return s.handler.readColumn(s.snap, name, s.services)
}

// Rows implements results.Source.
func (s searchSource) Rows(places []int32) ([]site.RowParts, error) {
	rows := make([]site.RowParts, len(places))
	for i, place := range places {
		key, at := site.RowsKey(int(place)/site.RowsPerBlock), int(place)%site.RowsPerBlock
		block, err := readCachedFile(s.handler, s.snap, key, "rows", func(data []byte) (*fileRows, error) {
			rows, _, err := encode.Framing{}.Split(data)
			return &fileRows{rows: rows, bytes: len(data)}, err
		})
		if err != nil {
			return nil, err
		}
		ok := at < len(block.rows)
		if ok {
			rows[i], ok = site.SplitRow(block.rows[at])
		}
		if !ok {
			return nil, fmt.Errorf("file %s: %w: no row %d", key, archive.ErrDamaged, at)
		}
	}
	return rows, nil
}
