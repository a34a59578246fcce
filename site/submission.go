package site

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"reflect"
	"strings"
	"time"
)

// Submission is a service that its owner submits for listing. Other fields are refused.
//
// It is the body of POST /v1/submit: a service that its owner wants to have listed.
type Submission struct {
	// Base URL of the service; free hosts, tunnels and private addresses are refused.
	URL string `json:"url" format:"uri"`
	// Contact address of the submitter; never published.
	Email string `json:"email" format:"email"`
	// Name of the service, up to 100 characters.
	ServiceName string `json:"service_name"`
	// What the service does, up to 2,000 characters.
	Description string `json:"description"`
	// Public website; free hosts and tunnels are refused.
	WebsiteURL string `json:"website_url" format:"uri"`
	// A category in use, or one of AI, Blockchain, Compute, Content, Data, Finance, Other, Verification.
	Category string `json:"category"`
	// 1 to 25 paths to probe, up to 500 bytes each: "/quote", or "POST /search" if the method matters.
	Endpoints []string `json:"endpoints"`
	// Notes for the reviewer, up to 2,000 characters.
	Notes string `json:"notes,omitempty"`
}

// States of a submission.
const (
	SubmissionPending  = "pending"
	SubmissionApproved = "approved"
	SubmissionRejected = "rejected"
)

// SubmissionResult is the immediate result of a submission.
//
// It is the data of the response to POST /v1/submit.
type SubmissionResult struct {
	// Id of the submission; keep it, since only the submitter receives it.
	SubmissionID string `json:"submission_id" format:"uuid"`
	// Status of the submission: it waits for review.
	Status string `json:"status" enum:"SubmissionPending"`
	// Result of the probe; null while the probe waits because the domain was probed three times in one hour.
	ProbeResult *ProbeResult `json:"probe_result"`
}

// ProbeResult is the result of requesting a submission's endpoints without paying.
type ProbeResult struct {
	// Number of endpoints that requested payment.
	EndpointsFound int `json:"endpoints_found"`
	// One message for each endpoint that did not request payment, with the reason.
	Errors []string `json:"errors"`
	// Tools of the submitted MCP servers that asked for payment, with their prices; absent without any.
	PaidTools []string `json:"paid_tools,omitempty"`
	// A, B, C, D or F, for the reviewer alone; "" without a response to grade
	Grade string `json:"-"`
}

// SubmissionToken returns the token that the owner of a submitted service publishes to prove that it is theirs. Only
// the submitter and the operator know the id.
func SubmissionToken(id string) string {
	sum := sha256.Sum256([]byte("tollbook submission " + id))
	return "tollbook-" + base32.StdEncoding.EncodeToString(sum[:])[:26]
}

// SubmissionState is the current state of a submission. It contains nothing that the submitter wrote.
//
// It is the data of GET /v1/submissions/{id}.
type SubmissionState struct {
	SubmissionID string `json:"submission_id"`
	// Whether the submission waits for review, was approved or was rejected.
	Status string `json:"status" enum:"SubmissionStates"`
	// Why the submission was rejected; null unless it was.
	Reason *string `json:"reason"`
	// Slug of the listed service; null until the submission is approved.
	Slug        *string      `json:"slug"`
	ProbeResult *ProbeResult `json:"probe_result"`
	// When the submission was received.
	ReceivedAt Time `json:"received_at"`
	// When the submission was approved or rejected; null before that.
	DecidedAt *Time `json:"decided_at"`
}

// Limits of a submission, in addition to those of every listing.
const (
	MaxSubmission = 32 << 10 // bytes of a body
	MaxNotes      = 2000     // characters
)

// SubmissionFields are the names of a submission's fields, in order.
var SubmissionFields = namesOf(reflect.TypeFor[Submission]())

// namesOf returns the names of a struct's fields in JSON.
func namesOf(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	return names
}

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
