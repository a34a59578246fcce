package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"tollbook/output"
	"tollbook/render"
	"tollbook/site"
)

// log cuts a window, counted from the newest row, out of at most two blocks.
func (h *handler) log(snap *output.Snapshot, q site.Query) ([]byte, error) {
	index, err := h.logIndex(snap, q.LogKey())
	if err != nil {
		return nil, err
	}
	rows, err := h.newest(snap, q, site.LogSpans(*index, int64(q.Int("limit")), int64(q.Int("offset"))))
	if err != nil {
		return nil, err
	}
	meta, err := json.Marshal(site.TotalMeta{Total: index.Total()})
	if err != nil {
		return nil, err
	}
	return render.Frame(rows, meta), nil
}

// newest reads spans of q's log, which name the newest rows first.
func (h *handler) newest(snap *output.Snapshot, q site.Query, spans []site.BlockSpan) ([][]byte, error) {
	var rows [][]byte
	for _, span := range spans {
		key := q.BlockKey(span.Block)
		b, err := h.block(snap, key, span.Pack)
		if err != nil {
			return nil, err
		}
		from, to := span.From-b.first, span.To-b.first
		if from < 0 || to > int64(len(b.rows)) {
			return nil, fmt.Errorf("block %s: %w: it has rows %d to %d, the log wants %d to %d", key, output.ErrDamaged,
				b.first, b.first+int64(len(b.rows)), span.From, span.To)
		}
		part := slices.Clone(b.rows[from:to])
		slices.Reverse(part)
		rows = append(rows, part...)
	}
	return rows, nil
}

// logIndex reads the index of a log. Every service has its logs, empty ones too.
func (h *handler) logIndex(snap *output.Snapshot, key string) (*site.LogIndex, error) {
	m, ok := snap.Lookup(key)
	if !ok {
		return nil, fmt.Errorf("log %s: %w", key, errMissing)
	}
	size := func(*site.LogIndex) int { return int(m.Size) }
	return cached(h.cache, cacheKey{sum: m.Sum, name: "log"}, size, func() (*site.LogIndex, error) {
		data, err := m.Read()
		if err != nil {
			return nil, err
		}
		var index site.LogIndex
		if err := json.Unmarshal(data, &index); err != nil {
			return nil, fmt.Errorf("parse %s: %w", key, err)
		}
		if index.First < 0 || index.Next < index.First {
			return nil, fmt.Errorf("log %s: %w: rows %d to %d", key, output.ErrDamaged, index.First, index.Next)
		}
		return &index, nil
	})
}

// block is the rows of one block's file.
type block struct {
	first int64 // number of rows[0]
	rows  [][]byte
	bytes int
}

// block reads a block of a log from a pack, or from the snapshot where pack is "".
func (h *handler) block(snap *output.Snapshot, key, pack string) (*block, error) {
	at, read := cacheKey{snapshot: snap.PackVersion(pack), name: key}, func() ([]byte, error) { return snap.ReadPack(pack, key) }
	if pack == "" {
		m, ok := snap.Lookup(key)
		if !ok {
			return nil, fmt.Errorf("block %s: %w", key, errMissing)
		}
		at, read = cacheKey{sum: m.Sum, name: "block"}, m.Read
	}
	size := func(b *block) int { return b.bytes }
	return cached(h.cache, at, size, func() (*block, error) {
		data, err := read()
		if err != nil {
			return nil, err
		}
		return parseBlock(key, data)
	})
}

func parseBlock(key string, data []byte) (*block, error) {
	rows, meta, err := render.Rows(data)
	var m site.BlockMeta
	if err == nil {
		err = json.Unmarshal(meta, &m)
	}
	if err == nil && m.First < 0 {
		err = errors.New("its first row has a negative number")
	}
	if err != nil {
		return nil, fmt.Errorf("block %s: %w: %w", key, output.ErrDamaged, err)
	}
	return &block{first: m.First, rows: rows, bytes: len(data) + 24*len(rows)}, nil
}
