package serve

import (
	"encoding/json"
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
	return []string{linkHeader(address, next)}, nil
}

// linkHeader names the request for a next page.
func linkHeader(path string, next site.Query) string {
	return "<" + path + "?" + next.RawQuery() + `>; rel="next"`
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

// pagedTotal is what site.Query.Next wants to know of a list: its rows, or, of pages that are documents, their number.
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

// rows is how many the list has of which b is a part, as its meta tells. It is read once.
func (b *body) rows(f site.Framing) (int, error) {
	b.counting.Do(func() { b.total, b.totalErr = b.countRows(f) })
	return b.total, b.totalErr
}

// counted is a body of a list whose number of rows is known.
func (b *body) counted(total int) *body {
	b.counting.Do(func() { b.total = total })
	return b
}

func (b *body) countRows(f site.Framing) (int, error) {
	read := b.unzipped
	if b.member != nil {
		read = b.member.Read
	}
	data, err := read()
	if err != nil {
		return 0, err
	}
	return rowsIn(f, data)
}

// rowsIn is the number that the meta of a list tells.
func rowsIn(f site.Framing, data []byte) (int, error) {
	meta, err := f.FindMeta(data)
	if err != nil {
		return 0, err
	}
	var count site.TotalMeta
	if err := json.Unmarshal(meta, &count); err != nil {
		return 0, fmt.Errorf("parse meta: %w", err)
	}
	return int(count.Total), nil
}
