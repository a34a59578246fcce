// Package submitform renders the form with which a service is submitted, before and after it is sent. It needs no
// snapshot: serve fills in the page of a build.
//
// It must never know a database.
package submitform

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/templates"
)

// field is a field of the form.
type field struct {
	Name, Label, Hint, Value, Fault string
	Kind                            string // of an input; "" for a text area
	Max                             int    // in characters
	Optional                        bool
	Options                         []string
}

// formFields lists the fields in the order of the page.
var formFields = []field{
	{Name: "service_name", Label: "Service name", Kind: "text", Max: listing.MaxName},
	{Name: "description", Label: "Description", Hint: "One or two sentences.", Max: listing.MaxDescription},
	{Name: "url", Label: "Base URL", Hint: "The URL that endpoint paths are appended to, such as " +
		"https://api.acme.example. Free hosting and tunnel domains are not accepted.",
		Kind: "url", Max: listing.MaxURL},
	{Name: "endpoints", Label: "Paid endpoints", Hint: "One path per line, such as /quote or POST /search.",
		Max: listing.MaxEndpoints * (listing.MaxPath + 10)},
	{Name: "category", Label: "Category"},
	{Name: "website_url", Label: "Website", Kind: "url", Max: listing.MaxURL},
	{Name: "email", Label: "Your email address", Hint: "For questions only. It is never published.", Kind: "email",
		Max: 254},
	{Name: "notes", Label: "Notes for the reviewer", Max: site.MaxNotes, Optional: true},
}

// Comments that delimit the part of the page that a response replaces.
const beginMark, endMark = "<!--submission-->", "<!--/submission-->"

// Render returns the part of the page that a response replaces, with its delimiters. action is the address to which
// the form is sent.
func Render(action string, f site.SubmitForm) (template.HTML, error) {
	fields := slices.Clone(formFields)
	problem := f.Problem
	for i := range fields {
		fields[i].Value = f.Values[fields[i].Name]
		if fields[i].Name == "category" {
			fields[i].Options = f.Categories
		}
	}
	for _, fault := range f.Faults {
		i := slices.IndexFunc(fields, func(x field) bool { return x.Name == fault.Field })
		if i < 0 {
			problem = strings.TrimPrefix(problem+"; "+fault.Field+" "+fault.Message, "; ")
		} else {
			fields[i].Fault = fault.Message
		}
	}
	var b strings.Builder
	b.WriteString(beginMark)
	err := formTemplate.ExecuteTemplate(&b, "submitform.html", map[string]any{
		"Action": action, "Fields": fields, "Problem": problem, "Result": f.Result,
		"Faulty":  problem != "" || len(f.Faults) > 0,
		"Address": strings.TrimSuffix(action, "submit") + "submissions/",
	})
	if err != nil {
		return "", fmt.Errorf("render submit form: %w", err)
	}
	b.WriteString(endMark)
	return template.HTML(b.String()), nil // escaped by the template
}

var formTemplate = template.Must(template.ParseFS(templates.FS, "submitform.html"))

var errNoForm = errors.New("fill submit page: it contains no form; build the directory again")

// Fill returns a submit page with the result of a submission in place of the form, or with the values that were sent
// and their faults.
func Fill(page []byte, f site.SubmitForm) ([]byte, error) {
	head, rest, begins := bytes.Cut(page, []byte(beginMark))
	old, tail, ends := bytes.Cut(rest, []byte(endMark))
	_, after, acts := bytes.Cut(old, []byte(` action="`))
	action, _, closes := bytes.Cut(after, []byte(`"`))
	if !begins || !ends || !acts || !closes {
		return nil, errNoForm
	}
	part, err := Render(html.UnescapeString(string(action)), f)
	if err != nil {
		return nil, err
	}
	return slices.Concat(head, []byte(part), tail), nil
}
