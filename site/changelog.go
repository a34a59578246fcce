package site

import (
	"slices"
	"strings"
)

// ChangeTypes are the types of change records. Records of one service and one moment have this order.
var ChangeTypes = append(OfferChangeTypes, SourceListed, SourceDropped, GradeChanged)

// OfferChangeTypes are the types of changes of what a service asks for.
var OfferChangeTypes = []string{SchemaChanged, PriceChanged, PayToChanged}

// ChangeDays is the largest number of UTC days in a window of change records.
const ChangeDays = 365

// Changes are the logs of change records of all services, or of one: the log of all types and, in its index, the log of
// each type.
type Changes struct {
	Index LogIndex        // with Types
	Logs  []ChangeLog     // the log of all types, then those that have rows, in the order of ChangeTypes
	Page  []*ChangeRecord // for all services: the default page, newest first
	Meta  ChangesMeta     // of Page
	Feed  []*ChangeRecord // for all services: the newest FeedEntries, newest first
}

// ChangeLog is the part of one log of change records that the snapshot contains.
type ChangeLog struct {
	Type   string                 // "" for all types
	Blocks []Block[*ChangeRecord] // ascending; the last is the open one
}

// FeedEntries is the maximum number of records in the feed of changes.
const FeedEntries = 50

// ChangesMeta is the meta of a page of change records.
type ChangesMeta struct {
	PaginationMeta
	// TypeCounts counts the records in the window and of the service. The type filter does not affect it.
	TypeCounts  TypeCounts `json:"type_counts"`
	WindowTotal int64      `json:"window_total"` // sum of TypeCounts
}

// TypeCounts is the number of change records of each type.
type TypeCounts struct {
	Schema int64 `json:"schema_changed"`
	Price  int64 `json:"price_changed"`
	PayTo  int64 `json:"payto_changed"`

	// beyond the contract
	Listed  int64 `json:"listed"`
	Dropped int64 `json:"dropped"`
	Grade   int64 `json:"grade_changed"`
}

// GradeSummary is the summary of a grade_changed record.
type GradeSummary struct {
	OldGrade     string        `json:"oldGrade"`
	NewGrade     string        `json:"newGrade"`
	Reason       string        `json:"reason"`       // the new grade and why, as in "F: accepts is missing"
	ChecksPassed []FailedCheck `json:"checksPassed"` // compliance checks that failed before, with that reason
	ChecksFailed []FailedCheck `json:"checksFailed"` // that passed before
}

// FailedCheck is a compliance check that fails or failed.
type FailedCheck struct {
	ID     string `json:"id"`
	Reason string `json:"reason"` // "" if it is unknown
}

// Since returns the log without the rows of the UTC days before day ("2026-11-20"). Days must reach back to it.
func (x LogIndex) Since(day string) LogIndex {
	i, _ := slices.BinarySearchFunc(x.Days, day, func(d LogDay, day string) int { return strings.Compare(d.Day, day) })
	if x.First = x.Next; i < len(x.Days) {
		x.First = x.Days[i].First
	}
	return x
}
