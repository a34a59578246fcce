// Package probe asks one URL what it costs: it sends an unpaid request and returns one result. It contains the guard
// against hostile addresses, the choice of method and sample, the limits on what is read, and the table of verdicts.
//
// It stores nothing. It never pays, never signs a payment and sends no cookies. It must never know what a service, a
// schedule or a database is: its callers decide what is probed, when, and what follows from the verdict.
package probe

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tollbook/site/rail"
	"tollbook/site/webbotauth"
	"tollbook/site/x402"
)

// Options are the settings of a Prober. Zero values stand for the defaults.
type Options struct {
	Guard     *Guard  // the strictest when nil
	Routes    []Route // names that this process serves itself
	UserAgent string  // "Tollbook/<version> (+<contact page>)"; must not contain "Mozilla", or sellers answer with HTML

	ConnectTimeout time.Duration // for DNS and TCP together, and again for TLS; 5 s when zero
	RequestTimeout time.Duration // for one attempt with redirects and body, without waiting; 15 s when zero

	Signer *webbotauth.Signer // signs each request; nil signs none

	// Pace, when not nil, is called before every request of a probe but the first, so that the caller can keep a gap
	// between requests to a host. An error interrupts the probe.
	Pace func(ctx context.Context, host string) error

	Now func() time.Time // time.Now when nil
}

// Route serves one domain inside this process, for the sample world. Its names are never resolved, and its certificate
// authority is trusted for them alone.
type Route struct {
	Domain string // this name and every name below it, such as "sample.test"

	// Dial connects to addr, "name:port". It returns false if the host does not exist.
	Dial func(ctx context.Context, network, addr string) (net.Conn, bool, error)

	RootCAs *x509.CertPool // the system's when nil
}

// Target is the endpoint to probe.
type Target struct {
	URL         string // absolute; "{name}", ":name" and "[name]" in its path make it unprobeable
	Method      string // as declared; "" for none. HEAD, OPTIONS and unknown methods count as ""
	OnlyMethod  bool   // send no other method than Method
	MethodHint  string // Result.Method of the last Paid or Broken probe; "" for none. Only GET and POST count
	Body        []byte // declared sample body for POST, PUT and PATCH; "{}" when nil
	ContentType string // of Body; "" means application/json

	// Discovery returns the discovery document of the endpoint's last envelope, nil for none. Method, sample body and
	// sample query come from it if the fields above are empty. It is called at most once, and only if needed; it may
	// be nil.
	Discovery func() *x402.Discovery

	// Session is that of the MCP server if URL names a tool, "https://acme.example/mcp#quote"; nil for any other
	// endpoint. NamedPaid says that the
	// server's earlier answers, or a catalogue, name the tool as paid.
	Session   *Session
	NamedPaid bool
}

// Result is the result of one probe.
type Result struct {
	Verdict Verdict
	Class   string // one of the Class constants
	Reason  string // one sentence for people, without a full stop
	// Method is the method that produced the verdict, "" if nothing was sent. If the verdict is Paid or Broken, it is
	// the MethodHint of the next probe.
	Method string
	Status int // HTTP status of the answer, 0 without one

	Sent     Request       // the request that was answered, after redirects
	Answer   x402.Answer   // as received; zero without one
	Captured x402.Captured // payment terms in the answer
	Offers   []rail.Offer  // of a 402, over other protocols than x402

	Conflicts []rail.Conflict // with what another reader was asked for; see Look

	Phases Phases // of the last request of the attempt
	// ResponseTime is the time from the attempt's start to the response headers, with redirects; 0 without an answer.
	ResponseTime time.Duration
	StartedAt    time.Time
	RetryAfter   *time.Duration // as the answer asks, at most a day; nil if it does not say
	FinalURL     string         // URL that answered, or was to answer
	Redirects    []string       // URLs of the redirects that led to FinalURL, in order, without the first URL
	InputSchema  string         // JSON schema of an MCP tool's input; "" if it has none that can be stored
	MovedHost    string         // host in FinalURL if the URL moved there for good, within its domain; "" if not
	TLSVerified  bool           // whether the answer came over TLS with a valid certificate
	Attempts     int            // calls: other methods, samples
	Calls        []Call         // each attempt in order; nil if nothing was sent
	Requests     int            // all requests, with redirects
}

// Call is one attempt of a probe, as it was begun, and the class of its answer.
type Call struct {
	Method, URL string
	Body        []byte
	Sample      bool // contains the example of input that the endpoint declares
	Status      int  // 0 without an answer
	Class       string
}

