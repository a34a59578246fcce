package serve

import (
	"bytes"
	"fmt"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// scan returns a page of the services that columns select and order.
func (h *handler) scan(snap *output.Snapshot, index *routes.Index, q routes.Query) (cutResponse, error) {
	read := h.columnReader(snap, index)
	places, err := search.Select(q, len(index.Slugs), read)
	if err != nil {
		return cutResponse{}, err
	}
	if err := search.Sort(places, site.OrderByName(q.Text("sort")), q, read); err != nil {
		return cutResponse{}, err
	}
	offset, limit := q.Window()
	from, to := min(offset, len(places)), min(offset+limit, len(places))
	rows, err := h.serviceRows(snap, index, places[from:to])
	if err != nil {
		return cutResponse{}, err
	}
	lines := make([][]byte, len(rows))
	for i, row := range rows {
		lines[i] = row.Line(q.Has("include", site.IncludeAssessment))
	}
	return newPage(q.Route.Framing, lines, routes.WindowMeta(q, len(places)), len(places))
}

// columnReader returns the Reader of a snapshot. A missing column is an error, and so is one of another length.
func (h *handler) columnReader(snap *output.Snapshot, index *routes.Index) search.ColumnReader {
	n := len(index.Slugs)
	return func(name string) (*search.Column, error) {
		c, err := h.readColumn(snap, name, n)
		if err == nil && c.Len() != n {
			err = fmt.Errorf("file %s: %w: it has %d values; according to %s it must have %d",
				routes.ColumnKey(name), archive.ErrDamaged, c.Len(), routes.IndexFile, n)
		}
		return c, err
	}
}

// serviceRows returns the rows of the services at some places.
func (h *handler) serviceRows(snap *output.Snapshot, index *routes.Index, places []int32) ([]site.RowParts, error) {
	rows := make([]site.RowParts, len(places))
	for i, place := range places {
		number := int(place) / site.RowsPerBlock
		block, err := h.rowBlock(snap, index, number)
		if err != nil {
			return nil, err
		}
		var ok bool
		if rows[i], ok = site.SplitRow(block.rows[int(place)%site.RowsPerBlock]); !ok {
			return nil, fmt.Errorf("file %s: %w: no row of %s", routes.RowsKey(number), archive.ErrDamaged,
				index.Slugs[place])
		}
	}
	return rows, nil
}

// rowBlock reads a block of rows, which must be those of the slugs at its places.
func (h *handler) rowBlock(snap *output.Snapshot, index *routes.Index, number int) (*fileRows, error) {
	key := routes.RowsKey(number)
	block, err := readCachedFile(h, snap, key, "rows", func(data []byte) (*fileRows, error) {
		rows, _, err := encode.Framing{}.Split(data)
		return &fileRows{rows: rows, bytes: len(data)}, err
	})
	if err != nil {
		return nil, err
	}
	slugs := index.Slugs[number*site.RowsPerBlock:]
	slugs = slugs[:min(len(slugs), site.RowsPerBlock)]
	if len(block.rows) != len(slugs) {
		return nil, fmt.Errorf("file %s: %w: it has %d rows; according to %s it must have %d", key, archive.ErrDamaged,
			len(block.rows), routes.IndexFile, len(slugs))
	}
	for i, row := range block.rows {
		if !bytes.HasPrefix(row, []byte(`{"slug":"`+slugs[i]+`"`)) {
			return nil, fmt.Errorf("file %s: %w: row %d is not that of %s", key, archive.ErrDamaged, i, slugs[i])
		}
	}
	return block, nil
}
