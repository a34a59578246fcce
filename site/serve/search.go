package serve

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/search"
)

// search answers a query by words: the rows of its smallest shard that match, filtered, ordered and cut.
func (h *handler) search(snap *output.Snapshot, q site.Query) (*body, error) {
	index, err := parsed[site.SearchIndex](h, snap, site.SearchFile)
	if err != nil {
		return nil, err
	}
	s := search.NewQuery(q.Text("q"))
	offset, limit := q.Window()
	var rows [][]byte
	total := 0
	if letters, ok := s.Shard(*index); ok {
		of, err := h.shard(snap, site.ShardKey(letters), index.Shards[letters])
		if err != nil {
			return nil, err
		}
		filter := q.Filter()
		for _, row := range of.ordered(q.Text("sort")) {
			if !s.Matches(row.Words) || !filter.Passes(&row.Item) {
				continue
			}
			if total >= offset && total-offset < limit {
				rows = append(rows, row.Raw)
			}
			total++
		}
	}
	return newPage(q.Route.Framing, rows, site.WindowMeta(q, total), total)
}

// shard is the rows of a shard, ready for search.
type shard struct {
	rows   []search.Row
	bytes  int      // of the file
	orders sync.Map // of []*search.Row, by the name of the order that they are in
}

// searchRowBytes is what a row takes in memory beside its bytes in the file: what search knows of it, and its places in
// all orders.
const searchRowBytes = 650

func (s *shard) size() int { return s.bytes + searchRowBytes*len(s.rows) }

// ordered is the rows in an order, sorted once.
func (s *shard) ordered(order string) []*search.Row {
	if rows, ok := s.orders.Load(order); ok {
		return rows.([]*search.Row)
	}
	rows := make([]*search.Row, len(s.rows))
	for i := range s.rows {
		rows[i] = &s.rows[i]
	}
	compare := site.CompareBy(order)
	slices.SortFunc(rows, func(a, b *search.Row) int { return compare(&a.Item, &b.Item) })
	s.orders.Store(order, rows)
	return rows
}

// shard reads a shard, which must have n rows.
func (h *handler) shard(snap *output.Snapshot, key string, n int) (*shard, error) {
	return cachedFile(h, snap, key, "shard", func(data []byte) (*shard, error) {
		lines, _, err := site.Framing{}.Split(data)
		if err == nil && len(lines) != n {
			err = fmt.Errorf("it has %d rows, %s wants %d", len(lines), site.SearchFile, n)
		}
		if err != nil {
			return nil, err
		}
		s := &shard{rows: make([]search.Row, n), bytes: len(data)}
		for i, line := range lines {
			if s.rows[i], err = search.ParseRow(line); err != nil {
				return nil, err
			}
		}
		return s, nil
	})
}

// lookup answers a look-up: the row of its shard that begins with its hash.
func (h *handler) lookup(snap *output.Snapshot, q site.Query) (*body, error) {
	index, err := parsed[site.LookupIndex](h, snap, site.LookupFile)
	if err != nil {
		return nil, err
	}
	key, digits, hash := q.LookupShard()
	n, ok := index.Shards(q.Route)[digits]
	if !ok {
		return nil, site.ErrNotFound
	}
	of, err := cachedFile(h, snap, key, "lookup", func(data []byte) (*fileRows, error) {
		rows, _, err := site.Framing{}.Split(data)
		return &fileRows{rows: rows, bytes: len(data)}, err
	})
	if err != nil {
		return nil, err
	}
	if len(of.rows) != n {
		return nil, fmt.Errorf("file %s: %w: it has %d rows, %s wants %d",
			key, archive.ErrDamaged, len(of.rows), site.LookupFile, n)
	}
	i, ok := slices.BinarySearchFunc(of.rows, hash, func(row []byte, hash string) int {
		return strings.Compare(site.LookupHash(row), hash)
	})
	if !ok {
		return nil, site.ErrNotFound
	}
	return newCut(site.LookupResponse(of.rows[i]))
}

// parsedFile is a JSON file of the snapshot.
type parsedFile[T any] struct {
	value T
	bytes int // of the file
}

func (f *parsedFile[T]) size() int { return 3 * f.bytes }

// parsed is a JSON file that every snapshot must have, read once.
func parsed[T any](h *handler, snap *output.Snapshot, key string) (*T, error) {
	f, err := cachedFile(h, snap, key, "parsed", func(data []byte) (*parsedFile[T], error) {
		f := &parsedFile[T]{bytes: len(data)}
		return f, json.Unmarshal(data, &f.value)
	})
	if err != nil {
		return nil, err
	}
	return &f.value, nil
}

// listedShard returns whether the snapshot must have a file because it lists it as a shard.
func (h *handler) listedShard(snap *output.Snapshot, key string) (bool, error) {
	switch {
	case key == site.SearchFile || strings.HasPrefix(key, "v1/search/"):
		index, err := parsed[site.SearchIndex](h, snap, site.SearchFile)
		return err == nil && index.HasShard(key), err
	case key == site.LookupFile || strings.HasPrefix(key, "v1/lookup/"):
		index, err := parsed[site.LookupIndex](h, snap, site.LookupFile)
		return err == nil && index.HasShard(key), err
	}
	return false, nil
}
