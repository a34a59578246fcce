package site

import (
	"slices"
	"strings"
)

// ChangeTypes are the types of change records. Records of one service and one moment have this order.
var ChangeTypes = append(OfferChangeTypes, SourceListed, SourceDropped, GradeChanged, VerdictChanged)

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

// ChangesMeta: position of a page in its window, and the number of records of each type in that window.
//
// It is the meta of a page of change records.
type ChangesMeta struct {
	PaginationMeta
	// Records of each type in the window and for the service; the filter type does not affect them.
	TypeCounts TypeCounts `json:"type_counts"`
	// Sum of type_counts.
	WindowTotal int64 `json:"window_total"`
	// As [ServicesMeta.UnknownValues].
	UnknownValues []UnknownValue `json:"unknown_values,omitempty"`
}

// TypeCounts: number of records of each type.
type TypeCounts struct {
	// Number of schema changes.
	Schema int64 `json:"schema_changed"`
	// Number of price changes.
	Price int64 `json:"price_changed"`
	// Number of recipient changes.
	PayTo int64 `json:"payto_changed"`

	// beyond the contract

	// Resources that a public source began to list.
	Listed int64 `json:"listed"`
	// Resources that a public source no longer lists.
	Dropped int64 `json:"dropped"`
	// Number of changes of a grade.
	Grade int64 `json:"grade_changed"`
	// Number of changes of a verdict.
	Verdict int64 `json:"verdict_changed"`
}

// GradeSummary: grade that changed, with the compliance checks behind it.
//
// It is the summary of a grade_changed record.
type GradeSummary struct {
	// Grade before the change.
	OldGrade string `json:"oldGrade"`
	// Grade after the change.
	NewGrade string `json:"newGrade"`
	// The new grade and why.
	Reason string `json:"reason"`
	// Compliance checks that failed before and pass now, with the former reason.
	ChecksPassed []FailedCheck `json:"checksPassed"`
	// Compliance checks that passed before and fail now.
	ChecksFailed []FailedCheck `json:"checksFailed"`
}

// VerdictSummary: verdict that changed, with the reasons for the new one.
//
// It is the summary of a verdict_changed record.
type VerdictSummary struct {
	// Verdict before the change.
	OldVerdict string `json:"old_verdict" enum:"AdviceLevels"`
	// Verdict after the change.
	NewVerdict string `json:"new_verdict" enum:"AdviceLevels"`
	// Why, as of then.
	Reasons []AdviceReason `json:"reasons"`
}

// FailedCheck: compliance check that fails or failed.
type FailedCheck struct {
	// Identifier of the check.
	ID string `json:"id"`
	// Why the check fails or failed; empty if that is unknown.
	Reason string `json:"reason"`
}

// Since returns the log without the rows of the UTC days before day ("2026-11-20"). Days must reach back to it.
func (x LogIndex) Since(day string) LogIndex {
	i, _ := slices.BinarySearchFunc(x.Days, day, func(d LogDay, day string) int { return strings.Compare(d.Day, day) })
	if x.First = x.Next; i < len(x.Days) {
		x.First = x.Days[i].First
	}
	return x
}
