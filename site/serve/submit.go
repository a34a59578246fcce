package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"tollbook/site"
	"tollbook/site/submission"
)

// Submissions keeps what owners send. postgres.DB does; its errors are those of site.
type Submissions interface {
	// SubmissionCategories are those that a submission may have, sorted.
	SubmissionCategories(ctx context.Context) ([]string, error)
	// ReceiveSubmission keeps a submission for good before it returns, or answers that which came under the same key.
	ReceiveSubmission(ctx context.Context, r site.IncomingSubmission) (site.Receipt, error)
	StoreSubmissionProbe(ctx context.Context, id string, result site.ProbeResult) error
	// SubmissionState answers site.ErrNotFound for an id that no submission has.
	SubmissionState(ctx context.Context, id string) (site.SubmissionState, error)
}

// SubmissionProber asks the endpoints of a submission, within bounds of its own.
type SubmissionProber interface {
	Probe(ctx context.Context, base string, endpoints []string) site.ProbeResult
}

// FillForm returns the submit page of a snapshot with an answer in place of its form, or with what was sent to it and
// what is wrong with that; an error for bytes that are no such page. submitform.Fill is one.
type FillForm func(page []byte, f site.SubmitForm) ([]byte, error)

// SubmitOptions are what taking submissions needs.
type SubmitOptions struct {
	Store     Submissions
	Prober    SubmissionProber
	FreeHosts site.FreeHosts
	Address   func(*url.URL) (*url.URL, error) // the form in which an address is visited, or why it never is
	Domain    func(host string) string         // who owns a host
	FillForm  FillForm                         // nil where forms are answered in JSON
	BodyTime  time.Duration                    // for a body to arrive; 10 s when zero

	MaxPending int // submissions that may wait for review; 0 is any number
}

// Bounds of what submissions may use at once. Those over the first wait a little; those over the second are probed
// later.
const (
	maxReceiving = 32 // that are being kept
	maxProbing   = 16 // that are being probed
	receiveTime  = 10 * time.Second
	probeTime    = 15 * time.Second // more than the prober's own, which says what it did not come to
	maxKey       = 255
)

// submitter takes submissions.
type submitter struct {
	SubmitOptions
	receiving, probing chan struct{}

	mu       sync.Mutex
	underWay map[string]chan struct{} // probes, by submission; closed at their end
}

func newSubmitter(o *SubmitOptions) *submitter {
	if o == nil {
		return nil
	}
	s := &submitter{SubmitOptions: *o, receiving: make(chan struct{}, maxReceiving),
		probing: make(chan struct{}, maxProbing), underWay: map[string]chan struct{}{}}
	if s.BodyTime == 0 {
		s.BodyTime = 10 * time.Second
	}
	return s
}

// Names of the calls, which metrics tell apart too.
const (
	callSubmit     = "submit"
	callSubmission = "submission"
)

// Addresses of submissions. They are no routes of the table: no file answers them.
var (
	submitPath      = site.CallByName(callSubmit).Pattern
	submissionsPath = strings.TrimSuffix(site.CallByName(callSubmission).Pattern, "{id}")
)

const submitAllowed = "POST, OPTIONS"

var errNoSubmissions = &methodError{allowed: allowed, note: "; this server takes no submissions"}

var aliases = site.Table().Aliases

// callOf says which call a path is, "" for none, and the id of the submission that it names.
func callOf(path string) (call, id string) {
	for _, alias := range aliases {
		if rest, ok := strings.CutPrefix(path, alias.From); ok {
			path = alias.To + rest
		}
	}
	if path == submitPath {
		return callSubmit, ""
	}
	if id, ok := strings.CutPrefix(path, submissionsPath); ok {
		return callSubmission, id
	}
	return "", ""
}

// tellSubmission answers GET /v1/submissions/{id}.
func (h *handler) tellSubmission(w *reply, r *http.Request, id string) {
	w.Header()["Cache-Control"] = headerNoStore
	ctx, cancel := context.WithTimeout(r.Context(), receiveTime)
	defer cancel()
	state, err := h.submitter.Store.SubmissionState(ctx, id)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.tell(w, r, http.StatusOK, state)
}

// tell answers with what is of this moment and of nobody else's business.
func (h *handler) tell(w *reply, r *http.Request, code int, v any) {
	data, err := json.Marshal(site.One[any]{Data: v})
	if err != nil {
		panic(err) // texts, numbers and times
	}
	w.Header()["Cache-Control"] = headerNoStore
	w.Header().Set("Content-Type", typeJSON)
	writeBody(w, r, code, append(data, '\n'))
}

