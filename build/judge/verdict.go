// This file owns the answer to the first question of a reader: may I pay this? It is given for each option, for each
// endpoint and for each service, by one rule: the worst level that a known fact leaves is the level, and the facts that
// leave no better one are its reasons. An endpoint is as good as the best of its options, and a service as the best of
// the endpoints that sell something. Facts about the service as a whole count for each of its endpoints.
//
// All doors publish this answer: pages, lists, badges, look-ups, commands and tools. It must never know a fact that is
// not published.

package judge

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/x402"
)

// A service is not good below minChecks counted checks in 30 days, nor before it was listed for minAge.
const (
	minChecks = 24
	minAge    = 3 * 24 * time.Hour
)

// poorGrades are the grades with which a service is not good. It is not good either if a check fails that limits the
// grade (x402.Caps), whatever its grade.
var poorGrades = []string{"D", "F", "unknown"}

// A payment is advised against from outdatedAfter on since the last usable terms. A service is not good from termsAfter
// on, or after two check intervals if those are longer.
const (
	outdatedAfter = 7 * 24 * time.Hour
	termsAfter    = 24 * time.Hour
)

// trivialFactor is how much dearer another endpoint of the service is than one whose verdict does not count, such as a
// route for tests beside the product.
const trivialFactor = 1000

// finding is a fact that leaves no better level than its own.
type finding struct {
	level  string
	reason site.AdviceReason
	blocks bool // clients must not be sent there, although the level is caution
}

// isPayable reports whether clients may be sent to what has this finding. A nil one says that nothing is known against
// it.
func (f *finding) isPayable() bool { return f == nil || f.level == site.AdviceCaution && !f.blocks }

// ceiling returns the level of what has this finding alone.
func (f *finding) ceiling() string {
	if f == nil {
		return site.AdviceGood
	}
	return f.level
}

// best returns the place of the first finding of the best level, -1 without findings.
func best(list []*finding) int {
	at := -1
	for i, f := range list {
		if at < 0 || site.IsWorse(list[at].ceiling(), f.ceiling()) {
			at = i
		}
	}
	return at
}

// verdictInput is what the verdicts on a service and on its endpoints are judged by. The detail's status, prices, uptime
// and assessment must be complete.
type verdictInput struct {
	detail    *site.ServiceDetail
	endpoints []endpointVerdict // of its active endpoints, in their order
	isFree    bool              // every endpoint that ever answered did so without asking for payment, last
	tainted   *naming           // its account that a dangerous service named first; nil for none
	now       time.Time

	advice *site.Advice // on the service, by service
}

// service returns the verdict on the service: that on what it sells.
func (v *verdictInput) service() site.Advice {
	own := v.sold()
	advice := adviceOf(v.findings(own))
	if advice.Level == site.AdviceGood {
		advice.Reasons = v.merits()
	}
	v.advice = new(v.finish(advice))
	return *v.advice
}

// endpoint returns the verdict on one endpoint or one of its options, with what is known of that alone. Of its reasons it
// has the main one: that of the endpoint, if there is one of its level. No endpoint is better than a service that is
// not advised, so that a trivial one recommends nothing. It needs the verdict on the service.
func (v *verdictInput) endpoint(own *finding) site.Advice {
	var list []finding
	if own != nil {
		list = append(list, *own)
	}
	advice := adviceOf(v.findings(list))
	switch {
	case !v.advice.IsAdvised() && site.IsWorse(v.advice.Level, advice.Level):
		advice = site.Advice{Level: v.advice.Level, Reasons: slices.Clone(v.advice.Reasons)}
	case advice.Level == site.AdviceGood:
		advice.Reasons = v.merits()
	case own != nil && own.level == advice.Level:
		advice.Reasons = []site.AdviceReason{own.reason}
	}
	advice.Reasons = advice.Reasons[:1]
	return v.finish(advice)
}

// adviceOf returns the worst level of findings with its reasons, in their order. Of the reasons for unknown only the
// first is named, because the others follow from it.
func adviceOf(list []finding) site.Advice {
	a := site.Advice{Level: site.AdviceGood}
	for i := range list {
		if site.IsWorse(list[i].level, a.Level) {
			a.Level = list[i].level
		}
	}
	for i := range list {
		if list[i].level == a.Level {
			a.Reasons = append(a.Reasons, list[i].reason)
		}
	}
	most := site.MaxAdviceReasons
	if a.Level == site.AdviceUnknown {
		most = 1
	}
	a.Reasons = a.Reasons[:min(len(a.Reasons), most)]
	return a
}

