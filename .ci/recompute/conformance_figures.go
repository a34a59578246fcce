package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/snapshot"
)

func init() {
	recomputations = append(recomputations, recomputeConformance)
	addInputs("v1/services/{slug}/evidence.json", "what was requested and received, and remarks about it",
		`data.input data.checks[].reason data.checks[].mend data.warnings[].detail data.endpoints[].id
		data.endpoints[].method data.endpoints[].path data.endpoints[].reason data.endpoints[].answer*
		data.endpoints[].terms* data.endpoints[].inconclusive* data.endpoints[].declared_price* data.endpoints[].head*
		data.endpoints[].defects* data.site_answers* data.registration* data.verified_by`)
}

const conformanceRule = "methodology, Conformance"

// recomputeConformance judges the published responses of each service again.
func recomputeConformance(d *directory, r *snapshot.Report) {
	methodology := string(d.snap.Bytes["methodology.md"])
	texts := readCheckTexts(methodology)
	for _, s := range d.services {
		all := s.probed()
		if slices.ContainsFunc(all, (*conformance.Probed).IsCut) {
			takeOver(r, s) // the bytes that the verdicts need are not published
			continue
		}
		judged := conformance.Graded(all)
		failed := conformance.Judge(judged)
		grade, reason := gradeWith(s, judged, failed)
		if of, why := conformance.RailGrade(s.detail); of != "" && !slices.ContainsFunc(judged, hasTerms) {
			grade, reason = of, why
		}
		for _, published := range []snapshot.Node{s.detail.At("assessment", "compliance"), s.evidence} {
			r.Figure("methodology, The grade", published.Get("grade"), grade)
			r.Figure("methodology, The grade", published.Get("grade_reason"), reason)
			r.Figure(conformanceRule, published.Get("passed"), len(conformance.Checks)-len(failed))
			r.Figure(conformanceRule, published.Get("total"), len(conformance.Checks))
			compareChecks(r, published.Get("checks"), texts, failed)
		}
		conformance.CompareRails(r, s.detail.Get("rails"), all)
		comparePlaces(r, s.detail.At("assessment", "compliance"), judged)
		compareStaleness(r, s)
		sum := sha256.Sum256([]byte(s.evidence.Get("input").Text()))
		r.Figure("methodology, Model summaries", s.detail.At("assessment", "input_hash"), hex.EncodeToString(sum[:]))
		r.Figure("reference, evidence", s.evidence.Get("slug"), s.slug)
		conformance.CompareWarnings(r, s.evidence, methodology, conformance.Warn(judged))
		for _, p := range all {
			compareProbed(r, s, p)
		}
	}
}

func hasTerms(p *conformance.Probed) bool { return p.Terms.Envelope != nil }

// isPaidOther reports whether the response made an offer over another protocol alone that can be paid.
func isPaidOther(p *conformance.Probed) bool { return p.Published.Get("class").Text() == "paid_other" }

// comparePlaces compares where the recipients are, and when the oldest of the graded responses was received.
func comparePlaces(r *snapshot.Report, c snapshot.Node, judged []*conformance.Probed) {
	source, place := recipientPlace(judged)
	r.Figure("methodology, payto_recoverable", c.Get("pay_to_source"), snapshot.TextOrNull(source))
	r.Figure("methodology, payto_recoverable", c.Get("pay_to_location"), snapshot.TextOrNull(place))
	var oldest time.Time
	for _, p := range judged {
		if (hasTerms(p) || isPaidOther(p)) && (oldest.IsZero() || p.Graded.Received.Before(oldest)) {
			oldest = p.Graded.Received
		}
	}
	r.Figure("methodology, Staleness", c.At("staleness", "envelope_captured_at"), oldest)
}

// takeOver leaves what is published about the responses of a service as it is.
func takeOver(r *snapshot.Report, s *service) {
	assessment := s.detail.Get("assessment")
	for _, n := range []snapshot.Node{s.evidence, s.detail.Get("rails"), assessment.Get("compliance"),
		assessment.Get("input_hash")} {
		n.Leaves(r.Input)
	}
}

// compareStaleness compares what is said of the age of the graded responses.
func compareStaleness(r *snapshot.Report, s *service) {
	n := s.detail.At("assessment", "compliance", "staleness")
	r.Figure("methodology, Staleness", n.Get("probe_failing"), s.detail.Get("consecutive_failures").Int() > 0)
	r.Figure("methodology, Staleness", n.Get("last_success_at"), s.detail.Get("last_success_at"))
}

