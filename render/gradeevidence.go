package render

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

// gradeEvidence is the evidence of a grade, and the endpoints that could not be judged.
type gradeEvidence struct {
	Checks       []chart.ComplianceResult
	CheckRows    template.HTML // the same as items of a list
	Warnings     []site.EvidenceWarning
	MoreWarnings int
	Unprobeable  []site.EndpointEvidence
	MoreUnasked  int
	JSON         string // address of the evidence
	Limit        string // why the grade is lower than the share of passed checks; "" if it is not
}

func (e *ServiceRenderer) gradeEvidence(l *site.Listing) gradeEvidence {
	g := gradeEvidence{JSON: e.pages.href(bareKey("evidence", l.Detail.Slug))}
	compliance := &l.Detail.Assessment.Compliance
	if _, why, _ := strings.Cut(compliance.GradeReason, ": "); !strings.HasSuffix(why, "checks pass") {
		g.Limit = display.Reason(why)
	}
	for _, c := range compliance.Checks {
		row := chart.ComplianceResult{ComplianceCheck: c}
		at := slices.IndexFunc(l.Evidence.Checks, func(e site.EvidenceCheck) bool { return e.ID == c.ID })
		if at >= 0 && !c.Pass {
			row.Reason, row.Mend = l.Evidence.Checks[at].Reason, l.Evidence.Checks[at].Mend
		}
		g.Checks = append(g.Checks, row)
	}
	g.CheckRows = chart.ComplianceItems(g.Checks, e.pages.href(bareKey(methodologyRoute, "")))
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
