package serve

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// errMissing reports a file that the snapshot must have according to its index.
var errMissing = errors.New("missing from the snapshot")

// errOlder marks a response that the form of the snapshot, an older one, does not allow.
var errOlder = errors.New("it has an older form; build again")

// findBody returns the key of the file with the response to a request, and its content.
func (h *handler) findBody(s *slot, v *snapshotInfo, snap *output.Snapshot, q routes.Query) (string, *body, error) {
	key := q.Key()
	if q.Route == nil {
		return h.namedFile(s, v, snap, key)
	}
	if m, ok := snap.Lookup(key); ok && q.Route.Rule != routes.RuleFind && (q.Bare || !q.NeedsTrim()) {
		b, err := h.file(s, m)
		return key, b, err
	}
	b, err := h.cutByRule(s, v, snap, q, key)
	return key, b, err
}

// searchKey is the key of a search without parameters, which has no file. Older snapshots have an index of that name.
const searchKey = "v1/search.json"

// namedFile returns the file that a path names. A missing file is a 404, unless the snapshot must have it.
func (h *handler) namedFile(s *slot, v *snapshotInfo, snap *output.Snapshot, key string) (string, *body, error) {
	if m, ok := snap.Lookup(key); ok && key != searchKey {
		b, err := h.file(s, m)
		return key, b, err
	}
	index, err := v.readIndex(snap)
	if err != nil {
		return "", nil, err
	}
	if q, _ := queryForKey(key); q.Route != nil {
		if mustHave(index, q) {
			return "", nil, missingError(key)
		}
		if hasNoFile(q.Route) {
			b, err := h.cutByRule(s, v, snap, q, key)
			return key, b, err
		}
	}
	if listed, err := h.isListedShard(snap, key); err != nil {
		return "", nil, err
	} else if listed || index.HasScanKey(key) {
		return "", nil, missingError(key)
	}
	return "", nil, site.ErrNotFound
}

// hasNoFile reports whether a request may have no file even without parameters.
func hasNoFile(r *routes.Route) bool {
	return r.Rule == routes.RuleTrim || r.Rule == routes.RuleRank || r.Rule == routes.RuleCatalogue ||
		r.Rule == routes.RuleFind || r.Rule == routes.RuleScan
}

// mustHave reports whether every complete snapshot with this index has a file for q.
func mustHave(index *routes.Index, q routes.Query) bool {
	if !index.Has(q) {
		return false
	}
	switch q.Route.Rule {
	case routes.RuleTrim:
		return !q.NeedsTrim()
	case routes.RuleRank, routes.RuleCatalogue, routes.RuleFind, routes.RuleScan:
		return false
	}
	if q.Route.Ext == ".html" && q.Paged() {
		return q.Int("page") <= max(1, index.Pages[q.ListKey()])
	}
	return q.Bare || q.Slug != "" && q.Route.Rule == routes.RuleLiteral
}

// cutByRule cuts the response to a request whose key is not a file.
func (h *handler) cutByRule(s *slot, v *snapshotInfo, snap *output.Snapshot, q routes.Query, key string) (*body, error) {
	index, err := v.readIndex(snap)
	if err != nil {
		return nil, err
	}
	if !index.Has(q) {
		return nil, site.ErrNotFound
	}
	if err := index.CheckNames(q); err != nil {
		return nil, err
	}
	var cut func() (cutResponse, error)
	unknown := index.UnknownValues(q)
	switch rule := q.Rule(); {
	case len(unknown) > 0 && q.Route.Lenient: // no service has one of them
		cut = func() (cutResponse, error) {
			return newPage(q.Route.Framing, nil, site.ServicesMeta{UnknownValues: unknown,
				PaginationMeta: site.NewPaginationMeta(0, q.Int("page"), q.Int("per_page"))}, 0)
		}
	case rule == routes.RuleWindow:
		cut = func() (cutResponse, error) { return h.window(snap, q, index.Lists[q.ListKey()]) }
	case rule == routes.RuleLog:
		if cut = func() (cutResponse, error) { return h.log(snap, q) }; q.Route.Param("days") != nil {
			_, listed := index.Lists[q.Scope().ListKey()]
			cut = func() (cutResponse, error) { return h.changes(snap, q, v.built, listed, unknown) }
		}
	case rule == routes.RuleCatalogue:
		cut = func() (cutResponse, error) { return h.catalogue(snap, q, index) }
		if q.Route.Rule == routes.RuleCatalogue {
			cut = func() (cutResponse, error) { return h.catalogueSearch(snap, q, index) }
		}
	case rule == routes.RuleScan:
		cut = func() (cutResponse, error) { return h.scan(snap, index, q) }
	case rule == routes.RuleLookup:
		cut = func() (cutResponse, error) { return h.lookup(snap, index, q) }
	case rule == routes.RuleTrim:
		cut = func() (cutResponse, error) { return h.trim(snap, q, v.built) }
	case rule == routes.RuleFind:
		cut = func() (cutResponse, error) { return h.searchText(snap, index, q, v.built) }
	case rule == routes.RuleRank:
		cut = func() (cutResponse, error) { return h.best(snap, q, index, v.built) }
	default:
		if mustHave(index, q) {
			return nil, missingError(key)
		}
		return nil, site.ErrNotFound
	}
	return h.makeBody(s, cacheKey{snapshot: snap.ID, name: trimKey(q, key)}, func() (*body, error) {
		response, err := cut()
		if err != nil {
			return nil, err
		}
		return response.body(q.Route, index)
	})
}