// compareChecks compares the list of checks. A check that passes has no reason and needs no mending.
func compareChecks(r *snapshot.Report, list snapshot.Node, texts map[string]checkText, failed []string) {
	for i, item := range list.Items() {
		if i >= len(conformance.Checks) {
			break
		}
		id := conformance.Checks[i].ID
		pass := !slices.Contains(failed, id)
		r.Figure(conformanceRule, item.Get("id"), id)
		r.Figure(conformanceRule, item.Get("label"), texts[id].label)
		r.Figure("methodology, "+id, item.Get("pass"), pass)
		for _, name := range []string{"reason", "expected", "mend"} {
			if pass && item.Get(name).Exists() {
				r.Figure("reference, evidence", item.Get(name), nil)
			}
		}
		if !pass && item.Get("expected").HasValue() {
			text := item.Get("expected").Text()
			r.Figure("methodology, "+id, item.Get("expected"), texts[id].body[:min(len(text), len(texts[id].body))])
		}
		if !pass && item.Get("mend").HasValue() {
			r.Figure("methodology, "+id, item.Get("mend"), texts[id].mend)
		}
	}
}

// gradeWith returns the grade with its reason. The grade is unknown if there are neither terms nor verdicts. The reason
// repeats what the evidence says of the check that caps the grade.
func gradeWith(s *service, judged []*conformance.Probed, failed []string) (grade, reason string) {
	hasVerdict := func(p *conformance.Probed) bool {
		return p.Terms.Envelope != nil || p.Published.Get("verdict").HasValue()
	}
	if !slices.ContainsFunc(judged, hasVerdict) {
		return "unknown", "no grade: no conclusive response so far"
	}
	grade, limit := conformance.GradeOf(failed)
	for _, item := range s.evidence.Get("checks").Items() {
		if limit != "" && item.Get("id").Text() == limit {
			return grade, map[string]string{"F": "F: ", "C": "C at best: "}[grade] + item.Get("reason").Text()
		}
	}
	return grade, fmt.Sprintf("%s: %d of %d checks pass", grade, len(conformance.Checks)-len(failed),
		len(conformance.Checks))
}

// recipientPlace returns the first place of a recipient that is not payTo in its row, else that one.
func recipientPlace(judged []*conformance.Probed) (source, place string) {
	for _, p := range judged {
		if p.Terms.Envelope == nil {
			continue
		}
		for _, row := range p.Terms.Envelope.Rows {
			if row.PayTo == "" {
				continue
			}
			if source, place = row.Source, row.Place; source != "payTo" || place != "accept" {
				return source, place
			}
		}
	}
	return source, place
}

// maxDefects is the largest number of defects that are listed of an endpoint.
const maxDefects = 32

// compareProbed compares the verdict on one endpoint and what was read from its response.
func compareProbed(r *snapshot.Report, s *service, p *conformance.Probed) {
	n := p.Published
	if list := n.Get("defects").Items(); len(list) < maxDefects {
		r.Figure("reference, evidence", n.Get("defect_count"), len(list))
	} else {
		r.Input(n.Get("defect_count")) // there are more than are listed
	}
	r.Figure("reference, evidence", n.Get("url"), s.detail.Get("base_url").Text()+n.Get("path").Text())
	class := n.Get("class").Text()
	if p.Answer != nil {
		t := conformance.ReadTerms(p.Answer)
		verdict := "failed"
		if p.Answer.Status > 0 {
			verdict, class = conformance.VerdictOf(p.Answer, &t)
			r.Figure("methodology, How a service is checked", n.Get("class"), class)
		} else {
			r.Input(n.Get("class")) // how the request failed
		}
		r.Figure("methodology, How a service is checked", n.Get("verdict"), verdict)
	}
	if silent := n.Get("inconclusive"); silent.HasValue() {
		if a := conformance.NewAnswer(silent.Get("answer")); a != nil && a.Status > 0 {
			t := conformance.ReadTerms(a)
			_, class = conformance.VerdictOf(a, &t)
			r.Figure("methodology, How a service is checked", silent.Get("class"), class)
		}
	}
	r.Figure("methodology, How a service is checked", n.Get("unprobeable"),
		class == "needs_input" || class == "wrong_method")
	if p.Graded == nil {
		return
	}
	r.Figure("methodology, How terms are read", n.Get("protocols"), p.Terms.Protocols)
	if p.Terms.Envelope == nil {
		r.Figure("methodology, How terms are read", n.Get("captured"), nil)
		return
	}
	r.Figure("methodology, How terms are read", n.Get("captured"), map[string]any{
		"x402_version": p.Terms.Envelope.Version, "channel": p.Terms.Envelope.Channel,
		"decode": p.Terms.Envelope.Decode, "fingerprint": p.Terms.Envelope.Fingerprint(),
	})
}

// checkText is the section of the methodology about one check.
type checkText struct{ label, body, mend string }

// readCheckTexts reads the sections of the checks, whose titles are their ids.
func readCheckTexts(methodology string) map[string]checkText {
	texts := map[string]checkText{}
	for _, c := range conformance.Checks {
		_, section, _ := strings.Cut(methodology, "\n### "+c.ID+"\n")
		section, _, _ = strings.Cut(section, "\n#")
		section = strings.Join(strings.Fields(section), " ")
		label, body, _ := strings.Cut(strings.TrimPrefix(section, "**"), ".** ")
		_, mend, _ := strings.Cut(body, " - Mend: ")
		texts[c.ID] = checkText{label, body, mend}
	}
	return texts
}
