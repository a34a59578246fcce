package probe

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"

	"tollbook/site/webbotauth"
	"tollbook/site/x402"
)

const (
	maxRedirects = 3
	maxHeader    = 256 << 10 // bytes of response headers
	maxWire      = 2 * x402.MaxBody
)

// A reply is the result of one call, after redirects.
type reply struct {
	answer       x402.Answer // zero without one; the redirect itself if it must not be followed
	sent         Request
	phases       Phases
	responseTime time.Duration
	redirects    []string
	movedHost    string // see Result.MovedHost
	tlsVerified  bool
	requests     int
	err          error // why there is no answer, or only a part of it
}

// exchange performs one call with its redirects. paced says that the probe has sent a request before.
func (p *Prober) exchange(ctx context.Context, c call, paced bool) reply {
	r := reply{sent: Request{Method: c.method, URL: c.url.String()}}
	left := p.request
	seen := map[string]bool{}
	first, permanent := c.url, true
	for {
		if ctx.Err() != nil {
			r.err = newInterrupted(ctx)
			return r
		}
		if paced && p.pace != nil {
			if err := p.pace(ctx, c.url.Host); err != nil {
				r.err = &fault{ClassInterrupted, "the probe was interrupted", err}
				return r
			}
		}
		paced = true
		seen[c.method+" "+c.url.String()] = true

		start := time.Now()
		location := p.send(ctx, c, left, &r)
		left -= time.Since(start)
		if len(r.redirects) > 0 && errors.Is(r.err, ErrRefused) {
			r.err = redirectFault(r.err) // the redirect's host resolves to a forbidden address
		}
		if r.err == nil && location == "" && permanent {
			r.movedHost = movedHost(first, c.url)
		}
		if r.err != nil || location == "" {
			return r
		}
		permanent = permanent && isPermanent(r.answer.Status)
		next, err := p.followRedirect(c, r.answer.Status, location)
		switch {
		case err != nil:
			r.err = redirectFault(err)
		case seen[next.method+" "+next.url.String()]:
			r.err = &fault{ClassRedirect, "redirects in a loop", nil}
		case len(r.redirects) == maxRedirects:
			r.err = &fault{ClassRedirect, fmt.Sprintf("redirects more than %d times", maxRedirects), nil}
		}
		if r.err != nil {
			return r
		}
		r.redirects = append(r.redirects, next.url.String())
		c = next
	}
}

// send sends one request and reads its answer into r. It returns the Location of a redirect without reading its body.
// It takes at most left.
func (p *Prober) send(ctx context.Context, c call, left time.Duration, r *reply) (location string) {
	limited, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	var t tracer
	req := p.newRequest(httptrace.WithClientTrace(limited, t.trace()), c)
	if p.signer != nil && !c.unsigned {
		if err := p.signer.SignRequest(req, p.now()); err != nil {
			r.err = &fault{ClassInterrupted, "the request could not be signed", err}
			return ""
		}
	}
	r.sent = Request{Method: c.method, URL: c.url.String(), Header: req.Header.Clone(), Body: c.body}
	delete(r.sent.Header, idempotencyKey)
	webbotauth.StripSignature(r.sent.Header)
	r.requests++
	r.answer, r.tlsVerified = x402.Answer{}, false

	start := time.Now()
	resp, err := p.transport(c.url.Hostname()).RoundTrip(req)
	r.phases = t.phases()
	if err != nil {
		r.responseTime = 0
		r.err = p.toFault(ctx, limited, err)
		return ""
	}
	defer resp.Body.Close()
	r.responseTime += time.Since(start)
	r.tlsVerified = resp.TLS != nil && len(resp.TLS.VerifiedChains) > 0
	r.answer = x402.Answer{Status: resp.StatusCode, Header: resp.Header, URL: c.url.String()}
	if location = redirectLocation(resp); location != "" {
		if 0 < resp.ContentLength && resp.ContentLength <= 2048 {
			_, _ = io.CopyN(io.Discard, resp.Body, resp.ContentLength) // lets the connection be reused
		}
		return location
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return "" // its body is the bare connection, which no deadline ends
	}
	r.answer.Body, r.answer.Truncated, err = readBody(resp)
	for _, name := range grpcTrailers { // is there once the body is read
		if values := resp.Trailer.Values(name); len(values) > 0 && len(r.answer.Header.Values(name)) == 0 {
			r.answer.Header[name] = values
		}
	}
	if err != nil {
		r.answer.Truncated = true
		r.err = fmt.Errorf("%w: %w", errBody, p.toFault(ctx, limited, err))
	}
	return ""
}

