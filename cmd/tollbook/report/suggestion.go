package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/postgres/inbox"
)

// maxBeginning is the length of a text in a table, in characters.
const maxBeginning = 60

// Suggestions prints suggestions without e-mail addresses.
func Suggestions(w io.Writer, list []inbox.Suggestion, asJSON bool) error {
	if asJSON {
		lines := make([]Suggestion, len(list))
		for i := range list {
			lines[i] = NewSuggestion(&list[i])
			lines[i].Email = ""
		}
		return JSONList(w, lines)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "No suggestions.")
		return err
	}
	t := NewTable(w, "ID", "RECEIVED", "STATE", "CATEGORY", "TEXT")
	for i := range list {
		s := &list[i]
		t.Row(s.ID, s.ReceivedAt.UTC().Format(time.DateTime), s.State(), s.Category,
			display.Line(s.Text, maxBeginning))
	}
	return t.Flush()
}

// Suggestion is one suggestion as suggestions show prints it.
type Suggestion struct {
	ID         string    `json:"id"`
	State      string    `json:"state"`
	ReceivedAt site.Time `json:"received_at"`
	site.Suggestion
	ClosedAt *site.Time `json:"closed_at"`
	ClosedBy *string    `json:"closed_by"`
}

// NewSuggestion returns the report on a suggestion.
func NewSuggestion(s *inbox.Suggestion) Suggestion {
	return Suggestion{ID: s.ID.String(), State: s.State(), ReceivedAt: site.NewTime(s.ReceivedAt),
		Suggestion: s.Suggestion, ClosedAt: timeOrNull(s.ClosedAt), ClosedBy: s.ClosedBy}
}

// Print writes the report.
func (s *Suggestion) Print(w io.Writer, asJSON bool) error {
	if asJSON {
		return JSON(w, s)
	}
	t := NewTable(w)
	t.Row("Suggestion", s.ID)
	t.Row("State", s.State)
	t.Row("Received", s.ReceivedAt.String())
	t.Row("Category", s.Category)
	if s.Email != "" {
		t.Row("E-mail", s.Email)
	}
	if s.ClosedAt != nil {
		t.Row("Closed", s.ClosedAt.String()+" by "+*s.ClosedBy)
	}
	for text := range strings.Lines(s.Text) {
		t.Row("Text", strings.TrimRight(text, "\n"))
	}
	return t.Flush()
}
