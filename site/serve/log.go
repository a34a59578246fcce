package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"tollbook/output"
	"tollbook/site"
)

// log cuts a window, counted from the newest row, out of at most two blocks.
func (h *handler) log(snap *output.Snapshot, q site.Query) (*body, error) {
	index, err := h.logIndex(snap, q.LogKey())
	if err != nil {
		return nil, err
	}
	spans, err := h.newest(snap, q, site.LogSpans(*index, int64(q.Int("limit")), int64(q.Int("offset"))))
	if err != nil {
		return nil, err
	}
	meta, err := json.Marshal(site.TotalMeta{Total: index.Total()})
	if err != nil {
		return nil, err
	}
	return newCutting(q.Route.Framing, spans, meta).body(int(index.Total()), index)
}

// newest reads spans of q's log, which name the newest rows first.
func (h *handler) newest(snap *output.Snapshot, q site.Query, blocks []site.BlockSpan) ([]span, error) {
	var spans []span
	for _, s := range blocks {
		key := q.BlockKey(s.Block)
		of, err := h.block(snap, key, s.Pack)
		if err != nil {
			return nil, err
		}
		end := of.first + int64(len(of.rows))
		if s.From < of.first || s.To > end {
			return nil, fmt.Errorf("block %s: %w: it has rows %d to %d, the log wants %d to %d", key, output.ErrDamaged, of.first, end, s.From, s.To)
		}
		spans = append(spans, span{of, int(end - s.To), int(end - s.From)})
	}
	return spans, nil
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

// block reads a block of a log, its newest row first, from a pack, or from the snapshot where pack is "".
func (h *handler) block(snap *output.Snapshot, key, pack string) (*packedRows, error) {
	at, read := cacheKey{snapshot: snap.PackVersion(pack), name: key}, func() ([]byte, error) { return snap.ReadPack(pack, key) }
	if pack == "" {
		m, ok := snap.Lookup(key)
		if !ok {
			return nil, fmt.Errorf("block %s: %w", key, errMissing)
		}
		at, read = cacheKey{sum: m.Sum, name: "block"}, m.Read
	}
	return cached(h.cache, at, (*packedRows).size, func() (*packedRows, error) {
		data, err := read()
		if err != nil {
			return nil, err
		}
		rows, first, err := parseBlock(key, data)
		if err != nil {
			return nil, err
		}
		p, err := h.pack(at, key, rows)
		if err == nil {
			p.first = first
		}
		return p, err
	})
}

// parseBlock is the rows of a block, the newest first, and the number of the oldest.
func parseBlock(key string, data []byte) (rows [][]byte, first int64, err error) {
	rows, meta, err := site.Framing{}.Split(data)
	var m site.BlockMeta
	if err == nil {
		err = json.Unmarshal(meta, &m)
	}
	if err == nil && m.First < 0 {
		err = errors.New("its first row has a negative number")
	}
	if err != nil {
		return nil, 0, fmt.Errorf("block %s: %w: %w", key, output.ErrDamaged, err)
	}
	slices.Reverse(rows)
	return rows, m.First, nil
}