// window cuts a page of a list of total rows out of at most two neighbouring files of 100 rows.
func (h *handler) window(snap *output.Snapshot, q routes.Query, total int) (cutResponse, error) {
	var rows [][]byte
	for _, s := range routes.PageSpans(q, total) {
		of, err := h.windowFile(snap, q.Route.Framing, s.Key)
		if err != nil {
			return cutResponse{}, err
		}
		if s.To > len(of.rows) {
			return cutResponse{}, fmt.Errorf("file %s: %w: it has %d rows; with a list total of %d it must have %d",
				s.Key, archive.ErrDamaged, len(of.rows), total, s.To)
		}
		rows = append(rows, of.rows[s.From:s.To]...)
	}
	rows, err := trimRows(q, rows)
	if err != nil {
		return cutResponse{}, err
	}
	return newPage(q.Route.Framing, rows, routes.WindowMeta(q, total), total)
}

// windowFile returns the rows of a list's file.
func (h *handler) windowFile(snap *output.Snapshot, f encode.Framing, key string) (*fileRows, error) {
	return readCachedFile(h, snap, key, "rows", func(data []byte) (*fileRows, error) {
		rows, _, err := f.Split(data)
		return &fileRows{rows: rows, bytes: len(data)}, err
	})
}

// fileRows are the rows of a file, in the order in which they are sent.
type fileRows struct {
	rows  [][]byte // slices of the file
	first int64    // in a log: the lowest number of a row
	bytes int      // size of the file
}

func (f *fileRows) size() int { return f.bytes + 24*len(f.rows) }

// sizer is a value that was parsed from a file. Its size is the memory that it uses, in bytes.
type sizer interface{ size() int }

// readCachedFile returns the result of parse for a file that the snapshot must have.
func readCachedFile[T sizer](h *handler, snap *output.Snapshot, key, as string, parse func([]byte) (T, error)) (T,
	error) {
	m, ok := snap.Lookup(key)
	if !ok {
		var none T
		return none, missingError(key)
	}
	return getCached(h.cache, cacheKey{sum: m.Sum, name: as}, T.size, func() (T, error) {
		data, err := m.Read()
		if err != nil {
			var none T
			return none, err
		}
		v, err := parse(data)
		if err != nil {
			err = fmt.Errorf("file %s: %w: %w", key, archive.ErrDamaged, err)
		}
		return v, err
	})
}

func missingError(key string) error { return fmt.Errorf("file %s: %w", key, errMissing) }

// linkNext returns the value of the header Link, which names the request for the next page in the same snapshot; nil if
// there is none.
func (h *handler) linkNext(w *responseWriter, r *http.Request, v *snapshotInfo, snap *output.Snapshot, q routes.Query, b *body) ([]string, error) {
	if q.Route != nil {
		return h.makeLink(&w.slot, v, snap, q, r.URL.EscapedPath(), b)
	}
	// A page of a list may be requested by the name of its file. Finding the request with that name costs as much as
	// the rest of the response, so it is done once for each file.
	key := q.Key()
	if path.Ext(key) != ".json" {
		return nil, nil
	}
	return getCached(h.cache, cacheKey{snapshot: snap.ID, name: "next page of " + key}, linkSize,
		func() ([]string, error) {
			of, address := queryForKey(key)
			return h.makeLink(&w.slot, v, snap, of, address, b)
		})
}

func linkSize(link []string) int { return len(strings.Join(link, "")) }

// makeLink returns the header Link of the response to q, which was requested at an address.
func (h *handler) makeLink(s *slot, v *snapshotInfo, snap *output.Snapshot, q routes.Query, address string, b *body) ([]string, error) {
	if !q.Paged() {
		return nil, nil
	}
	total, err := h.listTotal(s, v, snap, q, b)
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

// queryForKey returns the request with this key, and its path. If there is none, the request has no route.
func queryForKey(key string) (routes.Query, string) {
	address, rawQuery, err := routes.Request(key)
	if err != nil {
		return routes.Query{}, ""
	}
	q, err := routes.ParseRequest(address, rawQuery)
	if err != nil || q.Route == nil || q.Key() != key {
		return routes.Query{}, ""
	}
	return q, address
}

// listTotal returns the argument for routes.Query.Next: the number of rows of a JSON list, or of pages of an HTML list.
func (h *handler) listTotal(s *slot, v *snapshotInfo, snap *output.Snapshot, q routes.Query, b *body) (int, error) {
	if q.Route.Ext == ".json" {
		if b.member == nil {
			return b.rows(q.Route.Framing)
		}
		// the file is read once, not by each request for it
		return getCached(h.cache, cacheKey{sum: b.member.Sum, name: "total"}, func(int) int { return 0 },
			func() (int, error) {
				if err := s.take(); err != nil {
					return 0, err
				}
				return b.rows(q.Route.Framing)
			})
	}
	index, err := v.readIndex(snap)
	if err != nil {
		return 0, err
	}
	return index.Pages[q.ListKey()], nil
}
