package site

import "time"

// A log is a list that grows only at its new end. Its rows are numbered from the oldest row ever, in blocks of
// BlockSize. A full block never changes. When the hour of its last row is over, the block moves from the snapshot into
// that hour's pack. The snapshot always contains the open block and the LogIndex.

// LogIndex describes a log.
type LogIndex struct {
	First int64     `json:"first"` // number of the oldest stored row
	Next  int64     `json:"next"`  // number that the next row will have
	Packs []LogPack `json:"packs"` // oldest first; the snapshot contains the full blocks that are in no pack

	// In a log that is cut by days and types: the first row of each UTC day with rows, oldest first, and the logs of
	// each type. Both are absent in other logs.
	Days  []LogDay            `json:"days,omitempty"`
	Types map[string]LogIndex `json:"types,omitempty"`
}

// LogDay is the first row of a UTC day.
type LogDay struct {
	Day   string `json:"day"`   // "2026-11-20"
	First int64  `json:"first"` // number of its first row
}

// LogPack names the pack of an hour, and the first and last block of a log (see BlockSpan) that it contains.
type LogPack struct {
	Pack  string `json:"pack"`  // hour of the pack, "2026112023"
	First int64  `json:"first"` // first block
	Last  int64  `json:"last"`  // last block
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

// BlockMeta is the meta of a block's file: the number of its first row. It is a multiple of BlockSize unless older rows
// were deleted before the block was full.
type BlockMeta struct {
	First int64 `json:"first"`
}
