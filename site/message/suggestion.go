// This file reads what a reader suggests to a directory, as JSON or as a form. It returns the suggestion in the form
// in which it is stored, or the faults of all fields. It must never know a database, a clock or the sender.

package message

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"tollbook/site"
)

// suggestionDraft is a suggestion as it was sent, with the first fault of each field.
type suggestionDraft struct {
	*reader
	sent site.Suggestion
}

func newSuggestionDraft() *suggestionDraft {
	return &suggestionDraft{reader: NewReader("suggestion", site.SuggestionFields)}
}

// ReadSuggestion reads a suggestion in JSON strictly: it must be one object, with each field at most once and no
// unknown field. An error is a *Error that lists every fault.
func ReadSuggestion(body []byte) (site.Suggestion, error) {
	d := newSuggestionDraft()
	err := d.ReadJSON(body, func(field string, value json.RawMessage) { *d.text(field), _ = d.Text(field, value) })
	if err != nil {
		return site.Suggestion{}, err
	}
	return d.check()
}

// ReadSuggestionForm reads a suggestion as a browser sends a form. An error is a *Error that lists every fault.
func ReadSuggestionForm(form url.Values) (site.Suggestion, error) {
	d := newSuggestionDraft()
	d.ReadForm(form, func(field, text string) { *d.text(field) = text })
	return d.check()
}

// text returns the field of this name.
func (d *suggestionDraft) text(field string) *string {
	switch field {
	case "text":
		return &d.sent.Text
	case "category":
		return &d.sent.Category
	default:
		return &d.sent.Email
	}
}

// newLines makes every end of a line "\n", so that a form and JSON send equal texts.
var newLines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// check returns the suggestion in the form in which it is stored. An error is a *Error.
func (d *suggestionDraft) check() (site.Suggestion, error) {
	s := &d.sent
	s.Text = strings.TrimSpace(newLines.Replace(s.Text))
	if s.Text == "" {
		d.AddFault("text", "is missing")
	} else if err := checkLines(s.Text, site.MaxSuggestion); err != nil {
		d.AddFault("text", "%v", err)
	}
	if s.Category == "" {
		s.Category = site.SuggestionOther
	}
	if !slices.Contains(site.SuggestionCategories, s.Category) {
		d.AddFault("category", "must be one of %s", strings.Join(site.SuggestionCategories, ", "))
	}
	if s.Email != "" {
		if err := checkEmail(s.Email); err != nil {
			d.AddFault("email", "%v", err)
		}
	}
	if err := d.Err(); err != nil {
		return site.Suggestion{}, err
	}
	return *s, nil
}
