package site

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"time"
)

// Submission is the body of POST /v1/submit: a service that its owner wants to have listed.
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

// SubmissionResult is the data of the response to POST /v1/submit.
type SubmissionResult struct {
	SubmissionID string       `json:"submission_id"`
	Status       string       `json:"status"`
	ProbeResult  *ProbeResult `json:"probe_result"`
}

// ProbeResult is the result of requesting the endpoints of a submission.
type ProbeResult struct {
	EndpointsFound int      `json:"endpoints_found"`
	Errors         []string `json:"errors"`
	PaidTools      []string `json:"paid_tools,omitempty"` // of MCP servers, with their prices
	// A, B, C, D or F, for the reviewer alone; "" without a response to grade
	Grade string `json:"-"`
}

// SubmissionToken returns the token that the owner of a submitted service publishes to prove that it is theirs. Only
// the submitter and the operator know the id.
func SubmissionToken(id string) string {
	sum := sha256.Sum256([]byte("tollbook submission " + id))
	return "tollbook-" + base32.StdEncoding.EncodeToString(sum[:])[:26]
}

// SubmissionState is the data of GET /v1/submissions/{id}. It contains nothing that the submitter wrote.
type SubmissionState struct {
	SubmissionID string       `json:"submission_id"`
	Status       string       `json:"status"`
	Reason       *string      `json:"reason"`
	Slug         *string      `json:"slug"`
	ProbeResult  *ProbeResult `json:"probe_result"`
	ReceivedAt   Time         `json:"received_at"`
	DecidedAt    *Time        `json:"decided_at"`
}

// Limits of a submission, in addition to those of every listing.
const (
	MaxSubmission = 32 << 10 // bytes of a body
	MaxNotes      = 2000     // characters
)

// SubmissionFields are the names of a submission's fields, in order.
var SubmissionFields = []string{"url", "email", "service_name", "description", "website_url", "category", "endpoints",
	"notes"}

// Limits per client and per domain. They keep one sender from filling the review queue, and from using the probe to
// send requests to others.
const (
	SubmissionsPerHour = 10 // submissions of one client
	PendingPerDomain   = 3  // submissions of one registrable domain that wait for review
	ProbesPerHour      = 3  // submissions of one registrable domain that are probed; others wait

	MaxPending = 1000 // default limit of all submissions that wait for review
)

// IncomingSubmission is a submission with its sender and time.
type IncomingSubmission struct {
	Submission
	Domain string // the registrable domain of URL
	Client string // the sender, as rate limits count it
	Key    string // value of Idempotency-Key; "" if absent
	At     time.Time
	Probe  bool // the receiver can probe the submission at once
	// MaxPending is the limit of all submissions that wait for review; 0 means no limit. Submissions that arrive at the
	// same moment do not exceed it, either.
	MaxPending int
}

// Receipt is the result of storing a submission.
type Receipt struct {
	ID       string
	Repeated bool // the same key was received before
	Probe    bool // probe at once; otherwise a later job probes it
	// ProbeResult is nil until the endpoints have been probed.
	ProbeResult *ProbeResult
}

// DuplicateError reports a submission of a service that is listed or waits for review.
type DuplicateError struct{ Message string }

func (e *DuplicateError) Error() string { return e.Message }

// SubmissionLimitError reports a submission that exceeds a limit.
type SubmissionLimitError struct {
	Message    string
	RetryAfter time.Duration
}

func (e *SubmissionLimitError) Error() string { return e.Message }

// ErrNoDatabase reports that the database does not answer. The request may be repeated.
var ErrNoDatabase = errors.New("the database does not answer")

// ErrKeyReused reports an Idempotency-Key that was used for a different submission.
var ErrKeyReused = errors.New("was already used for a different submission")
