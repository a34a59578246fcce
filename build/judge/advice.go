// This file owns the answer to the first question of a reader: may I pay this service? It weighs what the service's
// record publishes, and whether its endpoints can be paid. All doors publish this answer: pages, lists, badges,
// look-ups, commands and tools. It must never know a fact that is not published.

package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/x402"
)

// minChecks is the number of counted checks in 30 days below which a service is not good.
const minChecks = 24

// poorGrades are the grades with which a service is not good. It is not good either if a check fails that limits the
// grade (x402.Caps), whatever its grade.
var poorGrades = []string{"D", "F", "unknown"}

// cannotReceive is the code of a payment that would fail because of its recipient.
const cannotReceive = "recipient_cannot_receive"

// outdatedAfter is the age of the last usable terms from which a payment is advised against.
const outdatedAfter = 7 * 24 * time.Hour

// Payment says why an endpoint that asks for payment is none to recommend. The zero value says that nothing is known
// against it.
type Payment struct {
	Code, Text string // as in site.AdviceReason
	IsUnknown  bool   // a fact is missing; otherwise the facts speak against it
}

// adviceOf returns the advice on a service at a time. Its status, prices, uptime and assessment must be complete.
// payments are those of its active endpoints whose newest answers ask for payment.
func adviceOf(d *site.ServiceDetail, payments []Payment, now time.Time) site.Advice {
	if reasons := against(d, payments, now); len(reasons) > 0 {
		return newAdvice(site.AdviceDoNotPay, reasons)
	}
	if reason := missing(d, payments); reason != nil {
		return newAdvice(site.AdviceUnknown, []site.AdviceReason{*reason})
	}
	if reasons := doubts(d, payments); len(reasons) > 0 {
		return newAdvice(site.AdviceCaution, reasons)
	}
	return newAdvice(site.AdviceGood, merits(d))
}

// newAdvice returns an advice with the first reasons.
func newAdvice(level string, reasons []site.AdviceReason) site.Advice {
	return site.Advice{Level: level, Reasons: reasons[:min(len(reasons), site.MaxAdviceReasons)]}
}

// reason returns a reason with its text.
func reason(code, text string, args ...any) site.AdviceReason {
	return site.AdviceReason{Code: code, Text: fmt.Sprintf(text, args...)}
}

// against returns why a payment would be lost or answered with nothing.
func against(d *site.ServiceDetail, payments []Payment, now time.Time) (reasons []site.AdviceReason) {
	reasons = flagged(d, site.RiskDanger)
	if len(payments) > 0 && !slices.ContainsFunc(payments, func(p Payment) bool { return p.Code != cannotReceive }) {
		reasons = append(reasons, site.AdviceReason{Code: cannotReceive, Text: payments[0].Text})
	}
	isUnpayable := slices.ContainsFunc(reasons, func(r site.AdviceReason) bool {
		return r.Code == "unpayable_recipient"
	})
	if fails(d, "payto_shape") && !fails(d, "accepts_present") && !isUnpayable {
		reasons = append(reasons, reason("recipient_invalid", "A recipient is no valid address"))
	}
	if d.Status == site.StatusOffline {
		reasons = append(reasons, reason("offline", "Offline: %d visits in a row failed", d.ConsecutiveFailures))
	}
	if isOutdated(d, now) && d.Status != site.StatusUnknown && d.DelistedAt == nil && d.GradedRail() == nil {
		reasons = append(reasons, reason("terms_outdated", "No usable payment terms since %s", day(d.LastSuccessAt)))
	}
	return reasons
}

// isOutdated reports whether the service once had usable terms, and none for outdatedAfter.
func isOutdated(d *site.ServiceDetail, now time.Time) bool {
	return d.LastSuccessAt != nil && now.Sub(d.LastSuccessAt.Time) >= outdatedAfter
}

// missing returns which fact is missing without which nobody can say whether a payment would arrive, nil if none is.
func missing(d *site.ServiceDetail, payments []Payment) *site.AdviceReason {
	var r site.AdviceReason
	switch {
	case d.DelistedAt != nil:
		r = reason("delisted", "Delisted on %s", day(d.DelistedAt))
	case d.LastCheckedAt == nil:
		r = reason("not_checked", "Not checked yet")
	case d.LastSuccessAt == nil:
		r = reason("no_terms", "No check has received usable payment terms yet")
	case !d.PaymentReady && d.GradedRail() != nil:
		r = reason("other_protocol", "Takes payments over %s; only those over x402 are judged", d.GradedRail().Protocol)
	case fails(d, "accepts_present"):
		r = reason("no_options", "The recorded responses contain no payment options")
	case len(payments) > 0 && !slices.ContainsFunc(payments, func(p Payment) bool { return !p.IsUnknown }):
		r = site.AdviceReason{Code: payments[0].Code, Text: payments[0].Text}
	default:
		return nil
	}
	return &r
}

