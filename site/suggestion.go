package site

import "time"

// Suggestion is the body of POST /v1/suggestions: what a reader suggests to the operator of the directory.
type Suggestion struct {
	Text     string `json:"text"`
	Category string `json:"category,omitempty"` // one of SuggestionCategories
	Email    string `json:"email,omitempty"`    // "" if the reader wants no answer
}

// SuggestionFields are the names of a suggestion's fields, in order.
var SuggestionFields = []string{"text", "category", "email"}

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

// SuggestionResult is the data of the response to POST /v1/suggestions.
type SuggestionResult struct {
	SuggestionID string `json:"suggestion_id"`
	ReceivedAt   Time   `json:"received_at"` // first time
	Repeated     bool   `json:"-"`           // the suggestion was stored before
}
