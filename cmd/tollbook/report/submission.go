package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/postgres/inbox"
)

// Submissions prints submissions.
func Submissions(w io.Writer, list []inbox.Submission, asJSON bool) error {
	if asJSON {
		lines := make([]Submission, len(list))
		for i := range list {
			lines[i] = NewSubmission(&list[i])
		}
		return JSONList(w, lines)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "No submissions.")
		return err
	}
	t := NewTable(w, "ID", "RECEIVED", "STATE", "PAID", "GRADE", "NAME", "URL")
	for _, s := range list {
		paid, grade := "-", "-"
		if s.ProbeResult != nil {
			paid = fmt.Sprintf("%d/%d", s.ProbeResult.EndpointsFound, len(s.Endpoints))
		}
		if s.Grade != nil {
			grade = *s.Grade
		}
		t.Row(s.ID, s.ReceivedAt.UTC().Format(time.DateTime), s.State, paid, grade, s.ServiceName, s.URL)
	}
	return t.Flush()
}

// Submission is one submission as submissions show prints it.
type Submission struct {
	ID         string    `json:"id"`
	State      string    `json:"state"`
	ReceivedAt site.Time `json:"received_at"`
	site.Submission
	ProbeResult *site.ProbeResult `json:"probe_result"`
	// of the probe; null without a response to grade
	Grade     *string               `json:"grade"`
	Token     string                `json:"ownership_token,omitempty"` // while it waits for review
	DecidedAt *site.Time            `json:"decided_at"`
	Reason    *string               `json:"reason"`
	Slug      *string               `json:"slug"`
	Preview   *site.ServiceListItem `json:"preview,omitempty"` // the listing, while it waits for review
	Trail     []trailLine           `json:"trail,omitempty"`
}

type trailLine struct {
	At     site.Time `json:"at"`
	Actor  string    `json:"actor"`
	Action string    `json:"action"`
	Detail string    `json:"detail"`
}

// NewSubmission returns the report on a submission with its audit trail.
func NewSubmission(s *inbox.Submission) Submission {
	r := Submission{
		ID: s.ID.String(), State: s.State, ReceivedAt: site.NewTime(s.ReceivedAt), Submission: s.Submission,
		ProbeResult: s.ProbeResult, Grade: s.Grade, DecidedAt: timeOrNull(s.DecidedAt), Reason: s.Reason, Slug: s.Slug,
	}
	if s.State == site.SubmissionPending {
		r.Token = site.SubmissionToken(r.ID)
	}
	for _, e := range s.Audit {
		r.Trail = append(r.Trail, trailLine{site.NewTime(e.At), e.Actor, e.Action, e.Detail})
	}
	return r
}

// AddPreview adds the listing that the submission would get if it were approved now, under slug.
func (s *Submission) AddPreview(slug string, now time.Time) {
	s.Preview = &site.ServiceListItem{
		Slug: slug, Name: s.ServiceName, Description: s.Description, BaseURL: s.URL, WebsiteURL: &s.WebsiteURL,
		Category: s.Category, Status: site.StatusUnknown, EndpointCount: len(s.Endpoints), Networks: []string{},
		CreatedAt: site.NewTime(now), NetworksCAIP2: []string{}, Source: "submitted",
	}
}

// Print writes the report.
func (s *Submission) Print(w io.Writer, asJSON bool) error {
	if asJSON {
		return JSON(w, s)
	}
	t := NewTable(w)
	t.Row("Submission", s.ID)
	t.Row("State", s.State)
	t.Row("Received", s.ReceivedAt.String())
	t.Row("E-mail", s.Email)
	for text := range strings.Lines(s.Notes) {
		t.Row("Notes", strings.TrimRight(text, "\r\n"))
	}
	if p := s.ProbeResult; p != nil {
		t.Row("Probe", fmt.Sprintf("%d of %d endpoints asked for payment", p.EndpointsFound, len(s.Endpoints)))
		for _, tool := range p.PaidTools {
			t.Row("", "paid tool "+tool)
		}
		for _, e := range p.Errors {
			t.Row("", e)
		}
	} else {
		t.Row("Probe", "not sent yet")
	}
	if s.Grade != nil {
		t.Row("Grade", *s.Grade)
	}
	if s.Token != "" {
		t.Row("Token", s.Token)
		t.Row("", "the owner proves control with this line of /.well-known/tollbook on the service's host")
	}
	if s.Reason != nil {
		t.Row("Reason", *s.Reason)
	}
	if s.Slug != nil {
		t.Row("Listed as", *s.Slug)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := s.printPreview(w); err != nil {
		return err
	}
	for i, e := range s.Trail {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s %s: %s %s\n", e.At, invisible.Drop(e.Actor), e.Action, invisible.Drop(e.Detail))
	}
	return nil
}

func (s *Submission) printPreview(w io.Writer) error {
	p := s.Preview
	if p == nil {
		return nil
	}
	fmt.Fprintf(w, "\nListing after approval:\n\n")
	t := NewTable(w)
	t.Row("  /services/" + p.Slug)
	t.Row("  Name", p.Name)
	t.Row("  About", p.Description)
	t.Row("  Category", p.Category)
	t.Row("  URL", p.BaseURL)
	t.Row("  Website", *p.WebsiteURL)
	for _, e := range s.Endpoints {
		t.Row("  Endpoint", e)
	}
	return t.Flush()
}

// Decision is the result of a review.
type Decision struct {
	ID     string `json:"id"`
	State  string `json:"state"` // approved, rejected or closed; failed if it could not be decided
	Slug   string `json:"slug,omitempty"`
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"` // why it could not be decided
}

// DecisionFailed is the state of a submission or suggestion in a report that could not be decided.
const DecisionFailed = "failed"

// Decisions prints the results of a review of several submissions or suggestions, one on each line.
func Decisions(w io.Writer, list []Decision, asJSON bool) error {
	if asJSON {
		return JSONList(w, list)
	}
	t := NewTable(w)
	for _, d := range list {
		switch {
		case d.Error != "":
			t.Row(d.ID, d.State, d.Error)
		case d.Slug != "":
			t.Row(d.ID, d.State, "listed as "+d.Slug)
		default:
			t.Row(d.ID, d.State, d.Reason)
		}
	}
	return t.Flush()
}

// Print writes the decision and, after an approval, the commands that follow it.
func (d *Decision) Print(w io.Writer, asJSON bool) (err error) {
	switch {
	case asJSON:
		err = JSON(w, d)
	case d.Slug != "":
		_, err = fmt.Fprintf(w, "Listed as %s. Next: tollbook crawl visits it, tollbook build publishes it\n", d.Slug)
	case d.State == site.SuggestionClosed:
		_, err = fmt.Fprintln(w, "Closed.")
	default:
		_, err = fmt.Fprintf(w, "Rejected: %s\n", d.Reason)
	}
	return err
}
