package serve

import (
	"encoding/json"
	"fmt"
	"strings"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/search"
)

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
