package submission

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tollbook/site"
	"tollbook/site/lookup"
)

// Rules are what a submission is held to that this package can't know.
type Rules struct {
	Categories []string // that it may have, sorted
	FreeHosts  site.FreeHosts
	// Address is the one form in which an address is visited, or why it never is.
	Address func(*url.URL) (*url.URL, error)
}

// Error is why a submission is none: every fault of every field, in the order of the fields.
type Error struct{ Fields []site.ErrorField }

func (e *Error) Error() string {
	f := e.Fields[0]
	if len(e.Fields) > 1 {
		return fmt.Sprintf("%s %s, and %d more", f.Field, f.Message, len(e.Fields)-1)
	}
	return f.Field + " " + f.Message
}

const (
	maxEmail  = 254 // bytes
	maxFaults = 50  // returned at once; those of known fields always
)

// bodyField names the whole body in an error.
const bodyField = "body"

// draft is a submission as it was sent, and what is wrong with it: of each field the first fault alone.
type draft struct {
	site.Submission
	faults []site.ErrorField
}

func (d *draft) fault(field, format string, args ...any) {
	known := slices.ContainsFunc(d.faults, func(f site.ErrorField) bool { return f.Field == field })
	if !known && (len(d.faults) < maxFaults || slices.Contains(site.SubmissionFields, field)) {
		d.faults = append(d.faults, site.ErrorField{Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

// checked is the submission in the form in which it is kept, or a *Error.
func (d *draft) checked(rules Rules) (site.Submission, error) {
	d.ServiceName = strings.TrimSpace(d.ServiceName)
	d.Description = strings.TrimSpace(oneLine.Replace(d.Description))
	d.Notes = strings.TrimSpace(d.Notes)
	d.checkAddresses(rules)
	if err := checkEmail(d.Email); err != nil {
		d.fault("email", "%v", err)
	}
	if err := site.CheckText(d.ServiceName, site.MaxName); err != nil {
		d.fault("service_name", "%v", err)
	}
	if err := site.CheckText(d.Description, site.MaxDescription); err != nil {
		d.fault("description", "%v", err)
	}
	switch {
	case d.Category == "":
		d.fault("category", "is missing")
	case !slices.Contains(rules.Categories, d.Category):
		d.fault("category", "must be one of %s", strings.Join(rules.Categories, ", "))
	}
	if paths, err := site.ParsePaths(d.Endpoints); err != nil {
		d.fault("endpoints", "%v", err)
	} else {
		for i, p := range paths {
			d.Endpoints[i] = p.String()
		}
	}
	unseen := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) }
	switch n := utf8.RuneCountInString(d.Notes); {
	case strings.ContainsFunc(d.Notes, unseen):
		d.fault("notes", "must not contain control characters")
	case n > site.MaxNotes:
		d.fault("notes", "must have at most %d characters; got %d", site.MaxNotes, n)
	}
	if len(d.faults) == 0 {
		return d.Submission, nil
	}
	slices.SortStableFunc(d.faults, func(a, b site.ErrorField) int { return fieldOrder(a.Field) - fieldOrder(b.Field) })
	return site.Submission{}, &Error{d.faults}
}

// oneLine puts a description that was typed in lines on one.
var oneLine = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ")

// fieldOrder is a field's place among errors, unknown ones last.
func fieldOrder(name string) int {
	if i := slices.Index(site.SubmissionFields, name); i >= 0 {
		return i
	}
	return len(site.SubmissionFields)
}

// checkAddresses holds both addresses to what is visited, and puts url into the form by which a service is known.
func (d *draft) checkAddresses(rules Rules) {
	if base, err := site.BaseURL(d.URL); err != nil {
		d.fault("url", "%v", err)
	} else if u, err := visited(base, rules); err != nil {
		d.fault("url", "%v", err)
	} else if normal, err := lookup.NormalURL(u.String()); err != nil {
		d.fault("url", "%v", err)
	} else {
		d.URL = strings.TrimRight(normal, "/")
	}
	u, err := site.ParseURL(d.WebsiteURL)
	if err == nil {
		_, err = visited(u.String(), rules)
	}
	if err != nil {
		d.fault("website_url", "%v", err)
	}
}

// visited is the form of an address in which it is visited, where it may be listed at all.
func visited(address string, rules Rules) (*url.URL, error) {
	u, err := url.Parse(address)
	if err == nil {
		u, err = rules.Address(u)
	}
	if err != nil {
		return nil, err
	}
	if rules.FreeHosts.Has(u.Hostname()) {
		return nil, errors.New("is on a free-hosting or tunnel domain; list the service under a domain of its own")
	}
	return u, nil
}

// checkEmail holds an address to a@b.c, without a name, quotes or a literal.
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
