// This file reads the fields that a client sends, as a JSON object or as a form: each field at most once, and none
// that is unknown. It returns the faults of all fields together. It must never know what a field means.

package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tollbook/site"
)

// Error says why something is refused: the faults of all fields, in the order of the fields.
type Error struct {
	What   string // what was sent, such as "submission"
	Fields []site.ErrorField
}

func (e *Error) Error() string {
	f := e.Fields[0]
	if len(e.Fields) > 1 {
		return fmt.Sprintf("%s %s, and %d more", f.Field, f.Message, len(e.Fields)-1)
	}
	return f.Field + " " + f.Message
}

const (
	maxEmail  = 254 // bytes
	maxFaults = 50  // most faults in an error, though faults of known fields are always added
)

// bodyField names the whole body in an error.
const bodyField = "body"

// reader reads fields and collects the first fault of each.
type reader struct {
	what   string
	names  []string
	faults []site.ErrorField
}

// NewReader returns a reader of these fields. what names what they belong to, in errors.
func NewReader(what string, names []string) *reader { return &reader{what: what, names: names} }

// ReadJSON calls set with each known field of a JSON object. It reads the object member by member, because
// encoding/json takes the last of two equal fields and ignores the case of their letters. It returns an *Error if the
// body is not an object.
func (r *reader) ReadJSON(body []byte, set func(field string, value json.RawMessage)) error {
	if err := r.readObject(body, set); err != nil {
		return r.BodyError(err.Error())
	}
	return nil
}

// BodyError returns an error about the whole body.
func (r *reader) BodyError(message string) error {
	return &Error{r.what, []site.ErrorField{{Field: bodyField, Message: message}}}
}

func (r *reader) readObject(body []byte, set func(string, json.RawMessage)) error {
	if !utf8.Valid(body) {
		return errors.New("is not UTF-8")
	}
	if err := json.Unmarshal(body, new(json.RawMessage)); err != nil {
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			return fmt.Errorf("is not valid JSON: byte %d: %v", syntax.Offset, syntax)
		}
		return errors.New("is not valid JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return errors.New("must be a JSON object")
	}
	seen := map[string]bool{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		field, _ := name.(string)
		switch {
		case !slices.Contains(r.names, field):
			r.AddFault(clipName(field), "is not a known field")
		case seen[field]:
			r.AddFault(field, "appears twice")
		default:
			seen[field] = true
			set(field, value)
		}
	}
	return nil
}

// ReadForm calls set with each known field of a form, in the order of the fields. White space around a value is
// removed. Bytes that are not UTF-8 become a NUL, which every field refuses.
func (r *reader) ReadForm(form url.Values, set func(field, text string)) {
	for _, field := range r.names {
		values := form[field]
		if len(values) > 1 {
			r.AddFault(field, "appears twice")
		}
		if len(values) > 0 {
			set(field, strings.ToValidUTF8(strings.TrimSpace(values[0]), "\x00"))
		}
	}
	for _, field := range slices.Sorted(maps.Keys(form)) {
		if !slices.Contains(r.names, field) {
			r.AddFault(clipName(strings.ToValidUTF8(field, "?")), "is not a known field")
		}
	}
}

// clipName returns the name of an unknown field, cut to 60 characters for the error.
func clipName(name string) string {
	if utf8.RuneCountInString(name) > 60 {
		return string([]rune(name)[:60]) + "…"
	}
	return name
}

// AddFault adds a fault of a field, unless the field has one or there are too many.
func (r *reader) AddFault(field, format string, args ...any) {
	hasFault := slices.ContainsFunc(r.faults, func(f site.ErrorField) bool { return f.Field == field })
	if !hasFault && (len(r.faults) < maxFaults || slices.Contains(r.names, field)) {
		r.faults = append(r.faults, site.ErrorField{Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

// Err returns an *Error with the faults in the order of the fields, those of unknown fields last; nil without a fault.
func (r *reader) Err() error {
	if len(r.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(r.faults, func(a, b site.ErrorField) int { return r.order(a.Field) - r.order(b.Field) })
	return &Error{r.what, r.faults}
}

func (r *reader) order(name string) int {
	if i := slices.Index(r.names, name); i >= 0 {
		return i
	}
	return len(r.names)
}

// Text returns the value of a field that must be a string. Otherwise it adds a fault and returns false.
func (r *reader) Text(field string, value json.RawMessage) (text string, ok bool) {
	if got := kindOf(value); got != "a string" {
		r.AddFault(field, "must be a string; got %s", got)
		return "", false
	}
	_ = json.Unmarshal(value, &text) // cannot fail: value is a string
	return text, true
}

// kindOf returns the kind of a JSON value, with its article.
func kindOf(value json.RawMessage) string {
	switch value[0] {
	case '"':
		return "a string"
	case '[':
		return "a list"
	case '{':
		return "an object"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// checkLines checks a text of several lines: its length in characters, and that it has no control characters.
func checkLines(text string, most int) error {
	isControl := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) }
	if strings.ContainsFunc(text, isControl) {
		return errors.New("must not contain control characters")
	}
	if n := utf8.RuneCountInString(text); n > most {
		return fmt.Errorf("must have at most %d characters; got %d", most, n)
	}
	return nil
}

// checkEmail checks that s has the form a@b.c, without a display name, quotes or an IP address in brackets.
func checkEmail(s string) error {
	if s == "" {
		return errors.New("is missing")
	}
	a, err := mail.ParseAddress(s)
	if err != nil || a.Name != "" || a.Address != s || len(s) > maxEmail || strings.ContainsFunc(s, unicode.IsControl) {
		return errors.New("must be an e-mail address such as you@acme.example")
	}
	if _, domain, _ := strings.Cut(s, "@"); !strings.Contains(domain, ".") || strings.ContainsAny(domain, "[@ ") ||
		strings.HasSuffix(domain, ".") {
		return errors.New("must be an e-mail address such as you@acme.example")
	}
	return nil
}
