package site

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Submission is what an owner sends to have a service listed, and the body of POST /v1/submit.
type Submission struct {
	URL         string   `json:"url"`
	Email       string   `json:"email"`
	ServiceName string   `json:"service_name"`
	Description string   `json:"description"`
	WebsiteURL  string   `json:"website_url"`
	Category    string   `json:"category"`
	Endpoints   []string `json:"endpoints"` // "/x" or "POST /x"
	Notes       string   `json:"notes,omitempty"`
}

// States of a submission.
const (
	SubmissionPending  = "pending"
	SubmissionApproved = "approved"
	SubmissionRejected = "rejected"
)

// SubmissionResult is the data of the answer to POST /v1/submit.
type SubmissionResult struct {
	SubmissionID string       `json:"submission_id"`
	Status       string       `json:"status"`
	ProbeResult  *ProbeResult `json:"probe_result"`
}

// ProbeResult is what asking the endpoints of a submission found.
type ProbeResult struct {
	EndpointsFound int      `json:"endpoints_found"`
	Errors         []string `json:"errors"`
}

// SubmissionState is the data of GET /v1/submissions/{id}: what its submitter may know. It holds nothing that he wrote.
type SubmissionState struct {
	SubmissionID string       `json:"submission_id"`
	Status       string       `json:"status"`
	Reason       *string      `json:"reason"`
	Slug         *string      `json:"slug"`
	ProbeResult  *ProbeResult `json:"probe_result"`
	ReceivedAt   Time         `json:"received_at"`
	DecidedAt    *Time        `json:"decided_at"`
}

// Limits of a submission, beside those of every listing.
const (
	MaxSubmission = 32 << 10 // bytes of a body
	MaxNotes      = 2000     // characters
	maxEmail      = 254      // bytes
	maxFaults     = 50       // told at once; those of known fields always
)

// SubmissionRules are what a submission is held to that this package can't know.
type SubmissionRules struct {
	Categories []string // that it may have, sorted
	FreeHosts  FreeHosts
	// Address is the one form in which an address is visited, or why it never is.
	Address func(*url.URL) (*url.URL, error)
}

// SubmissionError is why a submission is none: every fault of every field, in the order of the fields.
type SubmissionError struct{ Fields []ErrorField }

func (e *SubmissionError) Error() string {
	f := e.Fields[0]
	if len(e.Fields) > 1 {
		return fmt.Sprintf("%s %s, and %d more", f.Field, f.Message, len(e.Fields)-1)
	}
	return f.Field + " " + f.Message
}

// bodyField names the whole body in an error.
const bodyField = "body"

// SubmissionFields are the names of a submission's fields, in order.
var SubmissionFields = []string{"url", "email", "service_name", "description", "website_url", "category", "endpoints", "notes"}

// draft is a submission as it was sent, and what is wrong with it: of each field the first fault alone.
type draft struct {
	Submission
	faults []ErrorField
}

