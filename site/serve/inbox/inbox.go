// Package inbox reads what strangers send to a directory: submissions of services, suggestions, and requests for
// re-checks. One frame handles each: it reads the request within limits, waits for a slot, reads and stores the
// message, and returns what to respond. Package serve sends that, as JSON or as a page. Two small interfaces store and
// probe.
package inbox

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/routes"
)

// Store stores what is sent. postgres.DB implements it; its errors are those of package site.
type Store interface {
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

// Prober sends requests to the endpoints of a submission, within its own limits.
type Prober interface {
	Probe(ctx context.Context, base string, endpoints []string) site.ProbeResult
}

// FillForm fills the form of a call in a page of a snapshot with the values that were sent and their errors, or
// replaces it by the result. It fails if the bytes are not such a page. lists.FillForm implements it.
type FillForm func(page []byte, call string, f site.Form) ([]byte, error)

// Options configure how messages are accepted.
type Options struct {
	Store     Store
	Prober    Prober
	FreeHosts listing.FreeHosts
	Address   func(*url.URL) (*url.URL, error) // returns the URL as it is requested, or why it never is
	Domain    func(host string) string         // returns the registrable domain of a host
	FillForm  FillForm                         // nil: responses to forms are JSON
	BodyTime  time.Duration                    // time for a body to arrive; 0 means 10 s

	MaxPending int // limit of submissions that wait for review, and of open suggestions; 0 means no limit

	// NewHandler of package serve sets these.
	Now       func() time.Time
	Logger    *slog.Logger
	NextBuild func() *site.Time // when the next build is due; nil if that is unknown
}

// Limits of simultaneous messages. Messages over the first limit wait a little; submissions over the second are probed
// later.
const (
	maxReceiving = 32 // being stored
	MaxProbing   = 16 // submissions being probed
	receiveTime  = 10 * time.Second
	probeTime    = 15 * time.Second // longer than the prober's own limit, so that it can report unfinished endpoints
	maxKey       = 255
)

// Handler accepts messages.
type Handler struct {
	Options
	receiving, probing chan struct{}

	mu     sync.Mutex
	probes map[string]chan struct{} // running probes by submission id; closed when they end
}

// New returns a handler.
func New(o Options) *Handler {
	if o.BodyTime == 0 {
		o.BodyTime = 10 * time.Second
	}
	return &Handler{Options: o, receiving: make(chan struct{}, maxReceiving), probing: make(chan struct{}, MaxProbing),
		probes: map[string]chan struct{}{}}
}

// Names of the calls in the table of routes.
const (
	callSubmit     = "submit"
	callSuggest    = "suggestions"
	callRecheck    = "recheck"
	callSubmission = "submission" // GET: the state of a submission
)

// kind is a kind of messages.
type kind struct {
	status int      // of success
	page   string   // name of the route of the page with its form
	fields []string // of the form
	// receive reads and stores a message. finish, if it is not nil, completes the result while others are stored.
	receive func(h *Handler, ctx context.Context, q *request) (result any, finish func(context.Context), err error)
}

var kinds = map[string]kind{
	callSubmit:  {http.StatusCreated, "submit-page", site.SubmissionFields, (*Handler).submit},
	callSuggest: {http.StatusCreated, "suggest-page", site.SuggestionFields, (*Handler).suggest},
	callRecheck: {http.StatusAccepted, "service-page", nil, (*Handler).recheck},
}

// Answer says what to respond to a call.
type Answer struct {
	Status int // of success
	Data   any // of the response; nil with an error
	Err    error
	Form   *Form // that a browser sent without script; nil for a response in JSON
}

// Form is a form that was sent.
type Form struct {
	Call string
	Page string // key of the page of a snapshot that contains the form
	Sent map[string]string
	// Categories returns the categories for a submission; it is nil for other calls.
	Categories func(context.Context) []string
}

var submissionsPath = strings.TrimSuffix(routes.CallByName(callSubmission).Pattern, "{id}")

// Handle handles a call of the table of routes, whose path has a segment: a slug, or the id of a submission. client
// names the sender, as limits count it. It sets headers and sends nothing.
func (h *Handler) Handle(w http.ResponseWriter, r *http.Request, call, segment, client string) Answer {
	if call == callSubmission {
		ctx, cancel := context.WithTimeout(r.Context(), receiveTime)
		defer cancel()
		state, err := h.Store.SubmissionState(ctx, segment)
		return Answer{Status: http.StatusOK, Data: state, Err: err}
	}
	if call == callRecheck && r.ContentLength == 0 && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", mediaJSON) // a request without a body has no type; it is one of a program
	}
	k := kinds[call]
	a := Answer{Status: k.status}
	q, err := h.read(w, r, segment, client)
	if err == nil {
		a.Data, err = h.store(r.Context(), k, q)
	}
	a.Err = err
	if q.media == mediaForm {
		a.Form = h.newForm(call, k, q)
	}
	if result, ok := a.Data.(*site.SubmissionResult); ok && q.media == mediaJSON {
		w.Header().Set("Location", submissionsPath+result.SubmissionID)
	}
	return a
}

// store waits for a slot and stores a message.
func (h *Handler) store(ctx context.Context, k kind, q *request) (any, error) {
	result, finish, err := h.receiveInSlot(ctx, k, q)
	if err != nil {
		return nil, err
	}
	if finish != nil {
		finish(ctx)
	}
	return result, nil
}

func (h *Handler) receiveInSlot(ctx context.Context, k kind, q *request) (any, func(context.Context), error) {
	ctx, cancel := context.WithTimeout(ctx, receiveTime)
	defer cancel()
	select {
	case h.receiving <- struct{}{}:
		defer func() { <-h.receiving }()
		return k.receive(h, ctx, q)
	case <-ctx.Done():
		return nil, nil, errCrowded
	}
}

func (h *Handler) newForm(call string, k kind, q *request) *Form {
	slug := ""
	if call == callRecheck {
		slug = q.segment
	}
	f := &Form{Call: call, Page: routes.Query{Route: routes.ByName(k.page), Slug: slug, Bare: true}.Key(),
		Sent: map[string]string{}}
	for _, name := range k.fields {
		f.Sent[name] = q.form.Get(name)
	}
	if call == callSubmit {
		f.Categories = func(ctx context.Context) []string {
			ctx, cancel := context.WithTimeout(ctx, receiveTime)
			defer cancel()
			categories, err := h.Store.SubmissionCategories(ctx)
			if err != nil {
				return site.Categories
			}
			return categories
		}
	}
	return f
}