// submit answers POST /v1/submit: JSON with JSON, a form with a page.
func (h *handler) submit(w *reply, r *http.Request) {
	w.Header()["Cache-Control"] = headerNoStore
	media, err := mediaOf(r)
	if err != nil {
		w.Header().Set("Connection", "close") // its body is not read
		h.fail(w, r, err)
		return
	}
	var form url.Values
	result, err := h.take(w, r, func(body []byte, rules submission.Rules) (site.Submission, error) {
		if media == mediaJSON {
			return submission.Read(body, rules)
		}
		var broken error
		if form, broken = url.ParseQuery(string(body)); broken != nil {
			return site.Submission{},
				&submission.Error{Fields: []site.ErrorField{{Field: "body", Message: "is no form"}}}
		}
		return submission.ReadForm(form, rules)
	})
	if media == mediaForm && h.tellForm(w, r, form, result, err) {
		return
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Location", submissionsPath+result.SubmissionID)
	h.tell(w, r, http.StatusCreated, result)
}

const (
	mediaJSON = "application/json"
	mediaForm = "application/x-www-form-urlencoded"
)

var (
	errMedia    = errors.New("the body is neither JSON nor a form")
	errTooLarge = errors.New("the body is too large")
	errSlowBody = errors.New("the body did not arrive in time")
	errCrowded  = errors.New("too many submissions at once")
)

// keyError is an Idempotency-Key that can't be one.
type keyError struct{ message string }

func (e *keyError) Error() string { return "Idempotency-Key " + e.message }

// mediaOf is the type of a request's body, as it is.
func mediaOf(r *http.Request) (string, error) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, told := params["charset"]
	encoding := r.Header.Get("Content-Encoding")
	if err != nil || media != mediaJSON && media != mediaForm || told && !strings.EqualFold(charset, "utf-8") ||
		encoding != "" && !strings.EqualFold(encoding, "identity") {
		return "", errMedia
	}
	return media, nil
}

// take reads a submission, keeps it, and has it probed.
func (h *handler) take(w *reply, r *http.Request,
	read func([]byte, submission.Rules) (site.Submission, error)) (*site.SubmissionResult, error) {
	s := h.submitter
	key, err := keyOf(r)
	if err != nil {
		w.Header().Set("Connection", "close")
		return nil, err
	}
	body, err := s.body(w, r)
	if err != nil {
		w.Header().Set("Connection", "close") // what is left of it is not waited for
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), receiveTime)
	defer cancel()
	select {
	case s.receiving <- struct{}{}:
	case <-ctx.Done():
		return nil, errCrowded
	}
	receipt, submission, err := s.receive(ctx, body, read,
		site.IncomingSubmission{Client: clientName(clientAddr(r, h.trusted)), Key: key, At: h.now(), MaxPending: s.MaxPending})
	<-s.receiving
	if err != nil {
		return nil, err
	}
	result := &site.SubmissionResult{SubmissionID: receipt.ID, Status: site.SubmissionPending,
		ProbeResult: receipt.ProbeResult}
	switch {
	case receipt.Probe:
		result.ProbeResult = h.probe(r, receipt.ID, submission)
	case receipt.Repeated && receipt.ProbeResult == nil:
		result.ProbeResult = s.await(r.Context(), receipt.ID)
	}
	return result, nil
}

// receive checks a submission and keeps it. Where it is to be probed, a place among those that are is taken.
func (s *submitter) receive(ctx context.Context, body []byte,
	read func([]byte, submission.Rules) (site.Submission, error), r site.IncomingSubmission) (site.Receipt, site.Submission,
	error) {
	categories, err := s.Store.SubmissionCategories(ctx)
	if err != nil {
		return site.Receipt{}, r.Submission, err
	}
	r.Submission, err = read(body, submission.Rules{Categories: categories, FreeHosts: s.FreeHosts, Address: s.Address})
	if err != nil {
		return site.Receipt{}, r.Submission, err
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return site.Receipt{}, r.Submission, fmt.Errorf("parse an address that was checked: %w", err)
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
		s.underWay[receipt.ID] = make(chan struct{})
		s.mu.Unlock()
	}
	return receipt, r.Submission, err
}