// fails reports whether a check of the compliance fails.
func fails(d *site.ServiceDetail, id string) bool {
	return slices.ContainsFunc(d.Assessment.Compliance.Checks, func(c site.ComplianceCheck) bool {
		return c.ID == id && !c.Pass
	})
}

// doubts returns what speaks against a payment that would arrive.
func doubts(d *site.ServiceDetail, payments []Payment) (reasons []site.AdviceReason) {
	reasons = flagged(d, site.RiskWarning)
	faults := slices.DeleteFunc(slices.Clone(payments), func(p Payment) bool { return p == Payment{} })
	if len(faults) > 0 {
		r := site.AdviceReason{Code: faults[0].Code, Text: faults[0].Text}
		if n := len(payments); n > 1 {
			r.Text = fmt.Sprintf("%d of %d endpoints: %s", len(faults), n, r.Text)
		}
		reasons = append(reasons, r)
	}
	switch d.Status {
	case site.StatusUnknown:
		if d.Uptime.Coverage.H24.CheckCount == 0 && d.PausedAt == nil {
			reasons = append(reasons, reason("nothing_seen", "No check in 24 hours could tell whether it is up"))
			break
		}
		reasons = append(reasons, reason("check_outdated", "Last checked on %s", day(d.LastCheckedAt)))
	case site.StatusDegraded:
		reasons = append(reasons, reason("degraded", "Degraded: the last visit found faults"))
	}
	isCapped := len(reasons) == 0 && slices.ContainsFunc(d.Assessment.Compliance.Checks,
		func(c site.ComplianceCheck) bool { return !c.Pass && x402.Caps(c.ID) })
	if grade := &d.Assessment.Compliance; slices.Contains(poorGrades, grade.Grade) || isCapped {
		reasons = append(reasons, gradeReason(d, "grade_poor"))
	}
	switch up, checks := d.Uptime.D30, d.Uptime.Coverage.D30.CheckCount; {
	case up != nil && *up < site.GoodUptime:
		reasons = append(reasons, uptimeReason(d, "uptime_low"))
	case checks < minChecks:
		reasons = append(reasons, reason("few_checks", "Too new: %d checks in 30 days", checks))
	}
	return reasons
}

// merits returns the main figures of a service against which nothing speaks.
func merits(d *site.ServiceDetail) []site.AdviceReason {
	reasons := []site.AdviceReason{uptimeReason(d, "uptime"), gradeReason(d, "grade")}
	traction, economics := &d.Assessment.Traction, &d.Assessment.Economics
	switch {
	case traction.Status == site.TractionMeasured && traction.TxCount30d != nil && !traction.SharedWithStrangers:
		by := "buyers unknown"
		if traction.UniqueBuyers30d != nil {
			by = "by " + plural(*traction.UniqueBuyers30d, "buyer")
		}
		reasons = append(reasons, reason("settlements", "Settlements in 30 days: %d, %s", *traction.TxCount30d, by))
	case economics.CategoryPercentile != nil:
		reasons = append(reasons, reason("price", "%s%% of its category are cheaper",
			number(*economics.CategoryPercentile)))
	}
	return reasons
}

// flagged returns the titles of the risk flags of a level. Whether the service answers is said by its status.
func flagged(d *site.ServiceDetail, level string) (reasons []site.AdviceReason) {
	for _, f := range d.Assessment.Risk.Flags {
		if f.Level == level && f.Code != "probe_failing" {
			reasons = append(reasons, site.AdviceReason{Code: f.Code, Text: f.Title})
		}
	}
	return reasons
}

func uptimeReason(d *site.ServiceDetail, code string) site.AdviceReason {
	return reason(code, "Up in %s%% of %s over 30 days", number(*d.Uptime.D30),
		plural(d.Uptime.Coverage.D30.CheckCount, "check"))
}

func gradeReason(d *site.ServiceDetail, code string) site.AdviceReason {
	grade := &d.Assessment.Compliance
	if grade.Grade == "unknown" {
		return reason(code, "Not graded: %s", strings.TrimPrefix(grade.GradeReason, "unknown: "))
	}
	return reason(code, "Grade %s", grade.GradeReason)
}

// day returns the UTC day of a time.
func day(t *site.Time) string { return t.UTC().Format("2006-01-02") }

// number returns a figure with at most two decimals.
func number(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", f), "0"), ".")
}

// plural returns a number with a noun.
func plural(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
