// This file says what results of checks, warnings and defects mean, and how to mend a failure.
//
// It owns how they are published. It must never know a service, a grade or a clock.

package judge

import (
	"slices"
	"sync"

	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/rail"
	"tollbook/site/x402"
)

// isMoot reports whether a check fails only because there are no payment terms.
func isMoot(id string) bool { return id != "payload_captured" && id != "transport_https" }

// Rules and meanings by code, collected once.
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
		for _, c := range slices.Concat(x402.WarningCodes(), rail.WarningCodes()) {
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

// ExplainChecks returns results of checks. Failures have what the rule expects and how to mend it. terms says whether
// any payment terms were captured.
func ExplainChecks(checks []x402.Check, terms bool) []site.EvidenceCheck {
	out := make([]site.EvidenceCheck, len(checks))
	for i, c := range checks {
		out[i] = site.EvidenceCheck{ID: c.ID, Label: c.Label, Pass: c.Pass, Reason: invisible.ReplaceOrNull(c.Reason)}
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

// ExplainWarnings returns warnings with their meanings.
func ExplainWarnings(warnings []x402.Warning) []site.EvidenceWarning {
	out := make([]site.EvidenceWarning, len(warnings))
	for i, w := range warnings {
		out[i] = site.EvidenceWarning{Code: w.Code, Meaning: warningMeanings()[w.Code],
			Endpoint: invisible.ReplaceOrNull(w.Endpoint), Row: w.Row, Detail: invisible.ReplaceOrNull(w.Detail)}
	}
	return out
}

// ExplainDefects returns defects with their meanings.
func ExplainDefects(defects []x402.Defect) []site.EvidenceDefect {
	out := make([]site.EvidenceDefect, len(defects))
	for i, d := range defects {
		out[i] = site.EvidenceDefect{Code: d.Code, Meaning: defectMeanings()[d.Code], Row: d.Row,
			Detail: invisible.ReplaceOrNull(d.Detail)}
	}
	return out
}
