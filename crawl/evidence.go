package crawl

import (
	"crypto/sha256"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"tollbook/crawl/probe"
	"tollbook/crawl/source"
	"tollbook/site"
	"tollbook/site/postgres/checks"
)

// newEnvelope returns an answer with an envelope as it was received, without cookies. Header bytes that JSON can't
// represent become U+FFFD.
func newEnvelope(a answer) *checks.Envelope {
	r := a.result
	header := copyHeader(r.Answer.Header,
		func(name string) bool { return name != "Set-Cookie" && name != "Set-Cookie2" })
	return &checks.Envelope{
		EndpointID: a.endpoint.ID, ReceivedAt: a.at, Method: r.Method, URL: clean(r.FinalURL, 2048),
		StatusCode: r.Status, Header: header, Body: r.Answer.Body, Truncated: r.Answer.Truncated,
		TLSVerified: r.TLSVerified, SHA256: hashAnswer(r.Status, header, r.Answer.Body), Exchange: newExchange(r),
	}
}

// newAnswer returns an answer without an envelope, cut to what is published as evidence: nothing else reads it.
func newAnswer(a answer) *checks.Response {
	r := a.result
	out := &checks.Response{
		EndpointID: a.endpoint.ID, Conclusive: isConclusive(r.Verdict), ReceivedAt: a.at, Method: r.Method,
		URL: clean(r.FinalURL, 2048), Header: copyHeader(r.Answer.Header, site.IsEvidenceHeader),
		Body: r.Answer.Body, Truncated: r.Answer.Truncated,
		TLSVerified: r.TLSVerified, Exchange: newExchange(r),
	}
	if r.Status != 0 {
		out.StatusCode = &r.Status
	}
	if len(out.Body) > site.EvidenceBytes {
		out.Body, out.Truncated = out.Body[:site.EvidenceBytes], true
	}
	if out.Body == nil {
		out.Body = []byte{}
	}
	out.SHA256 = hashAnswer(r.Status, out.Header, out.Body)
	return out
}

// isConclusive reports whether a verdict describes the service rather than our way to it.
func isConclusive(v probe.Verdict) bool { return v != probe.Inconclusive && v != probe.Refused }

func newExchange(r probe.Result) checks.Exchange {
	x := checks.Exchange{Class: r.Class, Reason: clean(r.Reason, 300), MovedHost: source.CanonicalHost(r.MovedHost),
		InputSchema: r.InputSchema}
	if r.Requests == 0 {
		return x
	}
	x.Method, x.RequestHeader, x.RequestBody = r.Sent.Method, copyHeader(r.Sent.Header, nil), r.Sent.Body
	for _, address := range r.Redirects {
		x.Redirects = append(x.Redirects, clean(address, 2048))
	}
	if r.Status != 0 {
		x.ResponseTimeMS = new(int(r.ResponseTime.Milliseconds()))
	}
	x.Phases = &checks.Phases{
		DNS: milliseconds(r.Phases.DNS), Connect: milliseconds(r.Phases.Connect), TLS: milliseconds(r.Phases.TLS),
		FirstByte: milliseconds(r.Phases.FirstByte),
	}
	return x
}

// milliseconds returns d in milliseconds with two decimals: on loopback and in one data centre, phases take less than
// 1.
func milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)/(10*time.Microsecond)) / 100
}

// copyHeader copies the headers whose names keep accepts (all when nil) in a form that JSON and Postgres can store.
func copyHeader(from http.Header, keep func(name string) bool) http.Header {
	header := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if keep != nil && !keep(name) {
			continue
		}
		for _, v := range from[name] {
			header.Add(clean(name, len(name)), clean(v, len(v)))
		}
	}
	return header
}

// hashAnswer returns a hash by which two answers are compared. It ignores volatile headers.
func hashAnswer(status int, header http.Header, body []byte) []byte {
	h := sha256.New()
	h.Write([]byte(strconv.Itoa(status) + "\x00"))
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if !volatile[name] {
			h.Write([]byte(name + "\x00" + strings.Join(header[name], "\x00") + "\x00"))
		}
	}
	h.Write(body)
	return h.Sum(nil)
}

// volatile are headers that differ between answers but have nothing to do with payment.
var volatile = map[string]bool{
	"Date": true, "Age": true, "Expires": true, "Etag": true, "Last-Modified": true, "X-Request-Id": true,
	"Cf-Ray": true, "Server-Timing": true, "Report-To": true, "Nel": true, "Alt-Svc": true,
}
