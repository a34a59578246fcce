package judge

import (
	"cmp"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/rail"
	"tollbook/site/x402"
)

// readCapture reads an endpoint's stored responses as x402 does: its newest envelope, or else its newest conclusive
// response, which may show why there is no envelope.
func readCapture(f *postgres.ServiceFacts, e *postgres.EndpointFacts) x402.Evidence {
	row := x402.Evidence{
		Endpoint: methodOf(e) + " " + e.Path, URL: f.BaseURL + e.Path, Inconclusive: e.Verdict == nil,
		HeadFree: e.HeadFree != nil && *e.HeadFree, DeclaredUSD: declaredUSD(e.DeclaredPrice),
	}
	var got x402.Answer
	var x checks.Exchange
	switch v, a := e.Envelope, e.Conclusive; {
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

// declaredUSD returns the highest price of a call in a document, in decimal dollars: the fixed amount, or the upper end
// of a range. It returns "" for a price in another currency or in base units, as offers have.
func declaredUSD(p *postgres.DeclaredPrice) string {
	if p == nil || p.Mode == "offer" || p.Currency != "" && !strings.EqualFold(p.Currency, "USD") {
		return ""
	}
	return strings.TrimPrefix(cmp.Or(p.Max, p.Amount), "$")
}

// methodOf returns the method that an endpoint is probed with. It is GET until the endpoint answers to another one.
func methodOf(e *postgres.EndpointFacts) string {
	if e.Method == "" {
		return http.MethodGet
	}
	return e.Method
}

// complianceResult is the result of the 14 checks for a service.
type complianceResult struct {
	x402.Compliance
	captures   []x402.Evidence // what was checked
	conflicts  []conflict      // of active endpoints
	noneActive bool
}

// judgeCompliance checks the captures of a service's active endpoints. Without active endpoints it checks all
// endpoints, because then all of them are probed.
func judgeCompliance(f *postgres.ServiceFacts, active []x402.Evidence) complianceResult {
	result := complianceResult{captures: active, noneActive: len(active) == 0}
	if result.noneActive {
		for i := range f.Endpoints {
			result.captures = append(result.captures, readCapture(f, &f.Endpoints[i]))
		}
	}
	result.Compliance = x402.Assess(result.captures)
	return result
}

// judgeRails checks the offers over other protocols than x402 that the judged endpoints make. The grade of a service
// without terms of x402 is the best one by those checks.
func judgeRails(f *postgres.ServiceFacts, result *complianceResult) []site.Rail {
	var offers []rail.Listed
	next := 0
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		name := methodOf(e) + " " + e.Path
		if next < len(result.captures) && result.captures[next].Endpoint == name {
			if !result.noneActive {
				result.conflicts = append(result.conflicts, findConflicts(e, &result.captures[next])...)
			}
			offers, next = append(offers, readOffers(name, e)...), next+1
		}
	}
	result.Warnings = append(result.Warnings, rail.Warnings(offers)...)
	verdicts := rail.AssessAll(offers)
	if len(verdicts) > 0 && !slices.ContainsFunc(result.captures, hasEnvelope) {
		best := rail.Best(verdicts)
		result.Grade, result.GradeReason = best.Grade, best.Reason
	}
	return PublishOffers(verdicts)
}

// newEvidence returns the published evidence behind a service's checks and grade.
func newEvidence(f *postgres.ServiceFacts, result complianceResult, now time.Time) site.Evidence {
	out := site.Evidence{
		Slug: f.Slug, Grade: result.Grade, Passed: result.Passed, Total: result.Total,
		Checks:    ExplainChecks(result.Checks, slices.ContainsFunc(result.captures, hasEnvelope)),
		Warnings:  ExplainWarnings(result.Warnings[:min(len(result.Warnings), site.EvidenceWarnings)]),
		Endpoints: []site.EndpointEvidence{}, WarningCount: len(result.Warnings),
		GradeReason: invisible.Replace(result.GradeReason),
	}
	left, next := site.EvidenceTotal, 0
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		isActive := e.IsActive(now)
		if isJudged := isActive || result.noneActive; isJudged || isUnprobeable(e) {
			var row x402.Evidence
			if isJudged {
				row, next = result.captures[next], next+1
			} else {
				row = readCapture(f, e)
			}
			evidence := newEndpointEvidence(f, e, row, isActive)
			if size := answerSize(&evidence); size <= left {
				left -= size
			} else {
				stripAnswers(&evidence)
			}
			out.Endpoints = append(out.Endpoints, evidence)
		}
	}
	return out
}