func (d *draft) fault(field, format string, args ...any) {
	known := slices.ContainsFunc(d.faults, func(f ErrorField) bool { return f.Field == field })
	if !known && (len(d.faults) < maxFaults || slices.Contains(SubmissionFields, field)) {
		d.faults = append(d.faults, ErrorField{Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

// checked is the submission in the form in which it is kept, or a *SubmissionError.
func (d *draft) checked(rules SubmissionRules) (Submission, error) {
	d.ServiceName = strings.TrimSpace(d.ServiceName)
	d.Description = strings.TrimSpace(oneLine.Replace(d.Description))
	d.Notes = strings.TrimSpace(d.Notes)
	d.checkAddresses(rules)
	if err := checkEmail(d.Email); err != nil {
		d.fault("email", "%v", err)
	}
	if err := CheckText(d.ServiceName, MaxName); err != nil {
		d.fault("service_name", "%v", err)
	}
	if err := CheckText(d.Description, MaxDescription); err != nil {
		d.fault("description", "%v", err)
	}
	switch {
	case d.Category == "":
		d.fault("category", "is missing")
	case !slices.Contains(rules.Categories, d.Category):
		d.fault("category", "may be %s", strings.Join(rules.Categories, ", "))
	}
	if paths, err := DeclaredPaths(d.Endpoints); err != nil {
		d.fault("endpoints", "%v", err)
	} else {
		for i, p := range paths {
			d.Endpoints[i] = p.String()
		}
	}
	unseen := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) }
	switch n := utf8.RuneCountInString(d.Notes); {
	case strings.ContainsFunc(d.Notes, unseen):
		d.fault("notes", "holds control characters")
	case n > MaxNotes:
		d.fault("notes", "has %d characters, may have %d", n, MaxNotes)
	}
	if len(d.faults) == 0 {
		return d.Submission, nil
	}
	slices.SortStableFunc(d.faults, func(a, b ErrorField) int { return fieldOrder(a.Field) - fieldOrder(b.Field) })
	return Submission{}, &SubmissionError{d.faults}
}

// oneLine puts a description that was typed in lines on one.
var oneLine = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ")

// fieldOrder is a field's place among errors, unknown ones last.
func fieldOrder(name string) int {
	if i := slices.Index(SubmissionFields, name); i >= 0 {
		return i
	}
	return len(SubmissionFields)
}

// checkAddresses holds both addresses to what is visited, and puts url into the form by which a service is known.
func (d *draft) checkAddresses(rules SubmissionRules) {
	if base, err := BaseURL(d.URL); err != nil {
		d.fault("url", "%v", err)
	} else if u, err := visited(base, rules); err != nil {
		d.fault("url", "%v", err)
	} else if normal, err := NormalAddress(u.String()); err != nil {
		d.fault("url", "%v", err)
	} else {
		d.URL = strings.TrimRight(normal, "/")
	}
	u, err := WebAddress(d.WebsiteURL)
	if err == nil {
		_, err = visited(u.String(), rules)
	}
	if err != nil {
		d.fault("website_url", "%v", err)
	}
}

// visited is the form of an address in which it is visited, where it may be listed at all.
func visited(address string, rules SubmissionRules) (*url.URL, error) {
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
		return errors.New("is no e-mail address such as you@acme.example")
	}
	if _, domain, _ := strings.Cut(s, "@"); !strings.Contains(domain, ".") || strings.ContainsAny(domain, "[@ ") || strings.HasSuffix(domain, ".") {
		return errors.New("is no e-mail address such as you@acme.example")
	}
	return nil
}

// How much is taken of whom, so that nobody fills the list of those who review it, or has us ask others for him.
const (
	SubmissionsPerHour = 10 // of a client
	PendingPerDomain   = 3  // submissions of a registrable domain that wait for review
	ProbesPerHour      = 3  // submissions of a registrable domain that are probed; more wait

	MaxPending = 1000 // submissions that wait for review in all, unless the operator says otherwise
)

// Received is a submission with how it came.
type Received struct {
	Submission
	Domain string // registrable domain of URL
	Client string // who sent it, as he is counted
	Key    string // of Idempotency-Key, "" without
	At     time.Time
	Probe  bool // whoever keeps it would probe it at once
	// MaxPending is how many submissions may wait for review in all; 0 is any number. What arrives in the same moment may
	// pass it: it guards reviewers and disks, which a few more do not hurt, and submitters do not wait for each other.
	MaxPending int
}

// Receipt is what became of it.
type Receipt struct {
	ID    string
	Again bool // it was received before, under the same key
	Probe bool // it is to be probed at once; else others do so later
	// ProbeResult is nil while nobody has asked.
	ProbeResult *ProbeResult
}

// DuplicateError is a submission of what the directory has.
type DuplicateError struct{ Message string }

func (e *DuplicateError) Error() string { return e.Message }

// SubmissionLimitError is one submission too many.
type SubmissionLimitError struct {
	Message    string
	RetryAfter time.Duration
}

func (e *SubmissionLimitError) Error() string { return e.Message }

// ErrKeyReused is an Idempotency-Key that came with another submission before.
var ErrKeyReused = errors.New("came with another submission before")

// SubmitForm is what the form of the submit page shows: nothing at first, else what was sent and what came of it.
type SubmitForm struct {
	Values     map[string]string // by the names of fields
	Faults     []ErrorField      // of fields, and of all of it
	Problem    string            // what is wrong with all of it, "" for nothing
	Result     *SubmissionResult
	Categories []string
}
