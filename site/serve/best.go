package serve

import (
	"encoding/json"
	"fmt"
	"time"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// best returns the recommendations for a request, by the rule of package best.
func (h *handler) best(snap *output.Snapshot, q routes.Query, index *routes.Index, built time.Time) (cutResponse,
	error) {
	list, meta, err := search.FindBest(q, search.BestSource{
		Now: built, Slugs: index.Slugs, Column: h.columnReader(snap, index),
		Search: func(text string) (*search.Result, error) { return h.findText(snap, index, text) },
		Row:    func(place int32) (*site.ServiceRow, error) { return h.readRow(snap, index, int(place)) },
	})
	if err != nil {
		return cutResponse{}, err
	}
	b, err := encode.AppendFramed(nil, q.Route.Framing, list, meta)
	if err != nil {
		return cutResponse{}, err
	}
	return cutResponse{data: b}, nil
}

// readColumn returns a column of n services.
func (h *handler) readColumn(snap *output.Snapshot, name string, n int) (*search.Column, error) {
	f, err := readCachedFile(h, snap, routes.ColumnKey(name), "column "+name, func(data []byte) (cachedColumn, error) {
		c, err := search.ParseColumn(name, data, n)
		return cachedColumn{c}, err
	})
	return f.Column, err
}

// readRow returns the row of the service at a place.
func (h *handler) readRow(snap *output.Snapshot, index *routes.Index, place int) (*site.ServiceRow, error) {
	block, err := h.rowBlock(snap, index, place/site.RowsPerBlock)
	if err != nil {
		return nil, err
	}
	row := &site.ServiceRow{}
	if err := json.Unmarshal(block.rows[place%site.RowsPerBlock], row); err != nil {
		return nil, fmt.Errorf("read row of %s: %w: %w", index.Slugs[place], archive.ErrDamaged, err)
	}
	return row, nil
}
