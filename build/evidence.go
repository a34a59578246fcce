package build

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// shownBy is what an endpoint has shown, read again from what was kept: its newest terms, else its newest conclusive
// answer, which may tell why there are none.
func shownBy(f *postgres.ServiceFacts, e *postgres.EndpointFacts) x402.Evidence {
	row := x402.Evidence{Endpoint: methodOf(e) + " " + e.Path, URL: f.BaseURL + e.Path, Inconclusive: e.Verdict == nil}
	var got x402.Answer
	var x postgres.Exchange
	switch v, a := e.Envelope, e.Answer; {
	case v != nil:
		got = x402.Answer{Status: v.StatusCode, Header: v.Header, Body: v.Body, Truncated: v.Truncated, URL: v.URL}
		row.TLSVerified, x = v.TLSVerified, v.Exchange
	case a != nil && a.StatusCode != nil:
		got = x402.Answer{Status: *a.StatusCode, Header: a.Header, Body: a.Body, Truncated: a.Truncated, URL: a.URL}
		row.TLSVerified, x = a.TLSVerified, a.Exchange
	default:
		return row
	}
	row.Captured = x402.Capture(got)
	if row.Hops = x.Redirects; len(row.Hops) == 0 && got.URL != row.URL {
		row.Hops = []string{got.URL} // with the parameters of a sample
	}
	return row
}

// methodOf is what an endpoint is asked with: GET until it answers to another method.
func methodOf(e *postgres.EndpointFacts) string {
	if e.Method == "" {
		return http.MethodGet
	}
	return e.Method
}

// judged is what a service is judged by: what its active endpoints have shown or, where none is active, all of them, since
// then all are asked.
func judged(f *postgres.ServiceFacts, active []x402.Evidence) []x402.Evidence {
	if len(active) > 0 {
		return active
	}
	var all []x402.Evidence
	for i := range f.Endpoints {
		all = append(all, shownBy(f, &f.Endpoints[i]))
	}
	return all
}

// evidenceOf is what stands behind a service's verdicts and its grade; active is what its active endpoints have shown.
func evidenceOf(f *postgres.ServiceFacts, active []x402.Evidence, now time.Time) site.Evidence {
	shown := judged(f, active)
	got := x402.Assess(shown)
	out := site.Evidence{
		Slug: f.Slug, Grade: got.Grade, Passed: got.Passed, Total: got.Total,
		Checks: EvidenceChecks(got.Checks, slices.ContainsFunc(shown, hasTerms)), Warnings: EvidenceWarnings(got.Warnings),
		Endpoints: []site.EndpointEvidence{},
	}
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		isActive := site.Active(e.FirstSeenAt, e.LastPaidAt, now)
		if isActive || len(active) == 0 || cannotBeProbed(e) {
			out.Endpoints = append(out.Endpoints, endpointEvidence(f, e, isActive))
		}
	}
	return out
}

func hasTerms(e x402.Evidence) bool { return e.Captured.Envelope != nil }

// cannotBeProbed says whether the newest answer of an endpoint wants input that nobody declared.
func cannotBeProbed(e *postgres.EndpointFacts) bool {
	return e.Class != nil && site.Unprobeable(*e.Class)
}

func endpointEvidence(f *postgres.ServiceFacts, e *postgres.EndpointFacts, active bool) site.EndpointEvidence {
	shown := shownBy(f, e)
	out := site.EndpointEvidence{
		ID: e.ID.String(), Method: methodOf(e), Path: visible(e.Path), URL: visible(f.BaseURL + e.Path), IsActive: active,
		Unprobeable: cannotBeProbed(e), Verdict: e.Verdict,
		Protocols: shown.Captured.Protocols, Defects: EvidenceDefects(shown.Captured.Defects),
	}
	if out.Protocols == nil {
		out.Protocols = []string{}
	}
	if v := shown.Captured.Envelope; v != nil {
		out.Captured = &site.EvidenceCaptured{X402Version: v.Version, Channel: string(v.Channel), Decode: v.Decode, Fingerprint: v.Fingerprint()}
	}
	terms := termsAnswer(e.Envelope)
	switch a := e.Answer; {
	case a != nil:
		out.Answer, out.Terms = keptAnswer(a), terms
		out.Class, out.Reason = textOrNull(a.Exchange.Class), textOrNull(a.Exchange.Reason)
	case terms != nil && e.Verdict != nil && (*e.Verdict == "paid" || *e.Verdict == "broken"):
		out.Answer = terms
		out.Class, out.Reason = textOrNull(e.Envelope.Exchange.Class), textOrNull(e.Envelope.Exchange.Reason)
	default:
		out.Terms = terms // an answer from before answers were kept
	}
	if a := e.Inconclusive; a != nil {
		out.Inconclusive = &site.EvidenceSilence{Class: a.Exchange.Class, Reason: visible(a.Exchange.Reason)}
		if a.Exchange.Method != "" {
			out.Inconclusive.Answer = keptAnswer(a)
		}
	}
	return out
}

func termsAnswer(v *postgres.Envelope) *site.EvidenceAnswer {
	if v == nil {
		return nil
	}
	a := exchanged(v.URL, v.Exchange)
	a.ReceivedAt, a.Status, a.TLSVerified = site.NewTime(v.ReceivedAt), &v.StatusCode, v.TLSVerified
	a.Headers, a.HeadersClipped = published(v.Header, site.EvidenceHeader)
	a.Body = bodyOf(v.Body, v.Truncated)
	return a
}

