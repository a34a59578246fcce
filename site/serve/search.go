package serve

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tollbook/output"
	"tollbook/site"
)

// search answers a query by words: the rows of its smallest shard that match, filtered, ordered and cut.
func (h *handler) search(snap *output.Snapshot, q site.Query) (*body, error) {
	index, err := parsed[site.SearchIndex](h, snap, site.SearchFile)
	if err != nil {
		return nil, err
	}
	s := site.NewSearch(q.Text("q"))
	offset, limit := q.Window()
	var rows [][]byte
	found := 0
	if letters, ok := s.Shard(*index); ok {
		of, err := h.shard(snap, site.ShardKey(letters), index.Shards[letters])
		if err != nil {
			return nil, err
		}
		filter := q.Filter()
		for _, row := range of.by(q.Text("sort")) {
			if !s.Matches(row.Words) || !filter.Passes(&row.Item) {
				continue
			}
			if found >= offset && found-offset < limit {
				rows = append(rows, row.Raw)
			}
			found++
		}
	}
	meta, err := json.Marshal(site.WindowMeta(q, found))
	if err != nil {
		return nil, err
	}
	b, err := summed(q.Route.Framing.List(rows, meta), nil)
	if err != nil {
		return nil, err
	}
	return b.counted(found), nil
}

// searchRowBytes is what search knows of a row costs in memory.
const searchRowBytes = 600

// shard is the rows of a shard, which are ready for search. A service has some six, in which its row is the same.
type shard struct {
	rows   []*sharedRow
	orders sync.Map // of []*site.SearchRow, by the order that they are in
}

// shared implements sharing.
func (s *shard) shared() []*sharedRow { return s.rows }

// size counts what all orders take, too.
func (s *shard) size() int { return 8 * (1 + len(site.Orders)) * len(s.rows) }

// by is the rows in an order, sorted once.
func (s *shard) by(order string) []*site.SearchRow {
	if rows, ok := s.orders.Load(order); ok {
		return rows.([]*site.SearchRow)
	}
	rows := make([]*site.SearchRow, len(s.rows))
	for i, row := range s.rows {
		rows[i] = row.search.Load()
	}
	compare := site.Compared(order)
	slices.SortFunc(rows, func(a, b *site.SearchRow) int { return compare(&a.Item, &b.Item) })
	s.orders.Store(order, rows)
	return rows
}

// shard reads a shard, which must have n rows.
func (h *handler) shard(snap *output.Snapshot, key string, n int) (*shard, error) {
	m, ok := snap.Lookup(key)
	if !ok {
		return nil, fmt.Errorf("file %s: %w", key, errMissing)
	}
	return cached(h.cache, cacheKey{sum: m.Sum, name: "search"}, (*shard).size, func() (*shard, error) {
		data, err := m.Read()
		if err != nil {
			return nil, err
		}
		lines, _, err := site.Framing{}.Split(data)
		if err == nil && len(lines) != n {
			err = fmt.Errorf("it has %d rows, %s wants %d", len(lines), site.SearchFile, n)
		}
		var rows []*sharedRow
		if err == nil {
			rows = h.cache.rows.share(lines)
			if err = h.cache.rows.read(rows); err != nil {
				h.cache.rows.release(rows)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("file %s: %w: %w", key, output.ErrDamaged, err)
		}
		return &shard{rows: rows}, nil
	})
}

// lookup answers a look-up: the row of its shard that begins with its hash.
func (h *handler) lookup(snap *output.Snapshot, q site.Query) ([]byte, error) {
	index, err := parsed[site.LookupIndex](h, snap, site.LookupFile)
	if err != nil {
		return nil, err
	}
	key, digits, hash := q.LookupShard()
	n, ok := index.Shards(q.Route)[digits]
	if !ok {
		return nil, site.ErrNotFound
	}
	rows, err := h.lookupRows(snap, key)
	if err != nil {
		return nil, err
	}
	if len(rows) != n {
		return nil, fmt.Errorf("file %s: %w: it has %d rows, %s wants %d", key, output.ErrDamaged, len(rows), site.LookupFile, n)
	}
	i, ok := slices.BinarySearchFunc(rows, hash, func(row []byte, hash string) int {
		switch h := site.LookupHash(row); {
		case h < hash:
			return -1
		case h > hash:
			return 1
		}
		return 0
	})
	if !ok {
		return nil, site.ErrNotFound
	}
	return site.LookupAnswer(rows[i]), nil
}

// lookupRows reads a shard of look-ups.
func (h *handler) lookupRows(snap *output.Snapshot, key string) ([][]byte, error) {
	m, ok := snap.Lookup(key)
	if !ok {
		return nil, fmt.Errorf("file %s: %w", key, errMissing)
	}
	size := func(rows [][]byte) int { return int(m.Size) + 24*len(rows) }
	return cached(h.cache, cacheKey{sum: m.Sum, name: "lookup"}, size, func() ([][]byte, error) {
		data, err := m.Read()
		if err != nil {
			return nil, err
		}
		rows, _, err := site.Framing{}.Split(data)
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", key, err)
		}
		return rows, nil
	})
}

// parsed is a JSON file that every snapshot must have, read once.
func parsed[T any](h *handler, snap *output.Snapshot, key string) (*T, error) {
	m, ok := snap.Lookup(key)
	if !ok {
		return nil, fmt.Errorf("file %s: %w", key, errMissing)
	}
	size := func(*T) int { return 3 * int(m.Size) }
	return cached(h.cache, cacheKey{sum: m.Sum, name: "parsed"}, size, func() (*T, error) {
		data, err := m.Read()
		if err != nil {
			return nil, err
		}
		v := new(T)
		if err := json.Unmarshal(data, v); err != nil {
			return nil, fmt.Errorf("parse %s: %w", key, err)
		}
		return v, nil
	})
}

// listedShard says whether the snapshot must have a file because it lists it as a shard.
func (h *handler) listedShard(snap *output.Snapshot, key string) (bool, error) {
	switch {
	case key == site.SearchFile || strings.HasPrefix(key, "v1/search/"):
		index, err := parsed[site.SearchIndex](h, snap, site.SearchFile)
		return err == nil && index.Lists(key), err
	case key == site.LookupFile || strings.HasPrefix(key, "v1/lookup/"):
		index, err := parsed[site.LookupIndex](h, snap, site.LookupFile)
		return err == nil && index.Lists(key), err
	}
	return false, nil
}