// Request is one request as it was sent, without its signature.
type Request struct {
	Method, URL string
	Header      http.Header
	Body        []byte
}

// Phases are the durations of the steps of a request. A step that a reused connection skipped is 0.
type Phases struct {
	DNS, Connect, TLS time.Duration
	FirstByte         time.Duration // from the request written to the first byte of the answer
}

// Prober sends probes. It reuses connections and TLS sessions. Several goroutines may use it.
type Prober struct {
	guard     *Guard
	routes    []routed
	public    *http.Transport // for all other names
	userAgent string
	signer    *webbotauth.Signer
	connect   time.Duration
	request   time.Duration
	pace      func(context.Context, string) error
	now       func() time.Time
}

// New returns a Prober. The caller must call Close.
func New(o Options) *Prober {
	p := &Prober{
		guard:     o.Guard,
		userAgent: o.UserAgent,
		signer:    o.Signer,
		connect:   o.ConnectTimeout,
		request:   o.RequestTimeout,
		pace:      o.Pace,
		now:       o.Now,
	}
	if p.guard == nil {
		p.guard = &Guard{}
	}
	if p.userAgent == "" {
		p.userAgent = "Tollbook/dev"
	}
	if p.connect == 0 {
		p.connect = 5 * time.Second
	}
	if p.request == 0 {
		p.request = 15 * time.Second
	}
	if p.now == nil {
		p.now = time.Now
	}
	p.public = p.newTransport(p.guard.DialContext, nil)
	for _, r := range o.Routes {
		p.routes = append(p.routes, routed{strings.ToLower(strings.Trim(r.Domain, ".")),
			p.newTransport(r.dial, r.RootCAs)})
	}
	return p
}

// Close closes idle connections. Running probes end by themselves.
func (p *Prober) Close() {
	p.public.CloseIdleConnections()
	for _, r := range p.routes {
		r.transport.CloseIdleConnections()
	}
}

// Probe sends the target's request, and further ones with another method or a sample if the first answer asks for it,
// and returns a verdict. It makes at most three attempts of RequestTimeout each. The Result contains any failure.
func (p *Prober) Probe(ctx context.Context, t Target) Result {
	started := p.now()
	u, err := url.Parse(t.URL)
	if err != nil {
		err = fmt.Errorf("%w: %q is not a URL", ErrRefused, clip(t.URL))
	} else {
		u, err = p.guard.canonical(u)
	}
	if err != nil {
		verdict, class, reason := judge(x402.Answer{}, x402.Captured{}, nil, err)
		return Result{Verdict: verdict, Class: class, Reason: reason, StartedAt: started, FinalURL: t.URL}
	}
	if name := findPlaceholder(u); name != "" {
		return Result{
			Verdict: Inconclusive, Class: ClassNeedsInput,
			Reason:    fmt.Sprintf("the address has a placeholder, %s, that only a caller can fill", clip(name)),
			StartedAt: started, FinalURL: u.String(),
		}
	}
	var result Result
	if tool := x402.ToolOf(t.URL); tool != "" && t.Session != nil {
		result = p.probeTool(ctx, t, u, tool)
	} else {
		result = p.runPlan(ctx, newPlan(t, u)).result()
	}
	result.StartedAt = started
	if wait, ok := RetryAfter(result.Answer.Header, p.now()); ok {
		result.RetryAfter = &wait
	}
	return result
}

// readOffers returns the offers over other protocols than x402 in an answer.
func (p *Prober) readOffers(r reply) []rail.Offer {
	return rail.Read(rail.Answer{Status: r.answer.Status, Header: r.answer.Header, Body: r.answer.Body, URL: r.answer.URL,
		TLSVerified: r.tlsVerified, ReceivedAt: p.now()})
}

// runPlan executes a plan, one request after the other.
func (p *Prober) runPlan(ctx context.Context, pl plan) tries {
	var tried tries
	for {
		c, ok := pl.next(tried)
		if !ok {
			return tried
		}
		r := p.exchange(ctx, c, len(tried) > 0)
		t := try{call: c, reply: r}
		if r.answer.Status != 0 {
			t.captured = x402.Capture(r.answer)
		}
		if r.answer.Status == http.StatusPaymentRequired {
			t.offers = p.readOffers(r)
		}
		t.verdict, t.class, t.reason = judge(r.answer, t.captured, t.offers, r.err)
		tried = append(tried, t)
	}
}