func keptAnswer(k *postgres.Answer) *site.EvidenceAnswer {
	a := exchanged(k.URL, k.Exchange)
	a.ReceivedAt, a.Status, a.TLSVerified = site.NewTime(k.ReceivedAt), k.StatusCode, k.TLSVerified
	a.Headers, a.HeadersClipped = published(k.Header, site.EvidenceHeader)
	a.Body = bodyOf(k.Body, k.Truncated)
	return a
}

// exchanged is an answer's part that is about the way to it.
func exchanged(address string, x postgres.Exchange) *site.EvidenceAnswer {
	a := &site.EvidenceAnswer{Redirects: []string{}, ResponseTimeMS: x.ResponseTimeMS}
	for _, to := range x.Redirects {
		a.Redirects = append(a.Redirects, visible(to))
	}
	if x.Method != "" {
		header, _ := published(x.RequestHeader, nil)
		a.Request = &site.EvidenceRequest{Method: x.Method, URL: visible(address), Headers: header, Body: bodyOf(x.RequestBody, false)}
	}
	if p := x.Phases; p != nil {
		a.PhasesMS = &site.EvidencePhases{DNS: p.DNS, Connect: p.Connect, TLS: p.TLS, FirstByte: p.FirstByte}
	}
	return a
}

// published are the headers that allow lets through, all when it is nil, and the names of those that were clipped.
func published(from http.Header, allow func(string) bool) (headers map[string][]string, clipped []string) {
	headers, clipped = map[string][]string{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if allow != nil && !allow(name) {
			continue
		}
		left := site.EvidenceBytes
		for _, value := range from[name] {
			if len(value) > left {
				value = string(whole([]byte(value[:left])))
				if !slices.Contains(clipped, name) {
					clipped = append(clipped, name)
				}
			}
			left -= len(value)
			headers[name] = append(headers[name], visible(value))
		}
	}
	return headers, clipped
}

// bodyOf clips a body and writes it as text, or as base64 where it is not UTF-8.
func bodyOf(body []byte, truncated bool) site.EvidenceBody {
	if len(body) > site.EvidenceBytes {
		body, truncated = body[:site.EvidenceBytes], true
	}
	text := body
	if truncated {
		text = whole(body)
	}
	if !utf8.Valid(text) {
		return site.EvidenceBody{Encoding: "base64", Text: base64.StdEncoding.EncodeToString(body), Truncated: truncated}
	}
	shown := visible(string(text))
	return site.EvidenceBody{Encoding: "utf-8", Text: shown, Truncated: truncated, Cleaned: shown != string(text)}
}

// whole is b without the part of a character that a cut left at its end.
func whole(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if last := b[len(b)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

// visible replaces what shows nothing, or turns the direction of what does, by U+FFFD. Line breaks and tabs stay.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp):
			return utf8.RuneError
		}
		return r
	}, s)
}

// moot says whether a failure of a check means nothing where there are no terms: it fails for want of them.
func moot(id string) bool { return id != "payload_captured" && id != "transport_https" }

// EvidenceChecks tells results, and of failures what the rules ask for and how they are mended. terms says whether any
// were captured.
func EvidenceChecks(checks []x402.Check, terms bool) []site.EvidenceCheck {
	out := make([]site.EvidenceCheck, len(checks))
	rules := map[string]x402.Rule{}
	for _, r := range x402.Rules() {
		rules[r.ID] = r
	}
	for i, c := range checks {
		r := rules[c.ID]
		out[i] = site.EvidenceCheck{ID: c.ID, Label: c.Label, Pass: c.Pass, Reason: textOrNull(c.Reason)}
		if !c.Pass {
			out[i].Expected = &r.Expected
		}
		if !c.Pass && (terms || !moot(c.ID)) {
			out[i].Mend = &r.Mend
		}
	}
	return out
}

// EvidenceWarnings tells warnings with what they mean.
func EvidenceWarnings(warnings []x402.Warning) []site.EvidenceWarning {
	out := make([]site.EvidenceWarning, len(warnings))
	meanings := map[string]string{}
	for _, c := range x402.WarningCodes() {
		meanings[c.Code] = c.Meaning
	}
	for i, w := range warnings {
		out[i] = site.EvidenceWarning{Code: w.Code, Meaning: meanings[w.Code], Endpoint: textOrNull(w.Endpoint), Row: w.Row, Detail: textOrNull(w.Detail)}
	}
	return out
}

// EvidenceDefects tells leniencies with what they mean.
func EvidenceDefects(defects []x402.Defect) []site.EvidenceDefect {
	out := make([]site.EvidenceDefect, len(defects))
	meanings := map[string]string{}
	for _, c := range x402.DefectCodes() {
		meanings[c.Code] = c.Meaning
	}
	for i, d := range defects {
		out[i] = site.EvidenceDefect{Code: d.Code, Meaning: meanings[d.Code], Row: d.Row, Detail: textOrNull(d.Detail)}
	}
	return out
}

// textOrNull is a stranger's text for publication, null when it is empty.
func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	s = visible(s)
	return &s
}
