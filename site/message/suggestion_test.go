package message_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/message"
)

// suggestionFaults returns the faults in a *Error, one line each.
func suggestionFaults(err error) []string {
	var wrong *message.Error
	if !errors.As(err, &wrong) {
		return nil
	}
	var lines []string
	for _, f := range wrong.Fields {
		lines = append(lines, f.Field+": "+f.Message)
	}
	return lines
}

const (
	badCategory = "category: must be one of service, correction, feature, other"
	badEmail    = "email: must be an e-mail address such as you@acme.example"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		want       site.Suggestion
		faults     []string
	}{
		{name: "a text alone", body: `{"text":"Add Acme."}`,
			want: site.Suggestion{Text: "Add Acme.", Category: "other"}},
		{name: "everything", body: `{"text":" a\r\nb\rc\td\n","category":"correction","email":"r@acme.example"}`,
			want: site.Suggestion{Text: "a\nb\nc\td", Category: "correction", Email: "r@acme.example"}},
		{name: "empty options", body: `{"text":"<b>&</b>","category":"","email":""}`,
			want: site.Suggestion{Text: "<b>&</b>", Category: "other"}},
		{name: "2,000 characters", body: `{"text":"` + strings.Repeat("é", 2000) + `"}`,
			want: site.Suggestion{Text: strings.Repeat("é", 2000), Category: "other"}},
		{name: "one more", body: `{"text":"` + strings.Repeat("é", 2001) + `"}`,
			faults: []string{"text: must have at most 2000 characters; got 2001"}},
		{name: "nothing", body: `{}`, faults: []string{"text: is missing"}},
		{name: "white space", body: `{"text":" \n\t"}`, faults: []string{"text: is missing"}},
		{name: "a control character", body: `{"text":"a\u001b[2Jb"}`,
			faults: []string{"text: must not contain control characters"}},
		{name: "a NUL", body: `{"text":"a\u0000"}`, faults: []string{"text: must not contain control characters"}},
		{name: "wrong types", body: `{"text":1,"category":null,"email":["a"]}`, faults: []string{
			"text: must be a string; got a number", "category: must be a string; got null",
			"email: must be a string; got a list"}},
		{name: "no category", body: `{"text":"a","category":"Other"}`, faults: []string{badCategory}},
		{name: "no address", body: `{"text":"a","email":"A <a@b.example>"}`, faults: []string{badEmail}},
		{name: "a header", body: `{"text":"a","email":"a@b.example\r\nBcc: c@d.example"}`, faults: []string{badEmail}},
		{name: "unknown and twice", body: `{"Text":"a","text":"b","text":"c"}`,
			faults: []string{"text: appears twice", "Text: is not a known field"}},
		{name: "no object", body: `["text"]`, faults: []string{"body: must be a JSON object"}},
		{name: "no UTF-8", body: "{\"text\":\"\xff\"}", faults: []string{"body: is not UTF-8"}},
	} {
		got, err := message.ReadSuggestion([]byte(tt.body))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.faults, suggestionFaults(err)); diff != "" {
			t.Errorf("faults of %s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

func TestReadForm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		form   url.Values
		want   site.Suggestion
		faults []string
	}{
		{name: "as JSON", form: url.Values{"text": {" a\r\nb "}, "category": {"feature"}, "email": {"r@acme.example "}},
			want: site.Suggestion{Text: "a\nb", Category: "feature", Email: "r@acme.example"}},
		{name: "empty fields", form: url.Values{"text": {"a"}, "category": {""}, "email": {""}},
			want: site.Suggestion{Text: "a", Category: "other"}},
		{name: "no UTF-8", form: url.Values{"text": {"a\xffb"}},
			faults: []string{"text: must not contain control characters"}},
		{name: "unknown and twice", form: url.Values{"text": {"a", "b"}, "z": {"1"}, "b": {"1"}},
			faults: []string{"text: appears twice", "b: is not a known field", "z: is not a known field"}},
	} {
		got, err := message.ReadSuggestionForm(tt.form)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.faults, suggestionFaults(err)); diff != "" {
			t.Errorf("faults of %s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}