// probe asks the endpoints of a submission that is kept. The submitter may go away meanwhile; a crash leaves it to
// others. It answers nil where what was found could not be kept: then it is found again.
func (h *handler) probe(r *http.Request, id string, submission site.Submission) *site.ProbeResult {
	s := h.submitter
	defer func() {
		<-s.probing
		s.mu.Lock()
		close(s.underWay[id])
		delete(s.underWay, id)
		s.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), probeTime)
	defer cancel()
	result := s.Prober.Probe(ctx, submission.URL, submission.Endpoints)
	if err := s.Store.StoreSubmissionProbe(ctx, id, result); err != nil {
		h.logger.Error("a submission's probe was not kept; it is made again", "submission", id, "err", err)
		return nil
	}
	return &result
}

// await waits for a probe that another request began here, and answers what it found, nil where nothing is known yet.
func (s *submitter) await(ctx context.Context, id string) *site.ProbeResult {
	s.mu.Lock()
	end := s.underWay[id]
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
		return nil // the submission stands all the same
	}
	return state.ProbeResult
}

// keyOf is the request's Idempotency-Key, "" without.
func keyOf(r *http.Request) (string, error) {
	values := r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	key := strings.TrimSpace(values[0])
	unseen := func(c rune) bool { return c < ' ' || c > '~' }
	if len(values) > 1 || key == "" || len(key) > maxKey || strings.ContainsFunc(key, unseen) {
		return "", &keyError{fmt.Sprintf("is one of 1 to %d printable ASCII characters", maxKey)}
	}
	return key, nil
}

// body reads what was sent, if it is small enough and arrives in time.
func (s *submitter) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > site.MaxSubmission {
		return nil, errTooLarge
	}
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(s.BodyTime)) // where there is no connection nothing is slow
	body, err := io.ReadAll(io.LimitReader(r.Body, site.MaxSubmission+1))
	if len(body) > site.MaxSubmission {
		return nil, errTooLarge
	}
	if err != nil {
		if slow := net.Error(nil); errors.As(err, &slow) && slow.Timeout() {
			return nil, errSlowBody
		}
		return nil, errBrokenBody
	}
	// else it would be taken for an end of the connection while a probe goes on
	_ = connection.SetReadDeadline(time.Time{})
	return body, nil
}

var errBrokenBody = errors.New("the body broke off")

// submitError is the answer to what is wrong with a submission, false for what is no such error.
func submitError(err error) (site.Error, bool) {
	var wrong *submission.Error
	var twice *site.DuplicateError
	var over *site.SubmissionLimitError
	var key *keyError
	e := site.Error{Code: http.StatusBadRequest}
	switch {
	case errors.As(err, &wrong):
		e.Type, e.Message, e.Fields = site.ErrorValidation, "the submission can't be taken: "+wrong.Error(),
			wrong.Fields
	case errors.As(err, &twice):
		e.Type, e.Message, e.Fields = site.ErrorDuplicate, twice.Message,
			[]site.ErrorField{{Field: "url", Message: twice.Message}}
	case errors.As(err, &key):
		e.Type, e.Message, e.Fields = site.ErrorInvalidParameter, key.Error(),
			[]site.ErrorField{{Field: "Idempotency-Key", Message: key.message}}
	case errors.Is(err, site.ErrKeyReused):
		return submitError(&keyError{site.ErrKeyReused.Error() + "; another submission needs another key"})
	case errors.Is(err, errBrokenBody):
		e.Type, e.Message, e.Fields = site.ErrorBadRequest, "the body can't be read to its end",
			[]site.ErrorField{{Field: "body", Message: "broke off"}}
	case errors.As(err, &over):
		e.Code, e.Type, e.Message = http.StatusTooManyRequests, site.ErrorRateLimited, over.Message
	case errors.Is(err, errMedia):
		e.Code, e.Type, e.Message = http.StatusUnsupportedMediaType, site.ErrorMediaType,
			"send application/json, in UTF-8 and not encoded"
	case errors.Is(err, errTooLarge):
		e.Code, e.Type, e.Message = http.StatusRequestEntityTooLarge, site.ErrorTooLarge,
			"a submission may have "+strconv.Itoa(site.MaxSubmission)+" bytes"
	case errors.Is(err, errSlowBody):
		e.Code, e.Type, e.Message = http.StatusRequestTimeout, site.ErrorBadRequest, "the body did not arrive in time"
	case errors.Is(err, errCrowded):
		e.Code, e.Type, e.Message = http.StatusServiceUnavailable, site.ErrorUnavailable,
			"too many submissions at once; try again"
	default:
		return e, false
	}
	return e, true
}
