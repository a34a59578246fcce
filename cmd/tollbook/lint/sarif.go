package lint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"tollbook/site/invisible"
)

// The parts of SARIF 2.1.0 that a report needs, with their names in the standard.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name            string      `json:"name"`
		SemanticVersion string      `json:"semanticVersion,omitempty"`
		Rules           []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
		Help             sarifText `json:"help"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

// notPayable is the rule of a URL that cannot be paid at all.
const notPayable = "not_payable"

// SARIF returns the report as a log of SARIF 2.1.0: a failed check is an error, a warning a warning, a deviation or a
// hint a note. A URL that could not be read is a notification, because nothing is known about it.
func SARIF(b *Batch, level string) ([]byte, error) {
	s := sarifWriter{run: sarifRun{Tool: sarifTool{Driver: sarifDriver{Name: "Tollbook", Rules: []sarifRule{}}},
		Results: []sarifResult{}}, rules: map[string]int{}}
	call := sarifInvocation{ExecutionSuccessful: b.Complete, Notifications: []sarifNotification{}}
	for i := range b.Reports {
		for _, r := range b.Reports[i].parts() {
			switch r.Outcome(level) {
			case Unreached, Unlawful:
				call.ExecutionSuccessful = false
				call.Notifications = append(call.Notifications, sarifNotification{"error",
					sarifText{invisible.Replace(r.Complaint(level))}})
				continue
			case NotPayable:
				s.add(r, notPayable, "error", "The URL can't be paid",
					"Answer requests without a payment with 402 and payment terms.", r.Reason)
			}
			s.addReport(r)
		}
	}
	s.run.Invocations = []sarifInvocation{call}
	return json.MarshalIndent(sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0", Runs: []sarifRun{s.run},
	}, "", "  ")
}

// sarifWriter collects results and the rules that they break.
type sarifWriter struct {
	run   sarifRun
	rules map[string]int // index of each rule by ID
}

func (s *sarifWriter) addReport(r *Report) {
	for _, c := range r.Failed() {
		if c.Mend != nil { // else it fails only because there are no terms
			s.add(r, c.ID, "error", c.Label, *c.Mend, *c.Reason)
		}
	}
	for _, w := range r.Warnings {
		s.add(r, w.Code, "warning", w.Meaning, w.Meaning, w.Meaning+foundIn(w.Detail))
	}
	for _, d := range r.Defects {
		s.add(r, d.Code, "note", d.Meaning, d.Meaning, d.Meaning+foundIn(d.Detail))
	}
	for _, h := range r.Hints {
		text := h.Meaning
		for _, e := range h.Endpoints {
			text += foundIn(e.Detail)
		}
		s.add(r, h.Code, "note", h.Label, h.Fix, text)
	}
}

// add adds a result about a URL. help says how to fix it.
func (s *sarifWriter) add(r *Report, rule, level, label, help, message string) {
	at, known := s.rules[rule]
	if !known {
		at = len(s.run.Tool.Driver.Rules)
		s.rules[rule] = at
		s.run.Tool.Driver.Rules = append(s.run.Tool.Driver.Rules, sarifRule{ID: rule,
			ShortDescription: sarifText{label}, Help: sarifText{help}})
	}
	sum := sha256.Sum256([]byte(rule + "\x00" + r.URL + "\x00" + message))
	s.run.Results = append(s.run.Results, sarifResult{RuleID: rule, RuleIndex: at, Level: level,
		Message:      sarifText{invisible.Replace(message)},
		Locations:    []sarifLocation{{sarifPhysical{sarifArtifact{uriOf(r.URL)}, sarifRegion{1}}}},
		Fingerprints: map[string]string{"tollbook/v1": hex.EncodeToString(sum[:16])},
	})
}

// uriOf returns a URL as a URI, which has ASCII characters alone.
func uriOf(address string) string {
	var b strings.Builder
	for i := range len(address) {
		if c := address[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"<>\^{|}`+"`", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
