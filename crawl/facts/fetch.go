package facts

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tollbook/crawl/probe"
	"tollbook/site/webbotauth"
)

// Limits of a fetch.
const (
	maxPage      = 256 << 10 // bytes of a page or a registry's answer, after decompression
	maxJSON      = 8 << 20   // bytes of a document that declares endpoints; real ones have up to 4 MB
	maxHeader    = 64 << 10
	maxRedirects = 3
	connectLimit = 5 * time.Second
)

// Errors of a fetch. ErrElsewhere is the site's fault; the others say nothing about it.
var (
	ErrDisallowed = errors.New("robots.txt disallows it")
	ErrElsewhere  = errors.New("redirected to a URL that Tollbook does not follow")
)

// Options are the settings of a Fetcher. Zero values stand for the defaults.
type Options struct {
	Guard     *probe.Guard  // the strictest when nil
	Routes    []probe.Route // names that this process serves itself
	UserAgent string
	Signer    *webbotauth.Signer // signs each request; nil signs none
	Timeout   time.Duration      // of a request with its redirects, without waiting; 10 s when zero

	// Enter waits until the host is free. The caller keeps the host until it calls leave. Nil means no waiting.
	Enter func(ctx context.Context, host string) (leave func(), err error)

	// EnterSource is Enter for a request to a public source, which may take SourceTimeout; Enter when nil.
	EnterSource func(ctx context.Context, host string) (leave func(), err error)

	// LookupTXT looks up TXT records, such as net.DefaultResolver.LookupTXT. Nil means that none are looked up.
	LookupTXT func(ctx context.Context, name string) ([]string, error)

	Robots RobotsStore // stores robots.txt for all fetchers; in memory when nil
	Now    func() time.Time
}

// Fetcher requests documents. Several goroutines may use it.
type Fetcher struct {
	o      Options
	public *http.Transport
	routes []*http.Transport // of o.Routes; each trusts its own authority for its own names

	failures failures
}

// New returns a fetcher. The caller must call Close.
func New(o Options) *Fetcher {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.UserAgent = cmp.Or(o.UserAgent, "Tollbook/dev")
	if o.Guard == nil {
		o.Guard = &probe.Guard{}
	}
	if o.Enter == nil {
		o.Enter = func(ctx context.Context, _ string) (func(), error) { return func() {}, ctx.Err() }
	}
	if o.EnterSource == nil {
		o.EnterSource = o.Enter
	}
	if o.Robots == nil {
		o.Robots = &memory{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	f := &Fetcher{o: o, public: newTransport(o.Guard.DialContext, nil)}
	for _, r := range o.Routes {
		f.routes = append(f.routes, newTransport(func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, ok, err := r.Dial(ctx, network, addr)
			if err == nil && !ok {
				host, _, _ := net.SplitHostPort(addr)
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			return conn, err
		}, r.RootCAs))
	}
	return f
}

// Close closes idle connections.
func (f *Fetcher) Close() {
	f.public.CloseIdleConnections()
	for _, t := range f.routes {
		t.CloseIdleConnections()
	}
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// newTransport returns a transport that reads nothing from the environment and keeps a connection just long enough for
// the documents of one service.
func newTransport(dial dialFunc, roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, connectLimit)
			defer cancel()
			return dial(ctx, network, addr)
		},
		TLSClientConfig:     &tls.Config{RootCAs: roots},
		TLSHandshakeTimeout: connectLimit,
		ForceAttemptHTTP2:   true,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerConnection: maxPage,
			MaxReceiveBufferPerStream: maxPage},
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        5 * time.Second,
	}
}

func (f *Fetcher) transport(host string) *http.Transport {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for i, r := range f.o.Routes {
		if domain := strings.ToLower(strings.Trim(r.Domain, ".")); host == domain ||
			strings.HasSuffix(host, "."+domain) {
			return f.routes[i]
		}
	}
	return f.public
}

// request says what to fetch and how.
type request struct {
	accept  string
	limit   int64 // most bytes of the body
	polite  bool  // respects robots.txt
	anySite bool  // allows redirects to another site, as a registry's do
	source  bool  // asks a public source of services

	timeout    time.Duration // the fetcher's when zero
	validators Validators    // of the document that the caller has
}

