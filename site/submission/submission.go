// Package submission reads what an owner sends to have a service listed: JSON or a form in, a submission in the form in
// which it is stored or every fault of every field out. It must never know a database, a clock or who sent it.
package submission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"tollbook/site"
)

// Read reads a submission in JSON, strictly: one object, each field once, none that is not known. An error is a
// *Error that tells every fault.
func Read(body []byte, rules Rules) (site.Submission, error) {
	var d draft
	if err := d.readJSON(body); err != nil {
		return site.Submission{}, &Error{[]site.ErrorField{{Field: bodyField, Message: err.Error()}}}
	}
	return d.checked(rules)
}

// readJSON walks the object itself, because a decoder takes the last of two fields and any case of their letters. An
// error is a body that is no object.
func (d *draft) readJSON(body []byte) error {
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
		case !slices.Contains(site.SubmissionFields, field):
			d.fault(clipped(field), "is not a known field")
		case seen[field]:
			d.fault(field, "appears twice")
		default:
			seen[field] = true
			d.set(field, value)
		}
	}
	return nil
}

// clipped is the name of a field that nobody knows, short enough to be told.
func clipped(name string) string {
	if utf8.RuneCountInString(name) > 60 {
		return string([]rune(name)[:60]) + "…"
	}
	return name
}

// set takes the value of a known field.
func (d *draft) set(field string, value json.RawMessage) {
	if field == "endpoints" {
		d.setEndpoints(value)
		return
	}
	if got := kindOf(value); got != "a string" {
		d.fault(field, "must be a string; got %s", got)
		return
	}
	text := d.text(field)
	_ = json.Unmarshal(value, text) // a text by its kind
	if *text == "" && field != "notes" {
		d.fault(field, "is missing")
	}
}

func (d *draft) setEndpoints(value json.RawMessage) {
	if got := kindOf(value); got != "a list" {
		d.fault("endpoints", "must be a list of strings; got %s", got)
		return
	}
	var items []json.RawMessage
	_ = json.Unmarshal(value, &items) // a list by its kind
	if len(items) > site.MaxEndpoints {
		d.fault("endpoints", "must be a list of 1 to %d paths; got %d", site.MaxEndpoints, len(items))
		return
	}
	d.Endpoints = make([]string, len(items))
	for i, item := range items {
		if got := kindOf(item); got != "a string" {
			d.fault("endpoints", "must be a list of strings; it contains %s", got)
			return
		}
		_ = json.Unmarshal(item, &d.Endpoints[i])
	}
}

// text is the field of this name.
func (d *draft) text(field string) *string {
	switch field {
	case "url":
		return &d.URL
	case "email":
		return &d.Email
	case "service_name":
		return &d.ServiceName
	case "description":
		return &d.Description
	case "website_url":
		return &d.WebsiteURL
	case "category":
		return &d.Category
	default:
		return &d.Notes
	}
}

// kindOf says what a JSON value is.
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

// ReadForm reads a submission as a browser sends it without script: endpoints are lines. An error is a
// *Error that tells every fault.
func ReadForm(form url.Values, rules Rules) (site.Submission, error) {
	var d draft
	for _, field := range site.SubmissionFields {
		values := form[field]
		if len(values) > 1 {
			d.fault(field, "appears twice")
		}
		if len(values) == 0 {
			continue
		}
		text := strings.ToValidUTF8(strings.TrimSpace(values[0]), "\x00") // which no field may hold
		switch field {
		case "endpoints":
			for line := range strings.Lines(text) {
				if line = strings.TrimSpace(line); line != "" {
					d.Endpoints = append(d.Endpoints, line)
				}
			}
		default:
			*d.text(field) = text
		}
	}
	for field := range form {
		if !slices.Contains(site.SubmissionFields, field) {
			d.fault(clipped(strings.ToValidUTF8(field, "?")), "is not a known field")
		}
	}
	// form is a map
	slices.SortStableFunc(d.faults, func(a, b site.ErrorField) int { return strings.Compare(a.Field, b.Field) })
	return d.checked(rules)
}
