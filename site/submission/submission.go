// Package submission reads what an owner sends to have a service listed. It takes JSON or a form, and returns the
// submission in the form in which it is stored, or the faults of all fields. It must never know a database, a clock or
// the sender.
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
	"tollbook/site/listing"
)

// Read reads a submission in JSON strictly: it must be one object, with each field at most once and no unknown field.
// An error is a *Error that lists every fault.
func Read(body []byte, rules Rules) (site.Submission, error) {
	var d draft
	if err := d.readJSON(body); err != nil {
		return site.Submission{}, &Error{[]site.ErrorField{{Field: bodyField, Message: err.Error()}}}
	}
	return d.check(rules)
}

// readJSON reads the object member by member, because encoding/json takes the last of two equal fields and ignores the
// case of their letters. It returns an error if the body is not an object.
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
			d.addFault(clipName(field), "is not a known field")
		case seen[field]:
			d.addFault(field, "appears twice")
		default:
			seen[field] = true
			d.set(field, value)
		}
	}
	return nil
}

// clipName returns the name of an unknown field, cut to 60 characters for the error.
func clipName(name string) string {
	if utf8.RuneCountInString(name) > 60 {
		return string([]rune(name)[:60]) + "…"
	}
	return name
}

// set sets a field of the contract to a value.
func (d *draft) set(field string, value json.RawMessage) {
	if field == "endpoints" {
		d.setEndpoints(value)
		return
	}
	if got := kindOf(value); got != "a string" {
		d.addFault(field, "must be a string; got %s", got)
		return
	}
	text := d.text(field)
	_ = json.Unmarshal(value, text) // cannot fail: value is a string
	if *text == "" && field != "notes" {
		d.addFault(field, "is missing")
	}
}

func (d *draft) setEndpoints(value json.RawMessage) {
	if got := kindOf(value); got != "a list" {
		d.addFault("endpoints", "must be a list of strings; got %s", got)
		return
	}
	var items []json.RawMessage
	_ = json.Unmarshal(value, &items) // cannot fail: value is a list
	if len(items) > listing.MaxEndpoints {
		d.addFault("endpoints", "must be a list of 1 to %d paths; got %d", listing.MaxEndpoints, len(items))
		return
	}
	d.Endpoints = make([]string, len(items))
	for i, item := range items {
		if got := kindOf(item); got != "a string" {
			d.addFault("endpoints", "must be a list of strings; it contains %s", got)
			return
		}
		_ = json.Unmarshal(item, &d.Endpoints[i])
	}
}

// text returns the field of this name.
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

// ReadForm reads a submission as a browser without scripts sends it: each line of endpoints is one endpoint. An error
// is a *Error that lists every fault.
func ReadForm(form url.Values, rules Rules) (site.Submission, error) {
	var d draft
	for _, field := range site.SubmissionFields {
		values := form[field]
		if len(values) > 1 {
			d.addFault(field, "appears twice")
		}
		if len(values) == 0 {
			continue
		}
		text := strings.ToValidUTF8(strings.TrimSpace(values[0]), "\x00") // every field refuses a NUL
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
			d.addFault(clipName(strings.ToValidUTF8(field, "?")), "is not a known field")
		}
	}
	// the loop above ranges over a map, in random order
	slices.SortStableFunc(d.faults, func(a, b site.ErrorField) int { return strings.Compare(a.Field, b.Field) })
	return d.check(rules)
}