// hasEnvelope reports whether a capture contains payment terms.
func hasEnvelope(e x402.Evidence) bool { return e.Captured.Envelope != nil }

// isUnprobeable reports whether the newest response of an endpoint demands input that no document declares.
func isUnprobeable(e *postgres.EndpointFacts) bool {
	return e.Class != nil && site.IsUnprobeable(*e.Class)
}

// newEndpointEvidence returns the published evidence of an endpoint.
func newEndpointEvidence(f *postgres.ServiceFacts, e *postgres.EndpointFacts, capture x402.Evidence,
	active bool) site.EndpointEvidence {
	out := site.EndpointEvidence{
		ID: e.ID.String(), Method: methodOf(e), Path: invisible.Replace(e.Path),
		URL:         invisible.Replace(f.BaseURL + e.Path),
		IsActive:    active,
		Unprobeable: isUnprobeable(e), Verdict: e.Verdict,
		Protocols: capture.Captured.Protocols, DefectCount: len(capture.Captured.Defects),
		Defects: ExplainDefects(
			capture.Captured.Defects[:min(len(capture.Captured.Defects), site.EvidenceDefects)]),
	}
	if out.Protocols == nil {
		out.Protocols = []string{}
	}
	out.HeadFree, out.HeadAskedAt = e.HeadFree, timeOrNull(e.HeadAt)
	if out.HeadStatus = e.HeadStatus; e.HeadURL != nil {
		out.HeadURL = invisible.ReplaceOrNull(*e.HeadURL)
	}
	if p := e.DeclaredPrice; p != nil {
		out.DeclaredPrice = &site.EvidencePrice{
			Mode: invisible.ReplaceOrNull(p.Mode), Currency: invisible.ReplaceOrNull(p.Currency),
			Amount: invisible.ReplaceOrNull(p.Amount),
			Min:    invisible.ReplaceOrNull(p.Min), Max: invisible.ReplaceOrNull(p.Max),
			Offers: []site.EvidenceOffer{},
		}
		for _, o := range p.Offers {
			out.DeclaredPrice.Offers = append(out.DeclaredPrice.Offers, site.EvidenceOffer{
				Protocol: invisible.Replace(o.Protocol), Method: invisible.ReplaceOrNull(o.Method),
				Intent: invisible.ReplaceOrNull(o.Intent), Network: invisible.ReplaceOrNull(o.Network),
				Currency: invisible.ReplaceOrNull(o.Currency), Amount: invisible.ReplaceOrNull(o.Amount),
			})
		}
	}
	if v := capture.Captured.Envelope; v != nil {
		out.Captured = &site.EvidenceCaptured{X402Version: v.Version, Channel: string(v.Channel), Decode: v.Decode,
			Fingerprint: v.Fingerprint()}
	}
	out.Conflicts = publishConflicts(findConflicts(e, &capture))
	terms := envelopeAnswer(e.Envelope)
	switch a := e.Conclusive; {
	case a != nil:
		out.Answer, out.Terms = storedAnswer(a), terms
		out.Class, out.Reason = invisible.ReplaceOrNull(a.Exchange.Class), invisible.ReplaceOrNull(a.Exchange.Reason)
	case terms != nil && e.Verdict != nil && (*e.Verdict == "paid" || *e.Verdict == "broken"):
		out.Answer = terms
		out.Class = invisible.ReplaceOrNull(e.Envelope.Exchange.Class)
		out.Reason = invisible.ReplaceOrNull(e.Envelope.Exchange.Reason)
	default:
		out.Terms = terms // the newest response is from before responses were stored
	}
	if a := e.Inconclusive; a != nil {
		out.Inconclusive = &site.EvidenceSilence{Class: a.Exchange.Class, Reason: invisible.Replace(a.Exchange.Reason)}
		if a.Exchange.Method != "" {
			out.Inconclusive.Answer = storedAnswer(a)
		}
	}
	return out
}

// envelopeAnswer returns the published form of a stored envelope.
func envelopeAnswer(v *checks.Envelope) *site.EvidenceAnswer {
	if v == nil {
		return nil
	}
	a := newAnswer(v.URL, v.Exchange)
	a.ReceivedAt, a.Status, a.TLSVerified = site.NewTime(v.ReceivedAt), &v.StatusCode, v.TLSVerified
	a.Headers, a.HeadersClipped = publishHeaders(v.Header, site.IsEvidenceHeader)
	a.Body = newBody(v.Body, v.Truncated)
	return a
}

