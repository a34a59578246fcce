package judge

import (
	"cmp"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// readCapture is what an endpoint has shown, read again from what was kept: its newest terms, else its newest
// conclusive answer, which may tell why there are none.
func readCapture(f *postgres.ServiceFacts, e *postgres.EndpointFacts) x402.Evidence {
	row := x402.Evidence{
		Endpoint: methodOf(e) + " " + e.Path, URL: f.BaseURL + e.Path, Inconclusive: e.Verdict == nil,
		HeadFree: e.HeadFree != nil && *e.HeadFree, DeclaredUSD: declaredUSD(e.DeclaredPrice),
	}
	var got x402.Answer
	var x postgres.Exchange
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

// declaredUSD is the most that a document says a call costs, in decimal dollars: the fixed amount, or the upper end of
// a range; "" where it names no dollars, or base units, as offers do.
func declaredUSD(p *postgres.DeclaredPrice) string {
	if p == nil || p.Mode == "offer" || p.Currency != "" && !strings.EqualFold(p.Currency, "USD") {
		return ""
	}
	return strings.TrimPrefix(cmp.Or(p.Max, p.Amount), "$")
}

// methodOf is what an endpoint is asked with: GET until it answers to another method.
func methodOf(e *postgres.EndpointFacts) string {
	if e.Method == "" {
		return http.MethodGet
	}
	return e.Method
}

// complianceResult is what the 14 checks say of a service.
type complianceResult struct {
	x402.Compliance
	captures   []x402.Evidence // that it is judged by
	noneActive bool
}

// judgeCompliance judges a service by what its active endpoints have shown or, where none is active, all of them, since
// then all are asked.
func judgeCompliance(f *postgres.ServiceFacts, active []x402.Evidence) complianceResult {
	v := complianceResult{captures: active, noneActive: len(active) == 0}
	if v.noneActive {
		for i := range f.Endpoints {
			v.captures = append(v.captures, readCapture(f, &f.Endpoints[i]))
		}
	}
	v.Compliance = x402.Assess(v.captures)
	return v
}

// newEvidence is what stands behind a service's verdicts and its grade.
func newEvidence(f *postgres.ServiceFacts, got complianceResult, now time.Time) site.Evidence {
	out := site.Evidence{
		Slug: f.Slug, Grade: got.Grade, Passed: got.Passed, Total: got.Total,
		Checks:    EvidenceChecks(got.Checks, slices.ContainsFunc(got.captures, hasEnvelope)),
		Warnings:  EvidenceWarnings(got.Warnings[:min(len(got.Warnings), site.EvidenceWarnings)]),
		Endpoints: []site.EndpointEvidence{}, WarningCount: len(got.Warnings),
	}
	left, next := site.EvidenceTotal, 0
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		isActive := site.IsActive(e.FirstSeenAt, e.LastPaidAt, now)
		if isJudged := isActive || got.noneActive; isJudged || isUnprobeable(e) {
			var row x402.Evidence
			if isJudged {
				row, next = got.captures[next], next+1
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

func hasEnvelope(e x402.Evidence) bool { return e.Captured.Envelope != nil }

// isUnprobeable says whether the newest answer of an endpoint wants input that nobody declared.
func isUnprobeable(e *postgres.EndpointFacts) bool {
	return e.Class != nil && site.IsUnprobeable(*e.Class)
}

func newEndpointEvidence(f *postgres.ServiceFacts, e *postgres.EndpointFacts, shown x402.Evidence,
	active bool) site.EndpointEvidence {
	out := site.EndpointEvidence{
		ID: e.ID.String(), Method: methodOf(e), Path: replaceInvisible(e.Path), URL: replaceInvisible(f.BaseURL + e.Path),
		IsActive:    active,
		Unprobeable: isUnprobeable(e), Verdict: e.Verdict,
		Protocols: shown.Captured.Protocols, DefectCount: len(shown.Captured.Defects),
		Defects: EvidenceDefects(shown.Captured.Defects[:min(len(shown.Captured.Defects), site.EvidenceDefects)]),
	}
	if out.Protocols == nil {
		out.Protocols = []string{}
	}
	out.HeadFree, out.HeadAskedAt = e.HeadFree, timeOrNull(e.HeadAt)
	if p := e.DeclaredPrice; p != nil {
		out.DeclaredPrice = &site.EvidencePrice{
			Mode: textOrNull(p.Mode), Currency: textOrNull(p.Currency), Amount: textOrNull(p.Amount),
			Min: textOrNull(p.Min), Max: textOrNull(p.Max),
		}
	}
	if v := shown.Captured.Envelope; v != nil {
		out.Captured = &site.EvidenceCaptured{X402Version: v.Version, Channel: string(v.Channel), Decode: v.Decode,
			Fingerprint: v.Fingerprint()}
	}
	terms := envelopeAnswer(e.Envelope)
	switch a := e.Conclusive; {
	case a != nil:
		out.Answer, out.Terms = storedAnswer(a), terms
		out.Class, out.Reason = textOrNull(a.Exchange.Class), textOrNull(a.Exchange.Reason)
	case terms != nil && e.Verdict != nil && (*e.Verdict == "paid" || *e.Verdict == "broken"):
		out.Answer = terms
		out.Class, out.Reason = textOrNull(e.Envelope.Exchange.Class), textOrNull(e.Envelope.Exchange.Reason)
	default:
		out.Terms = terms // an answer from before answers were kept
	}
	if a := e.Inconclusive; a != nil {
		out.Inconclusive = &site.EvidenceSilence{Class: a.Exchange.Class, Reason: replaceInvisible(a.Exchange.Reason)}
		if a.Exchange.Method != "" {
			out.Inconclusive.Answer = storedAnswer(a)
		}
	}
	return out
}

func envelopeAnswer(v *postgres.Envelope) *site.EvidenceAnswer {
	if v == nil {
		return nil
	}
	a := newAnswer(v.URL, v.Exchange)
	a.ReceivedAt, a.Status, a.TLSVerified = site.NewTime(v.ReceivedAt), &v.StatusCode, v.TLSVerified
	a.Headers, a.HeadersClipped = publishHeaders(v.Header, site.IsEvidenceHeader)
	a.Body = newBody(v.Body, v.Truncated)
	return a
}

func storedAnswer(k *postgres.Response) *site.EvidenceAnswer {
	a := newAnswer(k.URL, k.Exchange)
	a.ReceivedAt, a.Status, a.TLSVerified = site.NewTime(k.ReceivedAt), k.StatusCode, k.TLSVerified
	a.Headers, a.HeadersClipped = publishHeaders(k.Header, site.IsEvidenceHeader)
	a.Body = newBody(k.Body, k.Truncated)
	return a
}

// newAnswer is an answer's part that is about the way to it.
func newAnswer(address string, x postgres.Exchange) *site.EvidenceAnswer {
	a := &site.EvidenceAnswer{Redirects: []string{}, ResponseTimeMS: x.ResponseTimeMS}
	for _, to := range x.Redirects {
		a.Redirects = append(a.Redirects, replaceInvisible(to))
	}
	if x.Method != "" {
		header, _ := publishHeaders(x.RequestHeader, nil)
		a.Request = &site.EvidenceRequest{Method: x.Method, URL: replaceInvisible(address), Headers: header,
			Body: newBody(x.RequestBody, false)}
	}
	if p := x.Phases; p != nil {
		a.PhasesMS = &site.EvidencePhases{DNS: p.DNS, Connect: p.Connect, TLS: p.TLS, FirstByte: p.FirstByte}
	}
	return a
}

// listAnswers are all answers that evidence of an endpoint holds.
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

// answerSize is the length of the bodies and headers of all answers of an endpoint.
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

// stripAnswers takes the bodies and headers out of all answers of an endpoint, and says so.
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

// publishHeaders are the headers that allow lets through, all when it is nil, and the names of those that were clipped.
// Those that may hold terms come first.
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
			headers[name] = append(headers[name], replaceInvisible(value))
		}
	}
	slices.Sort(clipped)
	return headers, slices.Compact(clipped)
}

func headerRank(header string) int {
	if strings.Contains(header, "Payment") || header == "Www-Authenticate" {
		return 0
	}
	return 1
}

// newBody clips a body and writes it as text, or as base64 where it is not UTF-8.
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
	shown := replaceInvisible(string(text))
	return site.EvidenceBody{Encoding: "utf-8", Text: shown, Truncated: truncated, Cleaned: shown != string(text)}
}

// trimPartialRune is b without the part of a character that a cut left at its end.
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

// replaceInvisible replaces what shows nothing, or turns the direction of what does, by U+FFFD. Line breaks and tabs
// stay.
func replaceInvisible(s string) string {
	plain := true // as most are, and the tables would be slow
	for i := 0; i < len(s) && plain; i++ {
		plain = isPlain(rune(s[i]))
	}
	if plain {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case isPlain(r):
			return r
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp):
			return utf8.RuneError
		}
		return r
	}, s)
}

