// This file renders the forms of pages, before and after they are sent: with which a service is submitted, something
// is suggested, or a re-check is requested. It needs no snapshot: serve fills in the pages of a build.
//
// It must never know a database.

package lists

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
	"tollbook/site/routes"
	"tollbook/templates"
)

// field is a field of a form.
type field struct {
	Name, Label, Hint, Value, Fault string
	Kind                            string // of an input; "" for a text area or a choice
	Missing                         string // what to do if it is empty; "" if it may be
	Max                             int    // in characters
	Optional                        bool
	IsChoice                        bool
	Options                         []option // of a choice; nil for the categories of a submission
	ID                              string
}

// option is one value of a choice.
type option struct{ Value, Label string }

// kind is a form: the names of calls are the names of its template.
type kind struct {
	mark   string // of the comments that delimit the part of a page
	prefix string // of ids, so that two forms on one page differ
	button string
	fields []field // in the order of the page
}

var kinds = map[string]kind{
	"submit": {"submission", "", "Submit for review", []field{
		{Name: "service_name", Label: "Service name", Missing: "Enter a service name.", Kind: "text", Max: listing.MaxName},
		{Name: "description", Label: "Description", Missing: "Enter a description.", Hint: "One or two sentences.", Max: listing.MaxDescription},
		{Name: "url", Label: "Base URL", Missing: "Enter a base URL.", Hint: "The URL that endpoint paths are appended to, such as " +
			"https://api.acme.example. Free hosting and tunnel domains are not accepted.",
			Kind: "url", Max: listing.MaxURL},
		{Name: "endpoints", Label: "Paid endpoints", Hint: "One path per line, such as /quote or POST /search.",
			Missing: "Enter at least one path.", Max: listing.MaxEndpoints * (listing.MaxPath + 10)},
		{Name: "category", Label: "Category", Missing: "Choose a category.", IsChoice: true},
		{Name: "website_url", Label: "Website", Missing: "Enter a website.", Kind: "url", Max: listing.MaxURL},
		{Name: "email", Label: "Your email address", Hint: "For questions only. It is never published.",
			Missing: "Enter your email address.", Kind: "email", Max: 254},
		{Name: "notes", Label: "Notes for the reviewer", Max: site.MaxNotes, Optional: true},
	}},
	"suggestions": {"suggestion", "suggestion-", "Send", []field{
		{Name: "text", Label: "Your suggestion", Missing: "Enter your suggestion.", Max: site.MaxSuggestion,
			Hint: "What is wrong, and how you know. The URL of a page or document helps."},
		{Name: "category", Label: "What it is about", Optional: true, IsChoice: true, Options: []option{
			{"correction", "A correction"}, {"service", "A service to list"}, {"feature", "A feature"},
			{"other", "Something else"}}},
		{Name: "email", Label: "Your email address", Hint: "For an answer only. It is never published.",
			Kind: "email", Max: 254, Optional: true},
	}},
	"recheck": {"recheck", "recheck-", "Check it now", nil},
}

// Submission returns the form to submit a service, in one of these categories. prefix is the path of the directory.
func Submission(prefix string, categories []string) (template.HTML, error) {
	return render("submit", prefix+routes.CallByName("submit").Pattern, site.Form{Categories: categories})
}

// Suggestion returns the form to suggest something, with the beginning of its text.
func Suggestion(prefix, text string) (template.HTML, error) {
	return render("suggestions", prefix+routes.CallByName("suggestions").Pattern,
		site.Form{Values: map[string]string{"text": text}})
}

// Recheck returns the form to request a re-check of a service. Its answer shows the page from the id at on.
func Recheck(prefix, slug, at string) (template.HTML, error) {
	path := strings.Replace(routes.CallByName("recheck").Pattern, "{slug}", slug, 1)
	return render("recheck", prefix+path+"#"+at, site.Form{})
}

// render returns the form of a call, or its result, with the comments by which Fill finds this part of a page. action
// is the address to which the form is sent.
func render(call, action string, f site.Form) (template.HTML, error) {
	k := kinds[call]
	fields := slices.Clone(k.fields)
	problem := f.Problem
	for i := range fields {
		fields[i].Value, fields[i].ID = f.Values[fields[i].Name], k.prefix+fields[i].Name
		if fields[i].IsChoice && fields[i].Options == nil {
			fields[i].Options = options(f.Categories)
		}
	}
	for _, fault := range f.Faults {
		i := slices.IndexFunc(fields, func(x field) bool { return x.Name == fault.Field })
		if i < 0 {
			problem = strings.TrimPrefix(problem+"; "+fault.Field+" "+fault.Message, "; ")
		} else {
			fields[i].Fault = fault.Message
			if strings.TrimSpace(fields[i].Value) == "" && fields[i].Missing != "" {
				fields[i].Fault = fields[i].Missing
			}
		}
	}
	var b strings.Builder
	b.WriteString("<!--" + k.mark + "-->")
	err := parts.ExecuteTemplate(&b, call, map[string]any{
		"Action": action, "Fields": fields, "Problem": problem, "Result": f.Result, "Button": k.button,
		"Faulty": problem != "" || len(f.Faults) > 0, "ID": k.prefix + "fault",
		"Address": strings.TrimSuffix(action, "submit") + "submissions/", "Page": pageOf(action),
	})
	if err != nil {
		return "", fmt.Errorf("render form %s: %w", call, err)
	}
	b.WriteString("<!--/" + k.mark + "-->")
	return template.HTML(b.String()), nil // escaped by the template
}

func options(categories []string) []option {
	all := make([]option, len(categories))
	for i, c := range categories {
		all[i] = option{c, c}
	}
	return all
}

// pageOf returns the address of the service's page to which a re-check belongs, "" for other actions.
func pageOf(action string) string {
	head, rest, ok := strings.Cut(action, "/v1/services/")
	slug, _, _ := strings.Cut(rest, "/")
	if !ok {
		return ""
	}
	return head + "/services/" + slug + ".html"
}

var parts = template.Must(template.ParseFS(templates.FS, "form.html"))

var errNoForm = errors.New("fill in a page: it contains no such form; build the directory again")

// FillForm returns a page with the result of a call in place of its form, or with the values that were sent and their
// faults.
func FillForm(page []byte, call string, f site.Form) ([]byte, error) {
	mark := kinds[call].mark
	head, rest, begins := bytes.Cut(page, []byte("<!--"+mark+"-->"))
	old, tail, ends := bytes.Cut(rest, []byte("<!--/"+mark+"-->"))
	_, after, acts := bytes.Cut(old, []byte(` action="`))
	action, _, closes := bytes.Cut(after, []byte(`"`))
	if !begins || !ends || !acts || !closes {
		return nil, errNoForm
	}
	part, err := render(call, html.UnescapeString(string(action)), f)
	if err != nil {
		return nil, err
	}
	return slices.Concat(head, []byte(part), tail), nil
}
