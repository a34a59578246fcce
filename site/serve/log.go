package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// log cuts a page, counted from the newest row, out of at most two blocks.
func (h *handler) log(snap *output.Snapshot, q routes.Query) (cutResponse, error) {
	index, err := h.logIndex(snap, q.LogKey())
	if err != nil {
		return cutResponse{}, err
	}
	rows, err := h.newestRows(snap, q, site.LogSpans(*index, int64(q.Int("limit")), int64(q.Int("offset"))))
	if err != nil {
		return cutResponse{}, err
	}
	total := index.Total()
	return newPage(q.Route.Framing, rows, site.TotalMeta{Total: total}, int(total))
}

// changes cuts a page of change records out of at most two blocks. The window of days ends on the day of the snapshot.
// listed is whether v1/index.json lists a log of q's scope: a service without records, or an unknown one, has none.
func (h *handler) changes(snap *output.Snapshot, q routes.Query, built time.Time, listed bool) (cutResponse, error) {
	index := &site.LogIndex{}
	if listed {
		var err error
		if index, err = h.logIndex(snap, q.Scope().LogKey()); err != nil {
			return cutResponse{}, err
		}
	}
	window, meta := routes.ChangeWindow(*index, q, built)
	rows, err := h.newestRows(snap, q, routes.ChangeSpans(window, q))
	if err != nil {
		return cutResponse{}, err
	}
	return newPage(q.Route.Framing, rows, meta, meta.Total)
}

// newestRows reads the rows of spans of q's log, newest first.
func (h *handler) newestRows(snap *output.Snapshot, q routes.Query, spans []site.BlockSpan) ([][]byte, error) {
	var rows [][]byte
	for _, s := range spans {
		key := q.BlockKey(s.Block)
		of, err := h.block(snap, key, s.Pack)
		if err != nil {
			return nil, err
		}
		end := of.first + int64(len(of.rows))
		if s.From < of.first || s.To > end {
			return nil, fmt.Errorf("block %s: %w: it has rows %d to %d; according to the index it must have %d to %d",
				key, archive.ErrDamaged, of.first, end, s.From, s.To)
		}
		rows = append(rows, of.rows[end-s.To:end-s.From]...)
	}
	return rows, nil
}

// logIndex reads the index of a log. Every service has its logs, even empty ones.
func (h *handler) logIndex(snap *output.Snapshot, key string) (*site.LogIndex, error) {
	index, err := readJSON[site.LogIndex](h, snap, key)
	if err == nil && (index.First < 0 || index.Next < index.First) {
		err = fmt.Errorf("log %s: %w: rows %d to %d", key, archive.ErrDamaged, index.First, index.Next)
	}
	return index, err
}

// block reads a block of a log from an hour's pack, or from the snapshot if hour is "".
func (h *handler) block(snap *output.Snapshot, key, hour string) (*fileRows, error) {
	if hour == "" {
		return readCachedFile(h, snap, key, "block", parseBlock)
	}
	at := cacheKey{snapshot: snap.PackVersion(hour), name: key}
	return getCached(h.cache, at, (*fileRows).size, func() (*fileRows, error) {
		data, err := snap.ReadPack(hour, key)
		if err != nil {
			return nil, err
		}
		rows, err := parseBlock(data)
		if err != nil {
			err = fmt.Errorf("block %s of %s: %w: %w", key, hour, archive.ErrDamaged, err)
		}
		return rows, err
	})
}

// parseBlock returns the rows of a block, newest first, and the number of the oldest.
func parseBlock(data []byte) (*fileRows, error) {
	rows, meta, err := encode.Framing{}.Split(data)
	var m site.BlockMeta
	if err == nil {
		err = json.Unmarshal(meta, &m)
	}
	if err == nil && m.First < 0 {
		err = errors.New("the number of its first row is negative")
	}
	slices.Reverse(rows)
	return &fileRows{rows: rows, first: m.First, bytes: len(data)}, err
}
