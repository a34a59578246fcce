// This part of the package reads what an owner sends to have a service listed. It takes JSON or a form, and returns
// the submission in the form in which it is stored, or the faults of all fields. It must never know a database, a
// clock or the sender.

package message

import (
	"encoding/json"
	"net/url"
	"strings"

	"tollbook/site"
	"tollbook/site/listing"
)

// ReadSubmission reads a submission in JSON strictly: it must be one object, with each field at most once and no
// unknown field. An error is a *Error that lists every fault.
func ReadSubmission(body []byte, rules SubmissionRules) (site.Submission, error) {
	d := newDraft()
	if err := d.ReadJSON(body, d.set); err != nil {
		return site.Submission{}, err
	}
	return d.check(rules)
}

// set sets a field of the contract to a value.
func (d *draft) set(field string, value json.RawMessage) {
	if field == "endpoints" {
		d.setEndpoints(value)
		return
	}
	text, ok := d.Text(field, value)
	if *d.text(field) = text; ok && text == "" && field != "notes" {
		d.AddFault(field, "is missing")
	}
}

func (d *draft) setEndpoints(value json.RawMessage) {
	if got := kindOf(value); got != "a list" {
		d.AddFault("endpoints", "must be a list of strings; got %s", got)
		return
	}
	var items []json.RawMessage
	_ = json.Unmarshal(value, &items) // cannot fail: value is a list
	if len(items) > listing.MaxEndpoints {
		d.AddFault("endpoints", "must be a list of 1 to %d paths; got %d", listing.MaxEndpoints, len(items))
		return
	}
	d.Endpoints = make([]string, len(items))
	for i, item := range items {
		if got := kindOf(item); got != "a string" {
			d.AddFault("endpoints", "must be a list of strings; it contains %s", got)
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

// ReadSubmissionForm reads a submission as a browser without scripts sends it: each line of endpoints is one endpoint.
// An error is a *Error that lists every fault.
func ReadSubmissionForm(form url.Values, rules SubmissionRules) (site.Submission, error) {
	d := newDraft()
	d.ReadForm(form, func(field, text string) {
		if field != "endpoints" {
			*d.text(field) = text
			return
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				d.Endpoints = append(d.Endpoints, line)
			}
		}
	})
	return d.check(rules)
}
