package serve

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"tollbook/output"
	"tollbook/site"
)

// errMissing is a file that the snapshot must have by its own index, and has not.
var errMissing = errors.New("missing")

// answer finds what a request asks for: the key of the file that answers it, and the bytes.
func (h *handler) answer(v *view, snap *output.Snapshot, q site.Query) (string, *body, error) {
	key := q.Key()
	if q.Route == nil {
		return h.file(v, snap, key)
	}
	if m, ok := snap.Lookup(key); ok && (q.Bare || !q.Trimmed()) {
		b, err := h.literal(m)
		return key, b, err
	}
	b, err := h.byRule(v, snap, q, key)
	return key, b, err
}

// file answers a path that names a file by itself. One that is not there is a 404, unless the snapshot must have it.
func (h *handler) file(v *view, snap *output.Snapshot, key string) (string, *body, error) {
	if m, ok := snap.Lookup(key); ok {
		b, err := h.literal(m)
		return key, b, err
	}
	index, err := v.readIndex(snap)
	if err != nil {
		return "", nil, err
	}
	if q, _ := queryOf(key); q.Route != nil {
		if mustHave(index, q) {
			return "", nil, fmt.Errorf("file %s: %w", key, errMissing)
		}
		if q.Route.Rule == site.RuleTrim { // without parameters it is no file either
			b, err := h.byRule(v, snap, q, key)
			return key, b, err
		}
	}
	if listed, err := h.listedShard(snap, key); err != nil {
		return "", nil, err
	} else if listed {
		return "", nil, fmt.Errorf("file %s: %w", key, errMissing)
	}
	return "", nil, site.ErrNotFound
}

// mustHave says whether q's own file belongs to every whole snapshot with this index.
func mustHave(index *site.Index, q site.Query) bool {
	if !index.Has(q) {
		return false
	}
	if q.Route.Rule == site.RuleTrim {
		return !q.Trimmed()
	}
	if q.Route.Ext == ".html" && q.Paged() {
		return q.Int("page") <= max(1, index.Pages[q.ListKey()])
	}
	return q.Bare || q.Slug != "" && q.Route.Rule == site.RuleLiteral
}

// byRule answers a request whose key is no file.
func (h *handler) byRule(v *view, snap *output.Snapshot, q site.Query, key string) (*body, error) {
	index, err := v.readIndex(snap)
	if err != nil {
		return nil, err
	}
	if !index.Has(q) {
		return nil, site.ErrNotFound
	}
	total := index.Lists[q.ListKey()]
	var cut func() (*body, error)
	switch q.Rule() {
	case site.RuleWindow:
		if cut = func() (*body, error) { return h.window(snap, q, total) }; q.Trimmed() {
			cut = func() (*body, error) { return h.trimmedWindow(snap, q, total) }
		}
	case site.RuleLog:
		if cut = func() (*body, error) { return h.log(snap, q) }; q.Route.Param("days") != nil {
			_, listed := index.Lists[q.Scope().ListKey()]
			cut = func() (*body, error) { return h.changes(snap, q, v.built, listed) }
		}
	case site.RuleSearch:
		cut = func() (*body, error) { return h.search(snap, q) }
	case site.RuleLookup:
		cut = func() (*body, error) { return summed(h.lookup(snap, q)) }
	case site.RuleTrim:
		cut = func() (*body, error) { return summed(h.trim(snap, q, v.built)) }
	default:
		if mustHave(index, q) {
			return nil, fmt.Errorf("file %s: %w", key, errMissing)
		}
		return nil, site.ErrNotFound
	}
	return h.cut(cacheKey{snapshot: snap.ID, name: trimName(q, key)}, cut)
}

// summed is a body of what a rule has cut.
func summed(data []byte, err error) (*body, error) {
	if err != nil {
		return nil, err
	}
	return newBody(sha256.Sum256(data), data)
}

// window cuts a page out of at most two neighbouring files of 100 rows.
func (h *handler) window(snap *output.Snapshot, q site.Query, total int) (*body, error) {
	spans, err := h.spans(snap, q, total)
	if err != nil {
		return nil, err
	}
	meta, err := json.Marshal(site.WindowMeta(q, total))
	if err != nil {
		return nil, err
	}
	return newCutting(q.Route.Framing, spans, meta).body(total, nil)
}

// spans are the rows that q wants of a list of total rows.
func (h *handler) spans(snap *output.Snapshot, q site.Query, total int) ([]span, error) {
	var spans []span
	for _, s := range site.PageSpans(q, total) {
		file, err := h.rows(snap, s.Key, q.Route.Framing)
		if err != nil {
			return nil, err
		}
		if s.To > len(file.rows) {
			return nil, fmt.Errorf("file %s: %w: it has %d rows, the list's total %d wants %d", s.Key, output.ErrDamaged, len(file.rows), total, s.To)
		}
		spans = append(spans, span{file, s.From, s.To})
	}
	return spans, nil
}

// trimmedWindow is a window of rows that are shortened.
func (h *handler) trimmedWindow(snap *output.Snapshot, q site.Query, total int) (*body, error) {
	spans, err := h.spans(snap, q, total)
	if err != nil {
		return nil, err
	}
	var rows [][]byte
	for _, s := range spans {
		for _, row := range s.of.rows[s.from:s.to] {
			rows = append(rows, row.bytes)
		}
	}
	rows, err = trimRows(q, rows)
	if err != nil {
		return nil, err
	}
	meta, err := json.Marshal(site.WindowMeta(q, total))
	if err != nil {
		return nil, err
	}
	b, err := summed(q.Route.Framing.List(rows, meta), nil)
	if err != nil {
		return nil, err
	}
	return b.counted(total), nil
}

// rows reads a framed file of the snapshot.
func (h *handler) rows(snap *output.Snapshot, key string, framing site.Framing) (*packedRows, error) {
	m, ok := snap.Lookup(key)
	if !ok {
		return nil, fmt.Errorf("file %s: %w", key, errMissing)
	}
	at := cacheKey{sum: m.Sum, name: "rows"}
	return cached(h.cache, at, (*packedRows).size, func() (*packedRows, error) {
		data, err := m.Read()
		if err != nil {
			return nil, err
		}
		rows, _, err := framing.Split(data)
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", key, err)
		}
		return h.pack(at, key, rows)
	})
}
