package site

import (
	"strconv"
	"strings"
	"time"
)

// A log is a list that only grows at its new end. Its rows are numbered from the oldest ever, in blocks of BlockSize. A
// full block never changes; once the hour of its last row is closed it lies in that hour's pack, before that in the
// snapshot, where the open block and the LogIndex always lie.

// LogIndex is what a reader must know of a log.
type LogIndex struct {
	First int64     `json:"first"` // number of the oldest row kept
	Next  int64     `json:"next"`  // number that the next row will take
	Packs []LogPack `json:"packs"` // oldest first; a full block that is in none lies in the snapshot

	// Of a log that is cut by days and types: where each UTC day with rows begins, oldest first, and the logs of each
	// type. Both are absent elsewhere.
	Days  []LogDay            `json:"days,omitempty"`
	Types map[string]LogIndex `json:"types,omitempty"`
}

// LogDay says where a UTC day's rows begin.
type LogDay struct {
	Day   string `json:"day"`   // "2026-11-20"
	First int64  `json:"first"` // number of its first row
}

// LogPack says which blocks of the log an hour's pack holds.
type LogPack struct {
	Pack  string `json:"pack"`  // the hour, "2026112023"
	First int64  `json:"first"` // first block
	Last  int64  `json:"last"`  // last block
}

// Total is the number of rows kept.
func (x LogIndex) Total() int64 { return x.Next - x.First }

// BlockSpan is a run of rows of one block, newest last, as its file holds them.
type BlockSpan struct {
	Block    int64
	Pack     string // the pack that holds the block, "" for the snapshot
	From, To int64  // row numbers: From is the first, To one past the last
}

// LogSpans names the blocks, two at most for a limit up to BlockSize, that hold limit rows after the newest offset
// ones; the block with the newest rows first.
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

// LogKey is the file of the LogIndex of q's log.
func (q Query) LogKey() string { return q.ListKey() + "/" + logFile }

// IsLog says whether a file is the LogIndex of some log.
func IsLog(key string) bool { return strings.HasSuffix(key, "/"+logFile) }

// BlockKey is the file of one block of q's log, in the snapshot or in a pack.
func (q Query) BlockKey(block int64) string {
	return q.ListKey() + "/block=" + strconv.FormatInt(block, 10) + q.Route.Ext
}

// PackHour names the pack of the blocks whose last row is of t's hour.
func PackHour(t time.Time) string { return t.UTC().Format("2006010215") }

// ParsePackHour is the inverse of PackHour.
func ParsePackHour(s string) (time.Time, error) { return time.Parse("2006010215", s) }

// BlockMeta is the meta of a block's file: the number of its first row, which is a multiple of BlockSize unless older
// rows had left before the block was full.
type BlockMeta struct {
	First int64 `json:"first"`
}
