package serve

import (
	"fmt"
	"net/http"
	"path"

	"tollbook/output"
	"tollbook/site"
)

// linkNext is the header that names the request for the next page, of this snapshot; nil where there is none.
func linkNext(r *http.Request, v *view, snap *output.Snapshot, q site.Query, b *body) ([]string, error) {
	address := r.URL.EscapedPath()
	if q.Route == nil { // a page of a list under the name of its file
		if key := q.Key(); path.Ext(key) == ".json" {
			q, address = queryOf(key)
		}
	}
	if !q.Paged() {
		return nil, nil
	}
	total, err := pagedTotal(v, snap, q, b)
	if err != nil {
		return nil, fmt.Errorf("page %s: %w", q.Key(), err)
	}
	next, ok := q.Next(total)
	if !ok {
		return nil, nil
	}
	next.Snapshot = snap.ID
	return []string{"<" + address + "?" + next.RawQuery() + `>; rel="next"`}, nil
}

// queryOf is the request that a key spells, and its path; without a route for one that no request has.
func queryOf(key string) (site.Query, string) {
	address, rawQuery, err := site.Request(key)
	if err != nil {
		return site.Query{}, ""
	}
	q, err := site.ParseRequest(address, rawQuery)
	if err != nil || q.Route == nil || q.Key() != key {
		return site.Query{}, ""
	}
	return q, address
}

// pagedTotal is what site.Query.Next needs: the number of rows of a list, or of pages where pages are documents.
func pagedTotal(v *view, snap *output.Snapshot, q site.Query, b *body) (int, error) {
	if q.Route.Ext == ".json" {
		return b.rows(q.Route.Framing)
	}
	index, err := v.readIndex(snap)
	if err != nil {
		return 0, err
	}
	return index.Pages[q.ListKey()], nil
}
