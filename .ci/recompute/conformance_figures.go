package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
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
func recomputeConformance(d *directory, r *report) {
	methodology := string(d.snap.bytes["methodology.md"])
	texts := readCheckTexts(methodology)
	for _, s := range d.services {
		all := s.probed()
		if slices.ContainsFunc(all, (*probed).isCut) {
			takeOver(r, s) // the bytes that the verdicts need are not published
			continue
		}
		judged := graded(all)
		failed := judge(judged)
		grade, reason := gradeWith(s, judged, failed)
		for _, published := range []node{s.detail.at("assessment", "compliance"), s.evidence} {
			r.figure("methodology, The grade", published.get("grade"), grade)
			r.figure("methodology, The grade", published.get("grade_reason"), reason)
			r.figure(conformanceRule, published.get("passed"), len(checks)-len(failed))
			r.figure(conformanceRule, published.get("total"), len(checks))
			compareChecks(r, published.get("checks"), texts, failed)
		}
		comparePlaces(r, s.detail.at("assessment", "compliance"), judged)
		compareStaleness(r, s)
		sum := sha256.Sum256([]byte(s.evidence.get("input").text()))
		r.figure("methodology, Model summaries", s.detail.at("assessment", "input_hash"), hex.EncodeToString(sum[:]))
		r.figure("reference, evidence", s.evidence.get("slug"), s.slug)
		compareWarnings(r, s.evidence, methodology, warn(judged))
		for _, p := range all {
			compareProbed(r, s, p)
		}
	}
}

// comparePlaces compares where the recipients are, and when the oldest of the graded responses was received.
func comparePlaces(r *report, c node, judged []*probed) {
	source, place := recipientPlace(judged)
	r.figure("methodology, payto_recoverable", c.get("pay_to_source"), textOrNull(source))
	r.figure("methodology, payto_recoverable", c.get("pay_to_location"), textOrNull(place))
	var oldest time.Time
	for _, p := range judged {
		if p.terms.envelope != nil && (oldest.IsZero() || p.graded.received.Before(oldest)) {
			oldest = p.graded.received
		}
	}
	r.figure("methodology, Staleness", c.at("staleness", "envelope_captured_at"), oldest)
}

// takeOver leaves what is published about the responses of a service as it is.
func takeOver(r *report, s *service) {
	assessment := s.detail.get("assessment")
	for _, n := range []node{s.evidence, assessment.get("compliance"), assessment.get("input_hash")} {
		n.leaves(r.input)
	}
}

// compareStaleness compares what is said of the age of the graded responses.
func compareStaleness(r *report, s *service) {
	n := s.detail.at("assessment", "compliance", "staleness")
	r.figure("methodology, Staleness", n.get("probe_failing"), s.detail.get("consecutive_failures").int() > 0)
	r.figure("methodology, Staleness", n.get("last_success_at"), s.detail.get("last_success_at"))
}

// compareChecks compares the list of checks. A check that passes has no reason and needs no mending.
func compareChecks(r *report, list node, texts map[string]checkText, failed []string) {
	for i, item := range list.items() {
		if i >= len(checks) {
			break
		}
		id := checks[i].id
		pass := !slices.Contains(failed, id)
		r.figure(conformanceRule, item.get("id"), id)
		r.figure(conformanceRule, item.get("label"), texts[id].label)
		r.figure("methodology, "+id, item.get("pass"), pass)
		for _, name := range []string{"reason", "expected", "mend"} {
			if pass && item.get(name).exists() {
				r.figure("reference, evidence", item.get(name), nil)
			}
		}
		if !pass && item.get("expected").hasValue() {
			text := item.get("expected").text()
			r.figure("methodology, "+id, item.get("expected"), texts[id].body[:min(len(text), len(texts[id].body))])
		}
		if !pass && item.get("mend").hasValue() {
			r.figure("methodology, "+id, item.get("mend"), texts[id].mend)
		}
	}
}