// document is an answer of any status.
type document struct {
	status     int
	mediaType  string // lower case, without parameters; "" for none
	body       []byte
	truncated  bool // the body is longer
	retryAfter time.Duration
	took       time.Duration // of all requests, without waiting for hosts
	validators Validators
}

// get requests a URL and follows redirects. The guard checks each of them.
func (f *Fetcher) get(ctx context.Context, address string, r request) (document, error) {
	u, err := url.Parse(address)
	if err != nil {
		return document{}, fmt.Errorf("%w: %.80q is not a URL", probe.ErrRefused, address)
	}
	if err := f.o.Guard.CheckURL(u); err != nil {
		return document{}, err
	}
	left := cmp.Or(r.timeout, f.o.Timeout)
	for hops := 0; ; hops++ {
		if r.polite {
			if err := f.checkRobots(ctx, u); err != nil {
				return document{}, err
			}
		}
		doc, location, err := f.send(ctx, u, r, &left)
		if hops > 0 && errors.Is(err, probe.ErrRefused) {
			// the redirect's host resolves to a forbidden address
			return document{}, fmt.Errorf("%w: %v", ErrElsewhere, err)
		}
		if err != nil || location == "" {
			doc.took = f.o.Timeout - left
			return doc, err
		}
		if hops == maxRedirects {
			return document{}, fmt.Errorf("%w: more than %d redirects", ErrElsewhere, maxRedirects)
		}
		if u, err = f.followRedirect(u, location, r.anySite); err != nil {
			return document{}, fmt.Errorf("%w: %v", ErrElsewhere, err)
		}
	}
}

func (f *Fetcher) followRedirect(from *url.URL, location string, anySite bool) (*url.URL, error) {
	to, err := from.Parse(location)
	if err != nil {
		return nil, errors.New("invalid URL")
	}
	to.Fragment, to.RawFragment = "", ""
	if !anySite {
		return to, f.o.Guard.CheckRedirect(from, to)
	}
	if from.Scheme == "https" && to.Scheme == "http" {
		return nil, errors.New("from https to http")
	}
	return to, f.o.Guard.CheckURL(to)
}

// send sends one request. It takes at most left and reduces left by the time it took.
func (f *Fetcher) send(
	ctx context.Context, u *url.URL, r request, left *time.Duration,
) (doc document, location string, err error) {
	enter := f.o.Enter
	if r.source {
		enter = f.o.EnterSource
	}
	leave, err := enter(ctx, u.Host)
	if err != nil {
		return document{}, "", fmt.Errorf("wait for %s: %w", u.Host, err)
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, *left)
	defer cancel()
	began := time.Now()
	defer func() { *left -= time.Since(began) }()

	req := (&http.Request{
		Method: http.MethodGet, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Accept": {r.accept}, "User-Agent": {f.o.UserAgent}},
	}).WithContext(ctx)
	r.validators.set(req.Header)
	if f.o.Signer != nil {
		if err := f.o.Signer.SignRequest(req, f.o.Now()); err != nil {
			return document{}, "", err
		}
	}
	resp, err := f.transport(u.Hostname()).RoundTrip(req)
	if err != nil {
		return document{}, "", fmt.Errorf("get %s: %w", u, err)
	}
	defer resp.Body.Close()
	doc = document{status: resp.StatusCode}
	doc.retryAfter, _ = probe.RetryAfter(resp.Header, f.o.Now())
	doc.validators = Validators{resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")}
	doc.mediaType, _, _ = mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return doc, resp.Header.Get("Location"), nil
	case http.StatusSwitchingProtocols:
		return doc, "", nil // its body is the raw connection
	}
	doc.body, err = io.ReadAll(io.LimitReader(resp.Body, r.limit+1))
	if err != nil {
		return doc, "", fmt.Errorf("read %s: %w", u, err)
	}
	if int64(len(doc.body)) > r.limit {
		doc.body, doc.truncated = doc.body[:r.limit], true
	}
	return doc, "", nil
}