// storedAnswer returns the published form of a stored response.
func storedAnswer(k *checks.Response) *site.EvidenceAnswer {
	a := newAnswer(k.URL, k.Exchange)
	a.ReceivedAt, a.Status, a.TLSVerified = site.NewTime(k.ReceivedAt), k.StatusCode, k.TLSVerified
	a.Headers, a.HeadersClipped = publishHeaders(k.Header, site.IsEvidenceHeader)
	a.Body = newBody(k.Body, k.Truncated)
	return a
}

// newAnswer returns a published response with its request, redirects and times.
func newAnswer(address string, x checks.Exchange) *site.EvidenceAnswer {
	a := &site.EvidenceAnswer{Redirects: []string{}, ResponseTimeMS: x.ResponseTimeMS}
	for _, to := range x.Redirects {
		a.Redirects = append(a.Redirects, invisible.Replace(to))
	}
	if x.Method != "" {
		header, _ := publishHeaders(x.RequestHeader, nil)
		a.Request = &site.EvidenceRequest{Method: x.Method, URL: invisible.Replace(address), Headers: header,
			Body: newBody(x.RequestBody, false)}
	}
	if p := x.Phases; p != nil {
		a.PhasesMS = &site.EvidencePhases{DNS: p.DNS, Connect: p.Connect, TLS: p.TLS, FirstByte: p.FirstByte}
	}
	return a
}

// listAnswers returns all responses in the evidence of an endpoint.
func listAnswers(e *site.EndpointEvidence) (list []*site.EvidenceAnswer) {
	for _, a := range []*site.EvidenceAnswer{e.Answer, e.Terms} {
		if a != nil {
			list = append(list, a)
		}
	}
	if e.Inconclusive != nil && e.Inconclusive.Answer != nil {
		list = append(list, e.Inconclusive.Answer)
	}
	return list
}

// answerSize returns the number of bytes in the bodies and headers of all responses of an endpoint.
func answerSize(e *site.EndpointEvidence) (n int) {
	for _, a := range listAnswers(e) {
		n += len(a.Body.Text)
		for _, values := range a.Headers {
			for _, v := range values {
				n += len(v)
			}
		}
		if a.Request != nil {
			n += len(a.Request.Body.Text)
		}
	}
	return n
}

// stripAnswers drops the bodies and headers of all responses of an endpoint and marks them as truncated.
func stripAnswers(e *site.EndpointEvidence) {
	for _, a := range listAnswers(e) {
		a.HeadersClipped = slices.Sorted(maps.Keys(a.Headers))
		a.Headers = map[string][]string{}
		a.Body = site.EvidenceBody{Encoding: "utf-8", Truncated: true}
		if a.Request != nil {
			a.Request.Body = site.EvidenceBody{Encoding: "utf-8", Truncated: true}
		}
	}
}

// publishHeaders returns the headers that allow accepts, all headers if allow is nil, and the names of those that it
// clipped. Headers that may contain payment terms are clipped last.
func publishHeaders(from http.Header, allow func(string) bool) (headers map[string][]string, clipped []string) {
	headers, clipped = map[string][]string{}, []string{}
	names := slices.Sorted(maps.Keys(from))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(headerRank(a), headerRank(b)) })
	left := site.EvidenceBytes
	for _, name := range names {
		if allow != nil && !allow(name) {
			continue
		}
		for _, value := range from[name] {
			if len(value) > left {
				value = string(trimPartialRune([]byte(value[:left])))
				clipped = append(clipped, name)
			}
			left -= len(value)
			headers[name] = append(headers[name], invisible.Replace(value))
		}
	}
	slices.Sort(clipped)
	return headers, slices.Compact(clipped)
}

// headerRank returns 0 for a header that may contain payment terms, and 1 for others.
func headerRank(header string) int {
	if strings.Contains(header, "Payment") || header == "Www-Authenticate" {
		return 0
	}
	return 1
}

// newBody clips a body. It returns text, or base64 if the body is not UTF-8.
func newBody(body []byte, truncated bool) site.EvidenceBody {
	if len(body) > site.EvidenceBytes {
		body, truncated = body[:site.EvidenceBytes], true
	}
	text := body
	if truncated {
		text = trimPartialRune(body)
	}
	if !utf8.Valid(text) {
		return site.EvidenceBody{Encoding: "base64", Text: base64.StdEncoding.EncodeToString(body),
			Truncated: truncated}
	}
	shown := invisible.Replace(string(text))
	return site.EvidenceBody{Encoding: "utf-8", Text: shown, Truncated: truncated, Cleaned: shown != string(text)}
}

// trimPartialRune returns b without an incomplete character at its end.
func trimPartialRune(b []byte) []byte {
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