// isPlain says whether a character is one that ASCII prints, a line break or a tab.
func isPlain(r rune) bool { return r >= ' ' && r <= '~' || r == '\n' || r == '\r' || r == '\t' }

// isMoot says whether a failure of a check means nothing where there are no terms: it fails for want of them.
func isMoot(id string) bool { return id != "payload_captured" && id != "transport_https" }

// What the codes of evidence mean, put together once.
var (
	rules = sync.OnceValue(func() map[string]x402.Rule {
		by := map[string]x402.Rule{}
		for _, r := range x402.Rules() {
			by[r.ID] = r
		}
		return by
	})
	warningMeanings = sync.OnceValue(func() map[string]string {
		by := map[string]string{}
		for _, c := range x402.WarningCodes() {
			by[c.Code] = c.Meaning
		}
		return by
	})
	defectMeanings = sync.OnceValue(func() map[string]string {
		by := map[string]string{}
		for _, c := range x402.DefectCodes() {
			by[c.Code] = c.Meaning
		}
		return by
	})
)

// EvidenceChecks tells results, and of failures what the rules ask for and how they are mended. terms says whether any
// were captured.
func EvidenceChecks(checks []x402.Check, terms bool) []site.EvidenceCheck {
	out := make([]site.EvidenceCheck, len(checks))
	for i, c := range checks {
		out[i] = site.EvidenceCheck{ID: c.ID, Label: c.Label, Pass: c.Pass, Reason: textOrNull(c.Reason)}
		if c.Pass {
			continue
		}
		r := rules()[c.ID]
		out[i].Expected = &r.Expected
		if terms || !isMoot(c.ID) {
			out[i].Mend = &r.Mend
		}
	}
	return out
}

// EvidenceWarnings tells warnings with what they mean.
func EvidenceWarnings(warnings []x402.Warning) []site.EvidenceWarning {
	out := make([]site.EvidenceWarning, len(warnings))
	for i, w := range warnings {
		out[i] = site.EvidenceWarning{Code: w.Code, Meaning: warningMeanings()[w.Code],
			Endpoint: textOrNull(w.Endpoint), Row: w.Row, Detail: textOrNull(w.Detail)}
	}
	return out
}

// EvidenceDefects tells leniencies with what they mean.
func EvidenceDefects(defects []x402.Defect) []site.EvidenceDefect {
	out := make([]site.EvidenceDefect, len(defects))
	for i, d := range defects {
		out[i] = site.EvidenceDefect{Code: d.Code, Meaning: defectMeanings()[d.Code], Row: d.Row,
			Detail: textOrNull(d.Detail)}
	}
	return out
}

// textOrNull is a stranger's text for publication, null when it is empty.
func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	s = replaceInvisible(s)
	return &s
}
