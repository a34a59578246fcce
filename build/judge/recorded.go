package judge

import (
	"cmp"
	"slices"
	"time"

	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/postgres/checks"
)

// Methodology is the version of the rules of grades, risk flags and verdicts. Raise it with each change of a rule, so
// that the history tells such a change from one of a service, and describe the change in the methodology.
const Methodology = 1

// newRecorded returns what an assessment says on its day.
func newRecorded(a *site.Assessment) site.Recorded {
	failed, flags := []string{}, []string{}
	for _, c := range a.Compliance.Checks {
		if !c.Pass {
			failed = append(failed, c.ID)
		}
	}
	for _, flag := range a.Risk.Flags {
		flags = append(flags, flag.Code)
	}
	return site.Recorded{ComplianceGrade: new(a.Compliance.Grade), CompliancePassed: new(a.Compliance.Passed),
		ComplianceTotal: new(a.Compliance.Total), FailedChecks: &failed,
		RiskLevel: new(a.Risk.Level), RiskFlags: &flags,
		MinPriceUSD: a.Economics.PriceUSD, ResponseP95MS: a.Reliability.ResponseP95MS, Methodology: new(Methodology),
		VerdictLevel: new(cmp.Or(a.Advice.Level, site.AdviceUnknown))}
}

// recordedDays are the recorded assessments of a service that were not taken yet, oldest first.
type recordedDays struct{ list []checks.Assessment }

// take returns what was recorded on a day. Days must be taken in order.
func (r *recordedDays) take(day time.Time) site.Recorded {
	for len(r.list) > 0 && r.list[0].Day.Before(day) {
		r.list = r.list[1:]
	}
	if len(r.list) == 0 || !r.list[0].Day.Equal(day) || !isRecorded(&r.list[0]) {
		return site.Recorded{}
	}
	a := &r.list[0]
	passed := a.Checks - len(a.Failed)
	out := site.Recorded{ComplianceGrade: &a.Grade, CompliancePassed: &passed, ComplianceTotal: &a.Checks,
		FailedChecks: cleanTexts(a.Failed), RiskLevel: &a.RiskLevel, RiskFlags: cleanTexts(a.RiskFlags),
		ResponseP95MS: a.ResponseP95MS, Methodology: &a.Methodology}
	if a.Verdict != nil && slices.Contains(site.AdviceLevels, *a.Verdict) {
		out.VerdictLevel = a.Verdict
	}
	if a.MinPriceUSD != nil {
		if price, err := site.ParseDecimal(*a.MinPriceUSD); err == nil {
			out.MinPriceUSD = &price
		}
	}
	return out
}

// isRecorded reports whether a build can have recorded an assessment. A damaged row is like none.
func isRecorded(a *checks.Assessment) bool {
	return slices.Contains(site.Grades, a.Grade) && slices.Contains(levelOrder, a.RiskLevel) &&
		len(a.Failed) <= a.Checks
}

// cleanTexts returns a copy of a list without invisible characters.
func cleanTexts(list []string) *[]string {
	clean := make([]string, len(list))
	for i, s := range list {
		clean[i] = invisible.Replace(s)
	}
	return &clean
}

// Published returns what a snapshot publishes of a service, to be recorded. Evidence has the reasons of failed checks.
func Published(id int64, l *site.Listing) checks.Published {
	r := newRecorded(&l.Detail.Assessment)
	p := checks.Published{
		Assessment: checks.Assessment{ServiceID: id, Grade: *r.ComplianceGrade, Checks: *r.ComplianceTotal,
			Failed: *r.FailedChecks, RiskLevel: *r.RiskLevel, RiskFlags: *r.RiskFlags, ResponseP95MS: r.ResponseP95MS,
			Methodology: Methodology, Verdict: r.VerdictLevel},
		Why: l.Detail.Assessment.Compliance.GradeReason, Advice: l.Detail.Assessment.Advice.Reasons,
	}
	if r.MinPriceUSD != nil {
		p.MinPriceUSD = new(string(*r.MinPriceUSD))
	}
	for _, c := range l.Evidence.Checks {
		if !c.Pass {
			p.Reasons = append(p.Reasons, *cmp.Or(c.Reason, new("")))
		}
	}
	return p
}
