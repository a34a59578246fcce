package serve

import (
	"bytes"
	"encoding/json"
	"fmt"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// catalogue returns a page of the rows of the catalogue that pass q's filters.
func (h *handler) catalogue(snap *output.Snapshot, q routes.Query, index *routes.Index) (cutResponse, error) {
	places, err := h.cataloguePlaces(snap, q, index)
	if err != nil {
		return cutResponse{}, err
	}
	offset, limit := q.Window()
	from := min(offset, len(places))
	rows, err := h.catalogueRows(snap, q.Unfiltered(), places[from:min(from+limit, len(places))])
	if err != nil {
		return cutResponse{}, err
	}
	return newPage(q.Route.Framing, rows, routes.WindowMeta(q, len(places)), len(places))
}

// withUnapplied returns a page of the catalogue that names the parameters that were not applied.
func (b *body) withUnapplied(names []string) (*body, error) {
	read := b.gunzip
	if b.member != nil {
		read = b.member.Read
	}
	data, err := read()
	if err != nil {
		return nil, err
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	page := append([]byte{}, bytes.TrimSuffix(data, []byte("}\n"))...)
	return newCutBody(append(append(append(page, `,"unappliedFilters":`...), list...), "}\n"...))
}

// cataloguePlaces returns the places of the rows that pass q's filters, in the list of q's type.
func (h *handler) cataloguePlaces(snap *output.Snapshot, q routes.Query, index *routes.Index) ([]int32, error) {
	from, to, total := index.CatalogueSpan(q.Text("type"))
	if from == to {
		return nil, nil
	}
	all, err := search.Select(q, total, h.catalogueReader(snap, total))
	if err != nil {
		return nil, err
	}
	var places []int32
	for _, place := range all {
		if at := int(place); at >= from && at < to {
			places = append(places, place-int32(from))
		}
	}
	return places, nil
}

// catalogueReader returns a reader of the columns of a catalogue of n rows.
func (h *handler) catalogueReader(snap *output.Snapshot, n int) search.ColumnReader {
	return func(name string) (*search.Column, error) {
		key := routes.CatalogueColumnKey(name)
		c, err := readCachedFile(h, snap, key, "column", func(data []byte) (cachedColumn, error) {
			c, err := search.ParseColumnAs(site.ColumnSet, name, data, n)
			return cachedColumn{c}, err
		})
		return c.Column, err
	}
}

// cachedColumn is a column in the cache.
type cachedColumn struct{ *search.Column }

func (c cachedColumn) size() int { return c.Size() }

// catalogueRows returns the rows of the list of all at some places.
func (h *handler) catalogueRows(snap *output.Snapshot, all routes.Query, places []int32) ([][]byte, error) {
	rows := make([][]byte, len(places))
	for i, place := range places {
		file, at := int(place)/site.MaxPageSize, int(place)%site.MaxPageSize
		key := all.WindowFile(file).Key()
		of, err := h.windowFile(snap, all.Route.Framing, key)
		if err != nil {
			return nil, err
		}
		if at >= len(of.rows) {
			return nil, fmt.Errorf("file %s: %w: it has %d rows; according to the columns it must have %d",
				key, archive.ErrDamaged, len(of.rows), at+1)
		}
		rows[i] = of.rows[at]
	}
	return rows, nil
}
