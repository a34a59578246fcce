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
	"tollbook/site/encode"
	"tollbook/site/search"
)

// search returns the page of a text search: the matching rows of the smallest shard, filtered, sorted and cut.
func (h *handler) search(snap *output.Snapshot, q site.Query) (*body, error) {
	index, err := readJSON[site.SearchIndex](h, snap, site.SearchFile)
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
		for _, row := range of.sortedBy(q.Text("sort")) {
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

// shard is a parsed search shard.
type shard struct {
	rows   []search.Row
	bytes  int      // size of the file
	orders sync.Map // order name to []*search.Row
}

// searchRowBytes is the memory of a row in addition to its bytes in the file: its words and its positions in all
// orders.
const searchRowBytes = 650

func (s *shard) size() int { return s.bytes + searchRowBytes*len(s.rows) }

// sortedBy returns the rows in an order. Each order is sorted once.
func (s *shard) sortedBy(order string) []*search.Row {
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
	return readCachedFile(h, snap, key, "shard", func(data []byte) (*shard, error) {
		lines, _, err := encode.Framing{}.Split(data)
		if err == nil && len(lines) != n {
			err = fmt.Errorf("it has %d rows; according to %s it must have %d", len(lines), site.SearchFile, n)
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

// lookup returns the response to a look-up: the row of its shard that starts with its hash.
func (h *handler) lookup(snap *output.Snapshot, q site.Query) (*body, error) {
	index, err := readJSON[site.LookupIndex](h, snap, site.LookupFile)
	if err != nil {
		return nil, err
	}
	key, digits, hash := q.LookupShard()
	n, ok := index.Shards(q.Route)[digits]
	if !ok {
		return nil, site.ErrNotFound
	}
	of, err := readCachedFile(h, snap, key, "lookup", func(data []byte) (*fileRows, error) {
		rows, _, err := encode.Framing{}.Split(data)
		return &fileRows{rows: rows, bytes: len(data)}, err
	})
	if err != nil {
		return nil, err
	}
	if len(of.rows) != n {
		return nil, fmt.Errorf("file %s: %w: it has %d rows; according to %s it must have %d",
			key, archive.ErrDamaged, len(of.rows), site.LookupFile, n)
	}
	i, ok := slices.BinarySearchFunc(of.rows, hash, func(row []byte, hash string) int {
		return strings.Compare(site.LookupHash(row), hash)
	})
	if !ok {
		return nil, site.ErrNotFound
	}
	return newCutBody(site.LookupResponse(of.rows[i]))
}

// jsonFile is a parsed JSON file of a snapshot.
type jsonFile[T any] struct {
	value T
	bytes int // size of the file
}

func (f *jsonFile[T]) size() int { return 3 * f.bytes }

// readJSON returns a JSON file that every snapshot must have, parsed once.
func readJSON[T any](h *handler, snap *output.Snapshot, key string) (*T, error) {
	f, err := readCachedFile(h, snap, key, "parsed", func(data []byte) (*jsonFile[T], error) {
		f := &jsonFile[T]{bytes: len(data)}
		return f, json.Unmarshal(data, &f.value)
	})
	if err != nil {
		return nil, err
	}
	return &f.value, nil
}

// isListedShard reports whether the snapshot must have a file because an index lists it as a shard.
func (h *handler) isListedShard(snap *output.Snapshot, key string) (bool, error) {
	switch {
	case key == site.SearchFile || strings.HasPrefix(key, "v1/search/"):
		index, err := readJSON[site.SearchIndex](h, snap, site.SearchFile)
		return err == nil && index.HasShardKey(key), err
	case key == site.TermsFile || key == site.VocabularyFile || strings.HasPrefix(key, "v1/terms/"):
		index, err := readJSON[site.One[site.TermIndex]](h, snap, site.TermsFile)
		return err == nil && (key == site.VocabularyFile || index.Data.HasShardKey(key)), err
	case key == site.LookupFile || strings.HasPrefix(key, "v1/lookup/"):
		index, err := readJSON[site.LookupIndex](h, snap, site.LookupFile)
		return err == nil && index.HasShardKey(key), err
	}
	return false, nil
}
