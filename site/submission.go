package site

import (
	"errors"
	"time"
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
)

// SubmissionFields are the names of a submission's fields, in order.
var SubmissionFields = []string{"url", "email", "service_name", "description", "website_url", "category", "endpoints",
	"notes"}

// How much is taken of whom, so that nobody fills the list of those who review it, or has us ask others for him.
const (
	SubmissionsPerHour = 10 // of a client
	PendingPerDomain   = 3  // submissions of a registrable domain that wait for review
	ProbesPerHour      = 3  // submissions of a registrable domain that are probed; more wait

	MaxPending = 1000 // submissions that wait for review in all, unless the operator says otherwise
)

// IncomingSubmission is a submission with how it came.
type IncomingSubmission struct {
	Submission
	Domain string // registrable domain of URL
	Client string // who sent it, as he is counted
	Key    string // of Idempotency-Key, "" without
	At     time.Time
	Probe  bool // whoever keeps it would probe it at once
	// MaxPending is how many submissions may wait for review in all; 0 is any number. What arrives in the same moment
	// may pass it: it guards reviewers and disks, which a few more do not hurt, and submitters do not wait for each
	// other.
	MaxPending int
}

// Receipt is what became of it.
type Receipt struct {
	ID       string
	Repeated bool // it was received before, under the same key
	Probe    bool // it is to be probed at once; else others do so later
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
