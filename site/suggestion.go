package site

import (
	"reflect"
	"time"
)

// Suggestion says what a reader suggests to the operator of the directory. Other fields are refused.
//
// It is the body of POST /v1/suggestions.
type Suggestion struct {
	// What the reader suggests, up to 2,000 characters; white space around it is removed.
	Text string `json:"text"`
	// What it is about: a service to list, a correction, a feature of the directory, or something else, the default.
	Category string `json:"category,omitempty" enum:"SuggestionCategories"` // one of SuggestionCategories
	// Address for an answer; never published.
	Email string `json:"email,omitempty" format:"email"` // "" if the reader wants no answer
}

// SuggestionFields are the names of a suggestion's fields, in order.
var SuggestionFields = namesOf(reflect.TypeFor[Suggestion]())

// SuggestionCategories are the categories that a suggestion may have. The last one is the default.
var SuggestionCategories = []string{"service", "correction", "feature", SuggestionOther}

// SuggestionOther is the category of a suggestion without one.
const SuggestionOther = "other"

// States of a suggestion.
const (
	SuggestionOpen   = "open"
	SuggestionClosed = "closed"
)

// Limits of suggestions. The limit of all that are open is the one of submissions.
const (
	MaxSuggestion      = 2000 // characters of a text
	SuggestionsPerHour = 10   // suggestions of one client
	// SuggestionRepeat is how long an equal text is the same suggestion.
	SuggestionRepeat = 24 * time.Hour
)

// IncomingSuggestion is a suggestion with its sender and time.
type IncomingSuggestion struct {
	Suggestion
	Client  string // the sender, as rate limits count it
	Key     string // value of Idempotency-Key; "" if absent
	At      time.Time
	MaxOpen int // limit of all open suggestions; 0 means no limit
}

// SuggestionResult is the receipt of a suggestion.
//
// It is the data of the response to POST /v1/suggestions.
type SuggestionResult struct {
	// Id of the suggestion.
	SuggestionID string `json:"suggestion_id" format:"uuid"`
	// When the suggestion was received, for the first time if it was sent twice.
	ReceivedAt Time `json:"received_at"`
	Repeated   bool `json:"-"` // the suggestion was stored before
}
