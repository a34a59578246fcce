package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/listing"
	"tollbook/site/routes"
	"tollbook/site/submission"
)

// Submissions stores what is sent: submissions, suggestions and requests for re-checks. postgres.DB implements it; its
// errors are those of package site.
type Submissions interface {
	// SubmissionCategories returns the categories that a submission may have, sorted.
	SubmissionCategories(ctx context.Context) ([]string, error)
	// ReceiveSubmission stores a submission durably, or returns the one that arrived with the same key before.
	ReceiveSubmission(ctx context.Context, r site.IncomingSubmission) (site.Receipt, error)
	// ReceiveSuggestion stores a suggestion durably, or returns the equal one that arrived before.
	ReceiveSuggestion(ctx context.Context, r site.IncomingSuggestion) (site.SuggestionResult, error)
	// RequestRecheck makes a service due for a visit at once.
	RequestRecheck(ctx context.Context, r site.IncomingRecheck) (site.RecheckResult, error)
	StoreSubmissionProbe(ctx context.Context, id string, result site.ProbeResult) error
	// SubmissionState returns site.ErrNotFound if no submission has this id.
	SubmissionState(ctx context.Context, id string) (site.SubmissionState, error)
}

// SubmissionProber sends requests to the endpoints of a submission, within its own limits.
type SubmissionProber interface {
	Probe(ctx context.Context, base string, endpoints []string) site.ProbeResult
}

// FillForm fills the form of a call in a page of a snapshot with the values that were sent and their errors, or
// replaces it by the result. It fails if the bytes are not such a page. form.Fill implements it.
type FillForm func(page []byte, call string, f site.Form) ([]byte, error)

// SubmitOptions configure how submissions are accepted.
type SubmitOptions struct {
	Store     Submissions
	Prober    SubmissionProber
	FreeHosts listing.FreeHosts
	Address   func(*url.URL) (*url.URL, error) // returns the URL as it is requested, or why it never is
	Domain    func(host string) string         // returns the registrable domain of a host
	FillForm  FillForm                         // nil: responses to forms are JSON
	BodyTime  time.Duration                    // time for a body to arrive; 0 means 10 s

	MaxPending int // limit of submissions that wait for review, and of open suggestions; 0 means no limit
}

// Limits of simultaneous submissions. Submissions over the first limit wait a little; those over the second are probed
// later.
const (
	maxReceiving = 32 // being stored
	maxProbing   = 16 // being probed
	receiveTime  = 10 * time.Second
	probeTime    = 15 * time.Second // longer than the prober's own limit, so that it can report unfinished endpoints
	maxKey       = 255
)

// submitter accepts submissions.
type submitter struct {
	SubmitOptions
	receiving, probing chan struct{}

	mu     sync.Mutex
	probes map[string]chan struct{} // running probes by submission id; closed when they end
}

func newSubmitter(o *SubmitOptions) *submitter {
	if o == nil {
		return nil
	}
	s := &submitter{SubmitOptions: *o, receiving: make(chan struct{}, maxReceiving),
		probing: make(chan struct{}, maxProbing), probes: map[string]chan struct{}{}}
	if s.BodyTime == 0 {
		s.BodyTime = 10 * time.Second
	}
	return s
}

// Names of the calls, which are also labels of metrics.
const (
	callSubmit     = "submit"
	callSuggest    = "suggestions"
	callRecheck    = "recheck"
	callSubmission = "submission"
)

var submissionsPath = strings.TrimSuffix(routes.CallByName(callSubmission).Pattern, "{id}")

const submitAllowed = "POST, OPTIONS"

var errNoSubmissions = &methodError{allowed: allowed, note: "; this server does not accept submissions"}

// call responds to a call of the table. No file contains the responses of calls.
func (h *handler) call(w *responseWriter, r *http.Request, name, segment string) {
	w.route = name
	switch name {
	case callSubmission:
		h.sendSubmission(w, r, segment)
	case callRecheck:
		h.recheck(w, r, segment)
	case callSuggest:
		h.suggest(w, r)
	default:
		h.submit(w, r)
	}
}

// sendSubmission responds to GET /v1/submissions/{id}.
func (h *handler) sendSubmission(w *responseWriter, r *http.Request, id string) {
	w.Header()["Cache-Control"] = headerNoStore
	ctx, cancel := context.WithTimeout(r.Context(), receiveTime)
	defer cancel()
	state, err := h.submitter.Store.SubmissionState(ctx, id)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.sendJSON(w, r, http.StatusOK, state)
}

