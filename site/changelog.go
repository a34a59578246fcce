package site

import (
	"slices"
	"strings"
	"time"
)

// ChangeTypes are the kinds of change records, in the order of a service's records of one moment.
var ChangeTypes = []string{SchemaChanged, PriceChanged, PayToChanged}

// ChangeDays is how many UTC days a window of change records spans at most.
const ChangeDays = 365

// Changes are the logs of change records of all services, or of one: the log of all types and, in its index, that of
// each type.
type Changes struct {
	Index LogIndex        // with Types
	Logs  []ChangeLog     // the one of all types first; those that have rows, in the order of ChangeTypes
	Page  []*ChangeRecord // of all services: the default page, newest first
	Meta  ChangesMeta     // of Page
	Feed  []*ChangeRecord // of all services: the newest FeedEntries, newest first
}

// ChangeLog is the part of one log of change records that lies in the snapshot.
type ChangeLog struct {
	Type   string                 // "" for all types
	Blocks []Block[*ChangeRecord] // ascending; the last is the open one
}

// FeedEntries is how many records the feed of changes holds.
const FeedEntries = 50

// ChangesMeta is the meta of a page of change records.
type ChangesMeta struct {
	PaginationMeta
	TypeCounts  TypeCounts `json:"type_counts"`  // of the window and the service, whatever the type filter
	WindowTotal int64      `json:"window_total"` // their sum
}

// TypeCounts says how many change records there are of each type.
type TypeCounts struct {
	Schema int64 `json:"schema_changed"`
	Price  int64 `json:"price_changed"`
	PayTo  int64 `json:"payto_changed"`
}

// Scope is the request for the records of q's service, or of all, whatever their type and days: LogKey and ListKey of
// it name the index that answers q.
func (q Query) Scope() Query { return q.With("type", "") }

// ChangeWindow cuts the log that q asks for down to q's days, which end on now's, and says what its page is of. x is
// the index of q's Scope; the zero LogIndex is one without records.
func ChangeWindow(x LogIndex, q Query, now time.Time) (LogIndex, ChangesMeta) {
	from := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-q.Int("days")).Format(time.DateOnly)
	of := func(kind string) int64 { return x.Types[kind].Since(from).Total() }
	log := x
	if kind := q.Text("type"); kind != "" {
		log = x.Types[kind]
	}
	log = log.Since(from)
	return log, ChangesMeta{
		PaginationMeta: NewPaginationMeta(int(log.Total()), q.Int("page"), q.Int("per_page")),
		TypeCounts:     TypeCounts{Schema: of(SchemaChanged), Price: of(PriceChanged), PayTo: of(PayToChanged)},
		WindowTotal:    x.Since(from).Total(),
	}
}

// ChangeSpans names the blocks, two at most, that hold q's page of a window of a log.
func ChangeSpans(window LogIndex, q Query) []BlockSpan {
	per := int64(q.Int("per_page"))
	return LogSpans(window, per, (int64(q.Int("page"))-1)*per)
}

// Since is the log without the rows of the UTC days before day ("2026-11-20"), which Days must reach back to.
func (x LogIndex) Since(day string) LogIndex {
	i, _ := slices.BinarySearchFunc(x.Days, day, func(d LogDay, day string) int { return strings.Compare(d.Day, day) })
	if x.First = x.Next; i < len(x.Days) {
		x.First = x.Days[i].First
	}
	return x
}