// sold returns what is known against the endpoints that sell something. If the best of them can be paid, faults of
// others are a caution.
func (v *verdictInput) sold() []finding {
	var all, faults []*finding
	for _, e := range v.selling() {
		if all = append(all, e.found); e.found != nil {
			faults = append(faults, e.found)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	of := faults[0]
	isCaution := !site.IsWorse(all[best(all)].ceiling(), site.AdviceCaution)
	if !isCaution {
		of = all[best(all)]
	}
	f := *of
	f.reason.Values = maps.Clone(of.reason.Values)
	f.reason.Values["faulty_endpoints"], f.reason.Values["endpoints"] = strconv.Itoa(len(faults)), strconv.Itoa(len(all))
	if isCaution {
		f.level = site.AdviceCaution
		if len(all) > 1 {
			f.reason.Text = fmt.Sprintf("%d of %d endpoints: %s", len(faults), len(all), f.reason.Text)
		}
	}
	return []finding{f}
}

// selling returns the verdicts on the endpoints that sell something: those whose latest answers ask for payment, without
// those that are trivial beside a much dearer one; or all endpoints if there are none.
func (v *verdictInput) selling() []endpointVerdict {
	var dearest *site.Decimal
	var list []endpointVerdict
	for i := range v.endpoints {
		if e := &v.endpoints[i]; e.asks {
			list = append(list, *e)
			if e.price != nil && (dearest == nil || e.price.Compare(*dearest) > 0) {
				dearest = e.price
			}
		}
	}
	if len(list) == 0 {
		return v.endpoints
	}
	return slices.DeleteFunc(list, func(e endpointVerdict) bool {
		return e.price != nil && e.price.Compare(*dearest) < 0 &&
			new(big.Rat).Mul(e.price.Rational(), big.NewRat(trivialFactor, 1)).Cmp(dearest.Rational()) <= 0
	})
}

// findings returns what leaves no better level than its own, with what is known of the endpoints or of one of them.
func (v *verdictInput) findings(own []finding) []finding {
	d := v.detail
	list := append(v.against(), v.missing()...)
	list = append(append(append(list, v.flags()...), own...), v.doubts()...)
	// Other faults say already what a limited grade says.
	isCapped := len(list) == 0 && d.GradedRail() == nil && slices.ContainsFunc(d.Assessment.Compliance.Checks,
		func(c site.ComplianceCheck) bool { return !c.Pass && x402.Caps(c.ID) })
	if slices.Contains(poorGrades, d.Assessment.Compliance.Grade) || isCapped {
		list = append(list, finding{level: site.AdviceCaution, reason: gradeReason(d, "grade_poor")})
	}
	return append(list, v.history()...)
}

// against returns why a payment would be lost or answered with nothing.
func (v *verdictInput) against() (list []finding) {
	d := v.detail
	no := func(r site.AdviceReason) { list = append(list, finding{level: site.AdviceDoNotPay, reason: r}) }
	for _, r := range flagged(d, site.RiskDanger) {
		no(r)
	}
	isUnpayable := slices.ContainsFunc(list, func(f finding) bool { return f.reason.Code == "unpayable_recipient" })
	if fails(d, "payto_shape") && !fails(d, "accepts_present") && !isUnpayable {
		no(newReason("recipient_invalid", nil, "A recipient is no valid address"))
	}
	failures := values{"failures": strconv.Itoa(d.ConsecutiveFailures)}
	switch {
	case d.DelistedAt != nil:
	case d.Status == site.StatusOffline:
		no(since(newReason("offline", failures, "Offline: %d visits in a row failed", d.ConsecutiveFailures), d.OfflineSince))
	case d.Status == site.StatusUnknown && d.ConsecutiveFailures >= offlineAfter: // a visit that tells nothing is no good news
		no(since(newReason("offline", failures, "Offline when last seen: %d visits in a row failed", d.ConsecutiveFailures),
			d.OfflineSince))
	}
	if v.isOutdated() && d.Status != site.StatusUnknown && d.DelistedAt == nil && !v.isFree {
		no(since(newReason("terms_outdated", nil, "No usable payment terms since %s", day(d.LastSuccessAt)), d.LastSuccessAt))
	}
	return list
}

// isOutdated reports whether the service once had usable terms, and none for outdatedAfter.
func (v *verdictInput) isOutdated() bool {
	at := v.detail.LastSuccessAt
	return at != nil && v.now.Sub(at.Time) >= outdatedAfter
}

// missing returns which fact about the service is missing without which nobody can say whether a payment would arrive.
func (v *verdictInput) missing() []finding {
	d := v.detail
	var r site.AdviceReason
	switch {
	case d.DelistedAt != nil:
		r = since(newReason("delisted", nil, "Delisted on %s", day(d.DelistedAt)), d.DelistedAt)
	case d.LastCheckedAt == nil:
		r = newReason("not_checked", nil, "Not checked yet")
	case v.isFree:
		r = since(newReason("nothing_sold", nil, "Nothing is sold here: it answers without asking for payment"),
			d.LastSuccessAt)
	case d.LastSuccessAt == nil:
		r = newReason("no_terms", nil, "No check has received usable payment terms yet")
	case len(v.endpoints) == 0 && !v.isOutdated():
		r = newReason("no_options", nil, "No endpoint has a payment option now")
	case v.isOutdated() && d.Status == site.StatusUnknown:
		r = since(newReason("terms_seen", nil, "Payment terms were last seen on %s", day(d.LastSuccessAt)), d.LastSuccessAt)
	default:
		return nil
	}
	return []finding{{level: site.AdviceUnknown, reason: r}}
}

// fails reports whether a check of the compliance fails.
func fails(d *site.ServiceDetail, id string) bool {
	return slices.ContainsFunc(d.Assessment.Compliance.Checks, func(c site.ComplianceCheck) bool {
		return c.ID == id && !c.Pass
	})
}

// flags returns the warnings about a service, and that it is paid at an account of a dangerous one.
func (v *verdictInput) flags() (list []finding) {
	doubt := func(r site.AdviceReason) { list = append(list, finding{level: site.AdviceCaution, reason: r}) }
	for _, r := range flagged(v.detail, site.RiskWarning) {
		doubt(r)
	}
	if n := v.tainted; n != nil {
		doubt(since(newReason("recipient_of_danger", values{"pay_to": n.payTo, "network": n.network, "service": n.by},
			"It is paid at an account of %s, which nobody should pay", n.by), new(site.NewTime(n.since))))
	}
	return list
}

// doubts returns what of its visits speaks against a payment that would arrive.
func (v *verdictInput) doubts() (list []finding) {
	d := v.detail
	doubt := func(r site.AdviceReason) { list = append(list, finding{level: site.AdviceCaution, reason: r}) }
	switch d.Status {
	case site.StatusUnknown:
		if d.Uptime.Coverage.H24.CheckCount == 0 && d.PausedAt == nil {
			doubt(newReason("nothing_seen", nil, "No check in 24 hours could tell whether it is up"))
			break
		}
		doubt(since(newReason("check_outdated", nil, "Last checked on %s", day(d.LastCheckedAt)), d.LastCheckedAt))
	case site.StatusDegraded:
		doubt(newReason("degraded", nil, "Degraded: the last visit found faults"))
	}
	patience := max(termsAfter, 2*time.Duration(d.CheckIntervalMinutes)*time.Minute)
	if at := d.LastSuccessAt; at != nil && d.Status != site.StatusUnknown && v.now.Sub(at.Time) >= patience {
		doubt(since(newReason("terms_seen", nil, "Payment terms were last seen on %s", day(at)), at))
	}
	return list
}

// history returns why the past of a service is too bad or too short for it to be good.
func (v *verdictInput) history() []finding {
	d := v.detail
	checks := d.Uptime.Coverage.D30.CheckCount
	counted := values{"checks_30d": strconv.FormatInt(checks, 10)}
	var r site.AdviceReason
	switch up := d.Uptime.D30; {
	case up != nil && *up < site.GoodUptime:
		r = uptimeReason(d, "uptime_low")
	case v.now.Sub(d.CreatedAt.Time) < minAge:
		r = since(newReason("few_checks", counted, "Too new: listed on %s, %s in 30 days", day(&d.CreatedAt),
			plural(checks, "check")), &d.CreatedAt)
	case (up == nil || checks < minChecks) && d.Status != site.StatusUnknown:
		r = newReason("nothing_seen", counted, "Only %s in 30 days could tell whether it is up", plural(checks, "check"))
	default:
		return nil
	}
	return []finding{{level: site.AdviceCaution, reason: r}}
}

// merits returns the main figures of a service against which nothing speaks.
func (v *verdictInput) merits() []site.AdviceReason {
	d := v.detail
	reasons := []site.AdviceReason{uptimeReason(d, "uptime"), gradeReason(d, "grade")}
	traction, economics := d.Assessment.Traction.Merit(), &d.Assessment.Economics
	switch {
	case traction != nil && traction.Status == site.TractionMeasured && isPositive(traction.OrganicTxCount30d):
		// what the seller, its relatives and scouts paid is no merit
		settlements := *traction.OrganicTxCount30d
		by, of := "buyers unknown", values{"organic_settlements_30d": strconv.FormatInt(settlements, 10)}
		if n := traction.OrganicBuyers30d; n != nil {
			by, of["organic_buyers_30d"] = "by "+plural(*n, "buyer"), strconv.FormatInt(*n, 10)
		}
		reasons = append(reasons, newReason("settlements", of, "Settlements in 30 days: %d, %s", settlements, by))
	case economics.CategoryPercentile != nil && *economics.CategoryPercentile <= 50 && *economics.CategoryDearer > 0:
		dearer, others := *economics.CategoryDearer, *economics.CategoryOthers
		percent := number(site.Round2(100 * float64(dearer) / float64(others)))
		reasons = append(reasons, newReason("price", values{"cheaper_than_percent": percent,
			"cheaper_than": strconv.Itoa(dearer), "others": strconv.Itoa(others)},
			"Cheaper than %d of %d others in %s", dearer, others, d.Category))
	}
	return reasons
}

// isPositive reports whether a count is known and not zero.
func isPositive(n *int64) bool { return n != nil && *n > 0 }

// flagged returns the titles of the risk flags of a level. Whether the service answers is said by its status, and the
// networks of its prices by its options.
func flagged(d *site.ServiceDetail, level string) (reasons []site.AdviceReason) {
	for _, f := range d.Assessment.Risk.Flags {
		if f.Level != level || f.Code == "probe_failing" || f.Code == "testnet_only" {
			continue
		}
		r := newReason(f.Code, values{"evidence": f.Evidence}, "%s", f.Title)
		if f.Code == "pay_to_changed" {
			i := slices.IndexFunc(d.PayToChanges, site.PayToChange.IsReplacement)
			if i >= 0 {
				r.Since = &d.PayToChanges[i].ObservedAt
			}
		}
		reasons = append(reasons, r)
	}
	return reasons
}

func uptimeReason(d *site.ServiceDetail, code string) site.AdviceReason {
	checks := d.Uptime.Coverage.D30.CheckCount
	return newReason(code, values{"uptime_30d": number(*d.Uptime.D30), "checks_30d": strconv.FormatInt(checks, 10)},
		"Up %s%% of the time over 30 days (%s)", number(*d.Uptime.D30), plural(checks, "check"))
}

func gradeReason(d *site.ServiceDetail, code string) site.AdviceReason {
	c := &d.Assessment.Compliance
	of := values{"grade": c.Grade, "passed": strconv.Itoa(c.Passed), "total": strconv.Itoa(c.Total)}
	if c.Grade == "unknown" {
		return newReason(code, of, "Not graded: %s", strings.TrimPrefix(c.GradeReason, "unknown: "))
	}
	return newReason(code, of, "Grade %s", c.GradeReason)
}

// values are the exact figures and names behind a reason, by name.
type values = map[string]string

// newReason returns a reason with its text.
func newReason(code string, of values, text string, args ...any) site.AdviceReason {
	if of == nil {
		of = values{}
	}
	return site.AdviceReason{Code: code, Text: fmt.Sprintf(text, args...), Values: of}
}

// since adds when a fact began.
func since(r site.AdviceReason, at *site.Time) site.AdviceReason {
	r.Since = at
	return r
}

// sections are the parts of a service's page that show the facts behind reasons. Other facts are in the evidence.
var sections = map[string]string{
	"concentrated_volume": "settled", "recipient_claimed": "settled", "recipient_foreign": "settled",
	"recipient_of_danger": "settled", "settlements": "settled",
	"pay_to_changed": "history", "pay_to_divergence": "endpoints", "pay_to_unstable": "history",
	"price": "prices", "price_outlier": "prices", "testnet": "endpoints",
	"free_host": "who", "plain_http": "who", "young_domain": "who", "delisted": "who",
	"check_outdated": "uptime", "degraded": "uptime", "few_checks": "uptime", "not_checked": "uptime",
	"nothing_seen": "uptime", "offline": "uptime", "terms_outdated": "uptime", "terms_seen": "uptime", "uptime": "uptime",
	"uptime_low": "uptime", "no_terms": "uptime",
	"grade": "conformance", "grade_poor": "conformance", "recipient_invalid": "conformance",
}

// finish adds to each reason the path of what shows its fact.
func (v *verdictInput) finish(a site.Advice) site.Advice {
	for i := range a.Reasons {
		route, fragment := "evidence", ""
		if section := sections[a.Reasons[i].Code]; section != "" {
			route, fragment = "service-page", "#"+section
		}
		a.Reasons[i].Link = "/" + routes.Query{Route: routes.ByName(route), Slug: v.detail.Slug, Bare: true}.Key() + fragment
	}
	return a
}

// day returns the UTC day of a time.
func day(t *site.Time) string { return t.UTC().Format(time.DateOnly) }

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
