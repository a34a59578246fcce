// Package probe asks one address what it costs: an unpaid request goes out, one result comes back. It holds the
// guard that keeps us from hostile addresses, the choice of method and sample, the limits on what is read, and
// the verdict table.
//
// It owns no rows and no files. It never pays, never signs, sends no cookies, and must never know what a service,
// a schedule or a database is: who is asked, when, and what follows from the verdict is decided by its callers.
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

	"tollbook/site/x402"
)

// Options say how a Prober goes about. The zero value of each is a good one.
type Options struct {
	Guard     *Guard  // nil: the strictest one
	Routes    []Route // names that live in this process
	UserAgent string  // "Tollbook/<version> (+<contact page>)"; must not contain "Mozilla", or sellers answer with HTML

	ConnectTimeout time.Duration // for DNS and TCP together, and again for TLS; 5 s when zero
	RequestTimeout time.Duration // for one attempt with its redirects and its body, waiting aside; 15 s when zero

	// Pace, when not nil, is called before every request of a probe but the first, so that the caller can keep its
	// distance between requests to a host. An error of it interrupts the probe.
	Pace func(ctx context.Context, host string) error

	Now func() time.Time // time.Now when nil
}

// Route serves one domain without leaving the machine: the sample world's way in. Its names are never looked up,
// and its authority is trusted for them alone.
type Route struct {
	Domain string // this name and every name below it, such as "sample.test"

	// Dial connects to addr, "name:port". Where it answers false, there is no such host.
	Dial func(ctx context.Context, network, addr string) (net.Conn, bool, error)

	RootCAs *x509.CertPool // nil: the system's
}

// Target is what to ask.
type Target struct {
	URL         string // absolute; "{name}", ":name" and "[name]" in its path make it unprobeable
	Method      string // as declared; "" when nobody said. HEAD, OPTIONS and unknown ones count as ""
	MethodHint  string // Result.Method of the last Paid or Broken probe, "" without; only GET and POST count
	Body        []byte // declared sample body for POST, PUT and PATCH; nil: "{}"
	ContentType string // of Body; "" means application/json

	// Discovery answers that of the last envelope seen here, nil without: method, sample body and sample query come
	// from it where the fields above say nothing. It is asked at most once, and only then; nil is as if it answered
	// nil.
	Discovery func() *x402.Discovery
}

// Result is what one probe found.
type Result struct {
	Verdict Verdict
	Class   string // one of the Class constants
	Reason  string // one sentence for people, without a full stop
	// the method that produced the verdict, "" when nothing was sent; worth a MethodHint when Paid or Broken
	Method string
	Status int // HTTP status of the answer, 0 without one

	Sent     Request       // the request that was answered, after redirects
	Answer   x402.Answer   // as received; zero when none came
	Captured x402.Captured // what the answer says about payment

	Phases Phases // of the last request of the attempt
	// from the attempt's start to the response headers, redirects included; 0 without an answer
	ResponseTime time.Duration
	StartedAt    time.Time
	RetryAfter   *time.Duration // what the answer asks for, at most a day; nil when it does not say
	FinalURL     string         // the address that answered, or was to
	Redirects    []string       // addresses gone through to reach FinalURL, in order, without the first
	TLSVerified  bool           // the answer came over TLS with a certificate that verified
	Attempts     int            // requests that began anew: other methods, samples
	Requests     int            // all requests sent, redirects included
}

// Request is one request as it was sent.
type Request struct {
	Method, URL string
	Header      http.Header
	Body        []byte
}

// Phases is how long the steps of a request took; a step that a kept connection made needless is 0.
type Phases struct {
	DNS, Connect, TLS time.Duration
	FirstByte         time.Duration // from the request written to the first byte of the answer
}

// Prober sends probes. It keeps connections and TLS sessions between them; any number of goroutines may use it.
type Prober struct {
	guard     *Guard
	routes    []routed
	public    *http.Transport // for all other names
	userAgent string
	connect   time.Duration
	request   time.Duration
	pace      func(context.Context, string) error
	now       func() time.Time
}

// New makes a Prober; Close it when done.
func New(o Options) *Prober {
	p := &Prober{
		guard:     o.Guard,
		userAgent: o.UserAgent,
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

// Close drops the connections that are kept. Probes under way end by themselves.
func (p *Prober) Close() {
	p.public.CloseIdleConnections()
	for _, r := range p.routes {
		r.transport.CloseIdleConnections()
	}
}

// Probe asks the target, by another method or with a sample where the first answer calls for it, and judges. It
// takes at most three attempts of RequestTimeout each. What goes wrong is in the Result.
func (p *Prober) Probe(ctx context.Context, t Target) Result {
	started := p.now()
	u, err := url.Parse(t.URL)
	if err != nil {
		err = fmt.Errorf("%w: %q is not an address", ErrRefused, clip(t.URL))
	} else {
		u, err = p.guard.canonical(u)
	}
	if err != nil {
		verdict, class, reason := judge(x402.Answer{}, x402.Captured{}, err)
		return Result{Verdict: verdict, Class: class, Reason: reason, StartedAt: started, FinalURL: t.URL}
	}
	if name := placeholder(u); name != "" {
		return Result{
			Verdict: Inconclusive, Class: ClassNeedsInput,
			Reason:    fmt.Sprintf("the address has a placeholder, %s, that only a caller can fill", clip(name)),
			StartedAt: started, FinalURL: u.String(),
		}
	}
	result := p.attempts(ctx, newPlan(t, u)).result()
	result.StartedAt = started
	result.RetryAfter = retryAfter(result.Answer.Header, p.now())
	return result
}

// attempts carries a plan out, one request after the other.
func (p *Prober) attempts(ctx context.Context, pl plan) tries {
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
		t.verdict, t.class, t.reason = judge(r.answer, t.captured, r.err)
		tried = append(tried, t)
	}
}
