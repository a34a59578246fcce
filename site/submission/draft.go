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
	"tollbook/site/listing"
	"tollbook/site/lookup"
)

// Rules are the rules for a submission that depend on the directory.
type Rules struct {
	Categories []string // the allowed categories, sorted
	FreeHosts  listing.FreeHosts
	// Address returns the form in which the crawler requests a URL. An error says why it never requests that URL.
	Address func(*url.URL) (*url.URL, error)
}

// Error says why a submission is refused: the faults of all fields, in the order of the fields.
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
	maxFaults = 50  // most faults in an error, though faults of the contract's fields are always added
)

// bodyField names the whole body in an error.
const bodyField = "body"

// draft is a submission as it was sent, with the first fault of each field.
type draft struct {
	site.Submission
	faults []site.ErrorField
}

// addFault adds a fault of a field, unless the field has one or there are too many.
func (d *draft) addFault(field, format string, args ...any) {
	hasFault := slices.ContainsFunc(d.faults, func(f site.ErrorField) bool { return f.Field == field })
	if !hasFault && (len(d.faults) < maxFaults || slices.Contains(site.SubmissionFields, field)) {
		d.faults = append(d.faults, site.ErrorField{Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

// check returns the submission in the form in which it is stored. An error is a *Error.
func (d *draft) check(rules Rules) (site.Submission, error) {
	d.ServiceName = strings.TrimSpace(d.ServiceName)
	d.Description = strings.TrimSpace(oneLine.Replace(d.Description))
	d.Notes = strings.TrimSpace(d.Notes)
	d.checkAddresses(rules)
	if err := checkEmail(d.Email); err != nil {
		d.addFault("email", "%v", err)
	}
	if err := listing.CheckText(d.ServiceName, listing.MaxName); err != nil {
		d.addFault("service_name", "%v", err)
	}
	if err := listing.CheckText(d.Description, listing.MaxDescription); err != nil {
		d.addFault("description", "%v", err)
	}
	switch {
	case d.Category == "":
		d.addFault("category", "is missing")
	case !slices.Contains(rules.Categories, d.Category):
		d.addFault("category", "must be one of %s", strings.Join(rules.Categories, ", "))
	}
	if paths, err := listing.ParsePaths(d.Endpoints); err != nil {
		d.addFault("endpoints", "%v", err)
	} else {
		for i, p := range paths {
			d.Endpoints[i] = p.String()
		}
	}
	isControl := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) }
	switch n := utf8.RuneCountInString(d.Notes); {
	case strings.ContainsFunc(d.Notes, isControl):
		d.addFault("notes", "must not contain control characters")
	case n > site.MaxNotes:
		d.addFault("notes", "must have at most %d characters; got %d", site.MaxNotes, n)
	}
	if len(d.faults) == 0 {
		return d.Submission, nil
	}
	slices.SortStableFunc(d.faults, func(a, b site.ErrorField) int { return fieldOrder(a.Field) - fieldOrder(b.Field) })
	return site.Submission{}, &Error{d.faults}
}

// oneLine joins the lines of a description.
var oneLine = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ")

// fieldOrder returns a field's position among errors. Unknown fields come last.
func fieldOrder(name string) int {
	if i := slices.Index(site.SubmissionFields, name); i >= 0 {
		return i
	}
	return len(site.SubmissionFields)
}

// checkAddresses checks that the crawler may request both URLs, and normalises url, which identifies a service.
func (d *draft) checkAddresses(rules Rules) {
	if base, err := listing.BaseURL(d.URL); err != nil {
		d.addFault("url", "%v", err)
	} else if u, err := checkAddress(base, rules); err != nil {
		d.addFault("url", "%v", err)
	} else if normal, err := lookup.NormalURL(u.String()); err != nil {
		d.addFault("url", "%v", err)
	} else {
		d.URL = strings.TrimRight(normal, "/")
	}
	u, err := listing.ParseURL(d.WebsiteURL)
	if err == nil {
		_, err = checkAddress(u.String(), rules)
	}
	if err != nil {
		d.addFault("website_url", "%v", err)
	}
}

// checkAddress returns the form in which the crawler requests a URL, or an error if the URL may not be listed.
func checkAddress(address string, rules Rules) (*url.URL, error) {
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
