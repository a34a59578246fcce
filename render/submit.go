package render

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/templates"
)

const (
	kindSubmit  = "submit"
	submitRoute = "submit-page"
)

// submitPolicy lets the page send its form, to this server alone, with its script and without.
const submitPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'"

// submitField is one field of the form.
type submitField struct {
	Name, Label, Hint, Value, Fault string
	Kind                            string // of an input; "" for a field of lines
	Max                             int
	Optional                        bool
	Options                         []string
}

// submitFields are the fields in the order of the page.
var submitFields = []submitField{
	{Name: "service_name", Label: "Name of the service", Kind: "text", Max: site.MaxName},
	{Name: "description", Label: "What it does", Hint: "In a sentence or two.", Max: site.MaxDescription},
	{Name: "url", Label: "Base address",
		Hint: "The address that paths are put behind, such as https://api.acme.example. No free hosts, no tunnels.",
		Kind: "url", Max: site.MaxURL},
	{Name: "endpoints", Label: "Paid endpoints", Hint: "A path a line, such as /quote, or POST /search.",
		Max: site.MaxEndpoints * (site.MaxPath + 10)},
	{Name: "category", Label: "Category"},
	{Name: "website_url", Label: "Website", Kind: "url", Max: site.MaxURL},
	{Name: "email", Label: "Your e-mail address", Hint: "For questions. It is never published.", Kind: "email",
		Max: 254},
	{Name: "notes", Label: "Notes for the reviewer", Max: site.MaxNotes, Optional: true},
}

// Marks around the part of the page that an answer replaces.
const submitBegin, submitEnd = "<!--submission-->", "<!--/submission-->"

// Submit is submit.html.
func (e *Edition) Submit() ([]byte, error) {
	categories := append(slices.Clone(e.snapshot.Categories), site.Categories...)
	slices.Sort(categories)
	part, err := submitPart(e.pages.prefix+site.CallByName("submit").Pattern,
		site.SubmitForm{Categories: slices.Compact(categories)})
	if err != nil {
		return nil, err
	}
	return e.render(page{
		Key: bareKey(submitRoute, ""), Kind: kindSubmit, Title: "Submit a service", Policy: submitPolicy,
		Script:      e.pages.script,
		Description: "Have a service that charges per request over HTTP 402 listed: what is asked for, what is checked, and who decides.",
		Body:        struct{ Part template.HTML }{template.HTML(submitBegin + part + submitEnd)},
	})
}

var errSubmitPage = errors.New("fill submit page: it is none")

// FillSubmit is a submit page with an answer in place of its form, or with what was sent to it and what is wrong with
// that.
func FillSubmit(page []byte, f site.SubmitForm) ([]byte, error) {
	head, rest, begins := bytes.Cut(page, []byte(submitBegin))
	old, tail, ends := bytes.Cut(rest, []byte(submitEnd))
	_, after, acts := bytes.Cut(old, []byte(` action="`))
	action, _, closes := bytes.Cut(after, []byte(`"`))
	if !begins || !ends || !acts || !closes {
		return nil, errSubmitPage
	}
	part, err := submitPart(html.UnescapeString(string(action)), f)
	if err != nil {
		return nil, err
	}
	return slices.Concat(head, []byte(submitBegin+part+submitEnd), tail), nil
}

// submitTemplate is the part of the page that changes. It is by itself, so that an answer needs no snapshot.
var submitTemplate = template.Must(template.ParseFS(templates.FS, "submitform.html"))

func submitPart(action string, f site.SubmitForm) (string, error) {
	fields := slices.Clone(submitFields)
	problem := f.Problem
	for i := range fields {
		fields[i].Value = f.Values[fields[i].Name]
		if fields[i].Name == "category" {
			fields[i].Options = f.Categories
		}
	}
	for _, fault := range f.Faults {
		i := slices.IndexFunc(fields, func(x submitField) bool { return x.Name == fault.Field })
		if i < 0 {
			problem = strings.TrimPrefix(problem+"; "+fault.Field+" "+fault.Message, "; ")
		} else {
			fields[i].Fault = fault.Message
		}
	}
	var b strings.Builder
	err := submitTemplate.ExecuteTemplate(&b, "submitform.html", map[string]any{
		"Action": action, "Fields": fields, "Problem": problem, "Result": f.Result,
		"Faulty":  problem != "" || len(f.Faults) > 0,
		"Address": strings.TrimSuffix(action, "submit") + "submissions/",
	})
	if err != nil {
		return "", fmt.Errorf("render submit form: %w", err)
	}
	return b.String(), nil
}