// gradeWith returns the grade with its reason. The grade is unknown if there are neither terms nor verdicts. The reason
// repeats what the evidence says of the check that caps the grade.
func gradeWith(s *service, judged []*probed, failed []string) (grade, reason string) {
	hasVerdict := func(p *probed) bool { return p.terms.envelope != nil || p.published.get("verdict").hasValue() }
	if !slices.ContainsFunc(judged, hasVerdict) {
		return "unknown", "no grade: no conclusive response so far"
	}
	grade, limit := gradeOf(failed)
	for _, item := range s.evidence.get("checks").items() {
		if limit != "" && item.get("id").text() == limit {
			return grade, map[string]string{"F": "F: ", "C": "C at best: "}[grade] + item.get("reason").text()
		}
	}
	return grade, fmt.Sprintf("%s: %d of %d checks pass", grade, len(checks)-len(failed), len(checks))
}

// recipientPlace returns the first place of a recipient that is not payTo in its row, else that one.
func recipientPlace(judged []*probed) (source, place string) {
	for _, p := range judged {
		if p.terms.envelope == nil {
			continue
		}
		for _, row := range p.terms.envelope.rows {
			if row.payTo == "" {
				continue
			}
			if source, place = row.source, row.place; source != "payTo" || place != "accept" {
				return source, place
			}
		}
	}
	return source, place
}

// maxDefects is the largest number of defects that are listed of an endpoint.
const maxDefects = 32

// compareProbed compares the verdict on one endpoint and what was read from its response.
func compareProbed(r *report, s *service, p *probed) {
	n := p.published
	if list := n.get("defects").items(); len(list) < maxDefects {
		r.figure("reference, evidence", n.get("defect_count"), len(list))
	} else {
		r.input(n.get("defect_count")) // there are more than are listed
	}
	r.figure("reference, evidence", n.get("url"), s.detail.get("base_url").text()+n.get("path").text())
	class := n.get("class").text()
	if p.answer != nil {
		t := readTerms(p.answer)
		verdict := "failed"
		if p.answer.status > 0 {
			verdict, class = verdictOf(p.answer, &t)
			r.figure("methodology, How a service is checked", n.get("class"), class)
		} else {
			r.input(n.get("class")) // how the request failed
		}
		r.figure("methodology, How a service is checked", n.get("verdict"), verdict)
	}
	if silent := n.get("inconclusive"); silent.hasValue() {
		if a := newAnswer(silent.get("answer")); a != nil && a.status > 0 {
			t := readTerms(a)
			_, class = verdictOf(a, &t)
			r.figure("methodology, How a service is checked", silent.get("class"), class)
		}
	}
	r.figure("methodology, How a service is checked", n.get("unprobeable"),
		class == "needs_input" || class == "wrong_method")
	if p.graded == nil {
		return
	}
	r.figure("methodology, How terms are read", n.get("protocols"), p.terms.protocols)
	if p.terms.envelope == nil {
		r.figure("methodology, How terms are read", n.get("captured"), nil)
		return
	}
	r.figure("methodology, How terms are read", n.get("captured"), map[string]any{
		"x402_version": p.terms.envelope.version, "channel": p.terms.envelope.channel,
		"decode": p.terms.envelope.decode, "fingerprint": p.terms.envelope.fingerprint(),
	})
}

// checkText is the section of the methodology about one check.
type checkText struct{ label, body, mend string }

// readCheckTexts reads the sections of the checks, whose titles are their ids.
func readCheckTexts(methodology string) map[string]checkText {
	texts := map[string]checkText{}
	for _, c := range checks {
		_, section, _ := strings.Cut(methodology, "\n### "+c.id+"\n")
		section, _, _ = strings.Cut(section, "\n#")
		section = strings.Join(strings.Fields(section), " ")
		label, body, _ := strings.Cut(strings.TrimPrefix(section, "**"), ".** ")
		_, mend, _ := strings.Cut(body, " - Mend: ")
		texts[c.id] = checkText{label, body, mend}
	}
	return texts
}

// textOrNull returns nil for an empty text.
func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
