package message

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/listing"
)

// SubmissionRules are the rules for a submission that depend on the directory.
type SubmissionRules struct {
	Categories []string // the allowed categories, sorted
	FreeHosts  listing.FreeHosts
	// Address returns the form in which the crawler requests a URL. An error says why it never requests that URL.
	Address func(*url.URL) (*url.URL, error)
}

// draft is a submission as it was sent, with the first fault of each field.
type draft struct {
	site.Submission
	*reader
}

func newDraft() *draft { return &draft{reader: NewReader("submission", site.SubmissionFields)} }

// check returns the submission in the form in which it is stored. An error is a *Error.
func (d *draft) check(rules SubmissionRules) (site.Submission, error) {
	d.ServiceName = strings.TrimSpace(d.ServiceName)
	d.Description = strings.TrimSpace(oneLine.Replace(d.Description))
	d.Notes = strings.TrimSpace(d.Notes)
	d.checkAddresses(rules)
	if err := checkEmail(d.Email); err != nil {
		d.AddFault("email", "%v", err)
	}
	if err := listing.CheckText(d.ServiceName, listing.MaxName); err != nil {
		d.AddFault("service_name", "%v", err)
	}
	if err := listing.CheckText(d.Description, listing.MaxDescription); err != nil {
		d.AddFault("description", "%v", err)
	}
	switch {
	case d.Category == "":
		d.AddFault("category", "is missing")
	case !slices.Contains(rules.Categories, d.Category):
		d.AddFault("category", "must be one of %s", strings.Join(rules.Categories, ", "))
	}
	if paths, err := listing.ParsePaths(d.Endpoints); err != nil {
		d.AddFault("endpoints", "%v", err)
	} else {
		for i, p := range paths {
			d.Endpoints[i] = p.String()
		}
	}
	if err := checkLines(d.Notes, site.MaxNotes); err != nil {
		d.AddFault("notes", "%v", err)
	}
	if err := d.Err(); err != nil {
		return site.Submission{}, err
	}
	return d.Submission, nil
}

// oneLine joins the lines of a description.
var oneLine = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ")

// checkAddresses checks that the crawler may request both URLs, and normalises url, which identifies a service.
func (d *draft) checkAddresses(rules SubmissionRules) {
	if base, err := listing.BaseURL(d.URL); err != nil {
		d.AddFault("url", "%v", err)
	} else if u, err := checkAddress(base, rules); err != nil {
		d.AddFault("url", "%v", err)
	} else if normal, err := listing.NormalURL(u.String()); err != nil {
		d.AddFault("url", "%v", err)
	} else {
		d.URL = strings.TrimRight(normal, "/")
	}
	u, err := listing.ParseURL(d.WebsiteURL)
	if err == nil {
		_, err = checkAddress(u.String(), rules)
	}
	if err != nil {
		d.AddFault("website_url", "%v", err)
	}
}

// checkAddress returns the form in which the crawler requests a URL, or an error if the URL may not be listed.
func checkAddress(address string, rules SubmissionRules) (*url.URL, error) {
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