// sendJSON sends a response that must not be cached.
func (h *handler) sendJSON(w *responseWriter, r *http.Request, code int, v any) {
	data, err := json.Marshal(site.Uncited[any]{Data: v})
	if err != nil {
		panic(err) // cannot fail: strings, numbers and times
	}
	w.Header()["Cache-Control"] = headerNoStore
	w.Header().Set("Content-Type", typeJSON)
	writeBody(w, r, code, append(invisible.EscapeJSON(data), '\n'))
}

// submit responds to POST /v1/submit: with JSON to JSON, with a page to a form.
func (h *handler) submit(w *responseWriter, r *http.Request) {
	var result *site.SubmissionResult
	p, err := h.readPost(w, r)
	if err == nil {
		result, err = h.process(r, p)
	}
	if err == nil && p.media == mediaJSON {
		w.Header().Set("Location", submissionsPath+result.SubmissionID)
	}
	h.sendResult(w, r, p, submitForm, result, err)
}

// process reads, stores and probes a submission.
func (h *handler) process(r *http.Request, p *post) (*site.SubmissionResult, error) {
	s := h.submitter
	ctx, cancel := context.WithTimeout(r.Context(), receiveTime)
	defer cancel()
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	receipt, submission, err := s.receive(ctx, p,
		site.IncomingSubmission{Client: p.client, Key: p.key, At: h.now(), MaxPending: s.MaxPending})
	leave()
	if err != nil {
		return nil, err
	}
	if !receipt.Repeated {
		h.logger.Info("submission received", "submission", receipt.ID, "url", submission.URL)
	}
	result := &site.SubmissionResult{SubmissionID: receipt.ID, Status: site.SubmissionPending,
		ProbeResult: receipt.ProbeResult}
	switch {
	case receipt.Probe:
		result.ProbeResult = h.probe(r, receipt.ID, submission)
	case receipt.Repeated && receipt.ProbeResult == nil:
		result.ProbeResult = s.awaitProbe(r.Context(), receipt.ID)
	}
	return result, nil
}

// receive checks and stores a submission. If the receipt says Probe, the caller must probe it and release the slot in
// s.probing.
func (s *submitter) receive(ctx context.Context, p *post, r site.IncomingSubmission) (site.Receipt, site.Submission,
	error) {
	categories, err := s.Store.SubmissionCategories(ctx)
	if err != nil {
		return site.Receipt{}, r.Submission, err
	}
	rules := submission.Rules{Categories: categories, FreeHosts: s.FreeHosts, Address: s.Address}
	if p.media == mediaJSON {
		r.Submission, err = submission.Read(p.body, rules)
	} else {
		r.Submission, err = submission.ReadForm(p.form, rules)
	}
	if err != nil {
		return site.Receipt{}, r.Submission, err
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return site.Receipt{}, r.Submission, fmt.Errorf("parse the URL %s of a valid submission: %w", r.URL, err)
	}
	r.Domain = s.Domain(u.Hostname())
	select {
	case s.probing <- struct{}{}:
		r.Probe = true
	default:
	}
	receipt, err := s.Store.ReceiveSubmission(ctx, r)
	if r.Probe && (err != nil || !receipt.Probe) {
		<-s.probing
	}
	if err == nil && receipt.Probe {
		s.mu.Lock()
		s.probes[receipt.ID] = make(chan struct{})
		s.mu.Unlock()
	}
	return receipt, r.Submission, err
}

// probe probes a stored submission, even if the submitter disconnects. After a crash another process probes it. It
// returns nil if the result could not be stored; then the submission is probed again.
func (h *handler) probe(r *http.Request, id string, submission site.Submission) *site.ProbeResult {
	s := h.submitter
	defer func() {
		<-s.probing
		s.mu.Lock()
		close(s.probes[id])
		delete(s.probes, id)
		s.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), probeTime)
	defer cancel()
	result := s.Prober.Probe(ctx, submission.URL, submission.Endpoints)
	if err := s.Store.StoreSubmissionProbe(ctx, id, result); err != nil {
		h.logger.Error("result of a submission's probe not stored; it will be probed again", "submission", id, "err",
			err)
		return nil
	}
	return &result
}

// awaitProbe waits for a probe that another request of this process started, and returns its result, or nil if there is
// none yet.
func (s *submitter) awaitProbe(ctx context.Context, id string) *site.ProbeResult {
	s.mu.Lock()
	end := s.probes[id]
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if end != nil {
		select {
		case <-end:
		case <-ctx.Done():
		}
	}
	state, err := s.Store.SubmissionState(ctx, id)
	if err != nil {
		return nil // the submission is stored all the same
	}
	return state.ProbeResult
}
