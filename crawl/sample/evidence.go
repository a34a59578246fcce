package sample

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// evidence records the newest responses of a service's endpoints, as the crawler stores them.
type evidence struct {
	s          *service
	byEndpoint map[string]*endpointEvidence // by key
}

// endpointEvidence are the newest responses of an endpoint: the newest with an envelope, the newest conclusive one
// after it, and the newest inconclusive one after both. at is zero where there is none.
type endpointEvidence [3]struct {
	finding
	at time.Time
}

func newEvidence(s *service) *evidence {
	return &evidence{s: s, byEndpoint: map[string]*endpointEvidence{}}
}

// observe records the response of an endpoint at a time.
func (ev *evidence) observe(e endpoint, f finding, at time.Time) {
	of := ev.byEndpoint[e.key()]
	if of == nil {
		of = &endpointEvidence{}
		ev.byEndpoint[e.key()] = of
	}
	n := 1
	switch {
	case f.envelope != nil:
		n = 0
	case f.verdict == inconclusive:
		n = 2
	}
	of[n].finding, of[n].at = f, at
	for i := n + 1; i < len(of); i++ {
		of[i].at = time.Time{} // it no longer explains the verdict
	}
}

// visits returns the responses in the order in which they were received: for each endpoint one in each list at most.
func (ev *evidence) visits() [][]checks.EndpointVisit {
	lists := make([][]checks.EndpointVisit, len(endpointEvidence{}))
	for _, e := range ev.s.endpoints {
		of := ev.byEndpoint[e.key()]
		for i := range lists {
			if of != nil && !of[i].at.IsZero() {
				lists[i] = append(lists[i], ev.visit(e, of[i].finding, of[i].at))
			}
		}
	}
	return lists
}

// verdictNames are the names that package probe gives to verdicts.
var verdictNames = map[verdict]string{paid: "paid", broken: "broken", open: "open", failed: "failed"}

// visit returns a response as the result of a probe.
func (ev *evidence) visit(e endpoint, f finding, at time.Time) checks.EndpointVisit {
	v := checks.EndpointVisit{
		ID: postgres.EndpointID(ev.s.Slug, e.declared, e.path), ProbedAt: at, Class: f.class, Reason: f.reason,
		Paid: f.verdict == paid,
	}
	if name, ok := verdictNames[f.verdict]; ok {
		v.Verdict = &name
	}
	if e.declared == "" && (f.verdict == paid || f.verdict == broken) {
		v.Method = e.method
	}
	if f.status != 0 {
		v.ResponseTimeMS = new(int(f.delay.Milliseconds()))
	}
	if f.envelope == nil {
		v.Response = ev.response(e, f, at)
		v.Response.EndpointID, v.Response.Conclusive = v.ID, v.Verdict != nil
		return v
	}
	v.AsksPayment, v.Offers = true, f.offers
	if f.readers != nil {
		v.LookedAt, v.Readers = &at, f.readers()
	}
	if f.envelope != noTerms {
		v.Fingerprint = new(f.envelope.Fingerprint())
	}
	v.Envelope = &checks.Envelope{
		EndpointID: v.ID, ReceivedAt: at, Method: e.method, URL: ev.s.baseURL() + e.path, StatusCode: f.status,
		Header: f.header(at), Body: f.answer.body, TLSVerified: !ev.s.Plain, SHA256: f.sum(), Exchange: f.exchange(e),
	}
	return v
}

// response returns a response without an envelope, with the headers that may be published.
func (ev *evidence) response(e endpoint, f finding, at time.Time) *checks.Response {
	r := &checks.Response{
		ReceivedAt: at, Method: e.method, URL: ev.s.baseURL() + e.path, Header: f.header(at),
		Body: append([]byte{}, f.answer.body...), TLSVerified: !ev.s.Plain && f.status != 0, Exchange: f.exchange(e),
		SHA256: f.sum(),
	}
	maps.DeleteFunc(r.Header, func(name string, _ []string) bool { return !site.IsEvidenceHeader(name) })
	if f.status != 0 {
		r.StatusCode = &f.status
	}
	return r
}

// header returns the headers of the answer with those that a server adds.
func (f *finding) header(at time.Time) http.Header {
	header := http.Header{}
	if f.status != 0 {
		maps.Copy(header, f.answer.header)
		header.Set("Date", at.UTC().Format(http.TimeFormat))
		header.Set("Content-Length", strconv.Itoa(len(f.answer.body)))
	}
	return header
}

// exchange describes the request and the finding.
func (f *finding) exchange(e endpoint) checks.Exchange {
	x := checks.Exchange{Class: f.class, Reason: f.reason, Method: e.method, RequestBody: e.sampleBody(),
		InputSchema:   toolSchema(e.path),
		RequestHeader: http.Header{"Accept": {"application/json"}}, Phases: &checks.Phases{}}
	if x.RequestBody != nil {
		x.RequestHeader.Set("Content-Type", "application/json")
	}
	if f.status != 0 {
		ms := f.delay.Milliseconds()
		x.ResponseTimeMS, x.Phases.FirstByte = new(int(ms)), float64(ms)
	}
	return x
}

// sum returns a hash by which two answers are compared. The crawler's differs, so that the first visit replaces it.
func (f *finding) sum() []byte {
	sum := sha256.Sum256(fmt.Append(nil, f.status, f.answer.header, string(f.answer.body)))
	return sum[:]
}