// grpcTrailers lists the trailers by which a gRPC server says how a call ended, and asks for payment.
var grpcTrailers = []string{"Grpc-Status", "Grpc-Message", "Www-Authenticate"}

// toFault converts an error of the transport to a fault. It distinguishes the caller's limit, ours, and the network.
func (p *Prober) toFault(ctx, limited context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return newInterrupted(ctx)
	case limited.Err() != nil:
		return newTimeout("timed out", p.request, err)
	}
	return asFault(err)
}

// idempotencyKey in a header without values is not sent. It tells net/http that the request may be repeated on a new
// connection if the idle one turns out to be closed. An unpaid request changes nothing.
const idempotencyKey = "Idempotency-Key"

func (p *Prober) newRequest(ctx context.Context, c call) *http.Request {
	req := (&http.Request{
		Method: c.method, URL: c.url, Host: c.url.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Accept":          {"application/json"},
			"Accept-Encoding": {"gzip"}, // explicit, so that we decompress, with a limit
			"Cache-Control":   {"no-cache"},
			"User-Agent":      {p.userAgent},
			idempotencyKey:    nil,
		},
	}).WithContext(ctx)
	maps.Copy(req.Header, c.header)
	if c.body != nil {
		req.Header.Set("Content-Type", c.contentType)
		req.ContentLength = int64(len(c.body))
		req.Body = io.NopCloser(bytes.NewReader(c.body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.body)), nil }
	}
	return req
}

// redirectLocation returns the Location of a redirect, "" for other answers.
func redirectLocation(resp *http.Response) string {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location")
	}
	return ""
}

// followRedirect returns the call that a redirect asks for. 307 and 308 keep the method. A body is sent to the same
// host only.
func (p *Prober) followRedirect(c call, status int, location string) (call, error) {
	if len(location) > maxURL {
		return call{}, fmt.Errorf("redirects to a URL of more than %d bytes", maxURL)
	}
	to, err := c.url.Parse(location)
	if err != nil {
		return call{}, errors.New("redirects to an invalid URL")
	}
	target, err := p.guard.redirect(c.url, to)
	if err != nil {
		return call{}, err
	}
	next := c
	next.url = target
	if status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect {
		next.method = http.MethodGet
	}
	if next.method == http.MethodGet || target.Hostname() != c.url.Hostname() {
		next.body, next.contentType = nil, ""
	}
	return next, nil
}

// redirectFault returns a fault of the service: it sent us to a forbidden place, whatever our configuration.
func redirectFault(err error) *fault {
	if errors.Is(err, ErrRefused) {
		return &fault{ClassRedirect, "redirects to an address that is not visited", errors.New(err.Error())}
	}
	return &fault{ClassRedirect, err.Error(), nil}
}

// readBody reads at most MaxBody bytes after decompression. Of a compressed body it reads at most maxWire bytes, so
// that a body that decompresses to nothing ends too.
func readBody(resp *http.Response) (body []byte, truncated bool, err error) {
	r := io.LimitReader(resp.Body, maxWire)
	if encoding := strings.ToLower(resp.Header.Get("Content-Encoding")); encoding == "gzip" || encoding == "x-gzip" {
		wire := bufio.NewReader(r)
		r = wire
		// Some servers declare gzip and send plain text; the first two bytes decide.
		if magic, _ := wire.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
			gz, err := gzip.NewReader(wire)
			if err != nil {
				return nil, true, bodyError(err)
			}
			r = gz
		}
	}
	body, err = io.ReadAll(io.LimitReader(r, x402.MaxBody+1))
	if len(body) > x402.MaxBody {
		return body[:x402.MaxBody], true, nil
	}
	return body, false, bodyError(err)
}

func bodyError(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt) {
		return &fault{ClassInvalidHTTP, "the body is not valid gzip", err}
	}
	return err
}

// transport returns the transport for a host.
func (p *Prober) transport(host string) *http.Transport {
	for _, r := range p.routes {
		if host == r.domain || strings.HasSuffix(host, "."+r.domain) {
			return r.transport
		}
	}
	return p.public
}
