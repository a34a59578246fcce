package service

import (
	"html/template"
	"slices"
	"strings"

	"tollbook/render/chart"
	"tollbook/site"
	"tollbook/site/display"
)

// Limits of what a page shows; the evidence as JSON is complete.
const (
	maxWarnings    = 12
	maxUnprobeable = 12
)

// Grade is the evidence of a grade, and the endpoints that could not be judged.
type Grade struct {
	Checks       []chart.ComplianceResult
	Warnings     []site.EvidenceWarning
	MoreWarnings int
	Unprobeable  []site.EndpointEvidence
	MoreUnasked  int
	JSON         string // address of the evidence
	Limit        string // why the grade is lower than the share of passed checks; "" if it is not

	gradeRows                 // Checks as items of two lists
	Passed, Total int         // of the checks behind the grade
	Protocol      string      // of these checks; "" for x402
	Others        []gradeRail // other protocols, which the grade is not about
}

// gradeRail is the grade of a service over a protocol other than x402.
type gradeRail struct {
	*site.Rail
	gradeRows
}

// gradeRows are results of checks as items of two lists. A page shows the failed checks and folds the others.
type gradeRows struct{ FailedRows, PassedRows template.HTML }

// newRows returns results as items of two lists.
func newRows(results []chart.ComplianceResult, methodology string) gradeRows {
	var failed, passed []chart.ComplianceResult
	for _, r := range results {
		if r.Pass {
			passed = append(passed, r)
		} else {
			failed = append(failed, r)
		}
	}
	return gradeRows{chart.ComplianceItems(failed, methodology), chart.ComplianceItems(passed, methodology)}
}

// railChecks returns the checks of a protocol other than x402.
func railChecks(r *site.Rail) (list []chart.ComplianceResult) {
	for _, c := range r.Checks {
		list = append(list, chart.ComplianceResult{Reason: c.Reason, Mend: c.Mend, Anchor: "other-protocols",
			ComplianceCheck: site.ComplianceCheck{ID: c.ID, Label: c.Label, Pass: c.Pass}})
	}
	return list
}

// NewGrade returns the evidence of a service's grade. json is the address of the evidence, methodology that of the
// page with the rules.
func NewGrade(l *site.Listing, json, methodology string) Grade {
	g := Grade{JSON: json}
	compliance := &l.Detail.Assessment.Compliance
	if _, why, _ := strings.Cut(compliance.GradeReason, ": "); !strings.HasSuffix(why, "checks pass") {
		g.Limit = display.Reason(why)
	}
	g.Passed, g.Total = compliance.Passed, compliance.Total
	graded := l.Detail.GradedRail()
	for i := range l.Detail.Rails {
		if r := &l.Detail.Rails[i]; r != graded {
			g.Others = append(g.Others, gradeRail{r, newRows(railChecks(r), methodology)})
		}
	}
	if graded != nil {
		g.Checks, g.Passed, g.Total = railChecks(graded), graded.Passed, graded.Total
		g.Protocol = graded.Protocol
	}
	for _, c := range compliance.Checks {
		if graded != nil {
			break
		}
		row := chart.ComplianceResult{ComplianceCheck: c}
		at := slices.IndexFunc(l.Evidence.Checks, func(e site.EvidenceCheck) bool { return e.ID == c.ID })
		if at >= 0 && !c.Pass {
			row.Reason, row.Mend = l.Evidence.Checks[at].Reason, l.Evidence.Checks[at].Mend
		}
		g.Checks = append(g.Checks, row)
	}
	g.gradeRows = newRows(g.Checks, methodology)
	g.Warnings = l.Evidence.Warnings[:min(maxWarnings, len(l.Evidence.Warnings))]
	g.MoreWarnings = len(l.Evidence.Warnings) - len(g.Warnings)
	for _, p := range l.Evidence.Endpoints {
		switch {
		case !p.Unprobeable:
		case len(g.Unprobeable) < maxUnprobeable:
			g.Unprobeable = append(g.Unprobeable, p)
		default:
			g.MoreUnasked++
		}
	}
	return g
}
