package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

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

// catalogueSearch returns a page of the rows of the catalogue that pass q's filters, of services that match its text.
func (h *handler) catalogueSearch(snap *output.Snapshot, q routes.Query, index *routes.Index) (cutResponse, error) {
	s := &catalogueRanking{handler: h, snap: snap, index: index,
		all: routes.Query{Route: routes.ByName("discovery")}.With("type", q.Text("type"))}
	places, err := h.cataloguePlaces(snap, q, index)
	if err != nil {
		return cutResponse{}, err
	}
	groups := [][]int32{places}
	if from, to, total := index.CatalogueSpan(q.Text("type")); q.Text("query") != "" && from < to {
		if groups, err = s.rank(places, q.Text("query"), from, total); err != nil {
			return cutResponse{}, err
		}
	}
	skip, _ := q.Cursor()
	limit := q.Int("limit")
	rows, more, err := s.page(groups, skip, limit)
	if err != nil {
		return cutResponse{}, err
	}
	meta := site.CursorPagination{Limit: limit}
	if more {
		meta.Cursor = new(routes.NewCursor(snap.ID, skip+limit))
	}
	return newPage(q.Route.Framing, rows, meta, 0)
}

// catalogueRanking orders rows of the catalogue by the score of their services.
type catalogueRanking struct {
	handler *handler
	snap    *output.Snapshot
	index   *routes.Index
	all     routes.Query   // the list of all rows
	match   *search.Result // nil without a text
}

// rank returns the places of the rows of each service that matches a text, the best service first. The columns have
// total values; from is the first of the list.
func (s *catalogueRanking) rank(places []int32, text string, from, total int) ([][]int32, error) {
	services, err := readJSON[site.One[[]int32]](s.handler, s.snap, routes.CatalogueServicesFile)
	if err != nil {
		return nil, err
	}
	if n := len(services.Data); n != total {
		return nil, fmt.Errorf("file %s: %w: it has %d values for %d rows", routes.CatalogueServicesFile,
			archive.ErrDamaged, n, total)
	}
	if s.match, err = s.handler.findText(s.snap, s.index, text); err != nil {
		return nil, err
	}
	of := map[int32][]int32{} // places by service
	for _, place := range places {
		service := services.Data[from+int(place)]
		of[service] = append(of[service], place)
	}
	groups := make([][]int32, 0, len(s.match.Hits))
	for _, hit := range s.match.Hits {
		groups = append(groups, of[int32(hit.Place)])
	}
	return groups, nil
}

// page returns up to limit rows after the first skip rows of all groups, and whether there are more. Within a group,
// rows that match the text come first.
func (s *catalogueRanking) page(groups [][]int32, skip, limit int) (rows [][]byte, more bool, err error) {
	for _, group := range groups {
		if skip >= len(group) {
			skip -= len(group)
			continue
		}
		if len(rows) == limit {
			return rows, true, nil
		}
		if s.match == nil {
			group = group[skip:min(len(group), skip+limit+1)] // one more tells whether there are more
			skip = 0
		}
		list, err := s.handler.catalogueRows(s.snap, s.all, group)
		if err != nil {
			return nil, false, err
		}
		if s.match != nil {
			if list, err = s.matchingFirst(list); err != nil {
				return nil, false, err
			}
		}
		list, skip = list[skip:], 0
		if room := limit - len(rows); len(list) > room {
			return append(rows, list[:room]...), true, nil
		}
		rows = append(rows, list...)
	}
	return rows, false, nil
}

// matchingFirst returns rows with those first whose path or description matches the text.
func (s *catalogueRanking) matchingFirst(rows [][]byte) ([][]byte, error) {
	var matching, others [][]byte
	for _, row := range rows {
		var item struct{ Resource, Description string }
		if err := json.Unmarshal(row, &item); err != nil {
			return nil, fmt.Errorf("read a row of the catalogue: %w: %w", archive.ErrDamaged, err)
		}
		_, address, _ := strings.Cut(item.Resource, "://")
		_, path, _ := strings.Cut(address, "/")
		if s.match.Matches(path) || s.match.Matches(item.Description) {
			matching = append(matching, row)
		} else {
			others = append(others, row)
		}
	}
	return append(matching, others...), nil
}
