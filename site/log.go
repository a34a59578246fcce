package site

import "time"

// A log is a list that grows only at its new end. Its rows are numbered from the oldest row ever, in blocks of
// BlockSize. A full block never changes. When the hour of its last row is over, the block moves from the snapshot into
// that hour's pack. The snapshot always contains the open block and the LogIndex.

// LogIndex: index of a log. Rows are numbered from the oldest row ever recorded.
type LogIndex struct {
	// Number of the oldest stored row.
	First int64 `json:"first"`
	// Number that the next row will have.
	Next int64 `json:"next"`
	// Packs that contain full blocks, oldest first; the snapshot contains the blocks that no pack contains.
	Packs []LogPack `json:"packs"`

	// First row of each UTC day, oldest first; only in logs that can be cut by day.
	//
	// Days and Types are absent in logs that are not cut by day.
	Days []LogDay `json:"days,omitempty"`
	// The logs of each type; only in logs that have types.
	Types map[string]LogIndex `json:"types,omitempty"`
}

// LogDay: first row of a UTC day.
type LogDay struct {
	// The UTC day.
	Day string `json:"day" format:"date"` // "2026-11-20"
	// Number of its first row.
	First int64 `json:"first"`
}

// LogPack: blocks of a log that an hour's pack contains.
//
// See BlockSpan.
type LogPack struct {
	// Hour of the pack in UTC, such as 2026112023.
	Pack string `json:"pack"`
	// First block in the pack.
	First int64 `json:"first"`
	// Last block in the pack.
	Last int64 `json:"last"`
}

// Total returns the number of stored rows.
func (x LogIndex) Total() int64 { return x.Next - x.First }

// BlockSpan is a run of rows of one block, oldest first, as in its file.
type BlockSpan struct {
	Block    int64
	Pack     string // hour of the pack that contains the block; "" for the snapshot
	From, To int64  // row numbers; To is one past the last
}

// LogSpans returns the blocks that contain limit rows after the newest offset rows, the block with the newest rows
// first. There are at most two blocks for a limit up to BlockSize.
func LogSpans(x LogIndex, limit, offset int64) []BlockSpan {
	to := x.Next - offset
	from := max(to-limit, x.First)
	var spans []BlockSpan
	for to > from {
		block := (to - 1) / BlockSize
		at := max(from, block*BlockSize)
		spans = append(spans, BlockSpan{Block: block, Pack: x.pack(block), From: at, To: to})
		to = at
	}
	return spans
}

func (x LogIndex) pack(block int64) string {
	for _, p := range x.Packs {
		if p.First <= block && block <= p.Last {
			return p.Pack
		}
	}
	return ""
}

// PackHour returns the hour of the pack for blocks whose last row is from t's hour.
func PackHour(t time.Time) string { return t.UTC().Format("2006010215") }

// BlockMeta: first row of a block of a log.
//
// It is the meta of a block's file: the number of its first row. It is a multiple of BlockSize unless older rows were
// deleted before the block was full.
type BlockMeta struct {
	// Number of the first row.
	First int64 `json:"first"`
}
