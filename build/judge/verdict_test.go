package judge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
)

// newAdvised returns a service against which nothing speaks, changed by an edit.
func newAdvised(edit func(*site.ServiceDetail)) *site.ServiceDetail {
	at := site.NewTime(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	d := &site.ServiceDetail{Slug: "acme", Category: "Data", Status: site.StatusOnline, PaymentReady: true,
		LastCheckedAt: &at, LastSuccessAt: &at, CheckIntervalMinutes: 15}
	d.Uptime.D30, d.Uptime.Coverage.D30.CheckCount = new(99.5), 2880
	d.Assessment.Compliance = site.Compliance{Grade: "A", GradeReason: "A: 14 of 14 checks pass",
		Checks: []site.ComplianceCheck{{ID: "payto_shape", Pass: true}}}
	d.Assessment.Risk = site.Risk{Level: site.RiskClean, Flags: []site.RiskFlag{}}
	edit(d)
	return d
}

// raise returns an edit that raises a flag.
func raise(level, code, title string) func(*site.ServiceDetail) {
	return func(d *site.ServiceDetail) {
		d.Assessment.Risk.Level = level
		d.Assessment.Risk.Flags = append(d.Assessment.Risk.Flags, site.RiskFlag{Level: level, Code: code, Title: title})
	}
}

// ranked returns an edit that ranks the price among those of other operators.
func ranked(percentile float64, dearer, others int) func(*site.ServiceDetail) {
	return func(d *site.ServiceDetail) {
		e := &d.Assessment.Economics
		e.CategoryPercentile, e.CategoryDearer, e.CategoryOthers = &percentile, &dearer, &others
	}
}

var verdictNow = time.Date(2026, 11, 22, 12, 5, 0, 0, time.UTC)

// against returns an endpoint that asks for payment, with what is known against it.
func against(level, code, text string) endpointVerdict {
	return endpointVerdict{asks: true, found: &finding{level: level, reason: newReason(code, nil, "%s", text)}}
}

// sellable is an endpoint that asks for payment, and nothing is known against it.
var sellable = endpointVerdict{asks: true}

func TestServiceVerdict(t *testing.T) {
	day := site.NewTime(time.Date(2026, 11, 10, 23, 59, 0, 0, time.UTC))
	for _, test := range []struct {
		name      string
		edit      func(*site.ServiceDetail)
		want      string
		endpoints []endpointVerdict
	}{
		{"nothing speaks against it", func(*site.ServiceDetail) {},
			"good: uptime Up 99.5% of the time over 30 days (2880 checks); grade Grade A: 14 of 14 checks pass", nil},
		{"with settlements", func(d *site.ServiceDetail) {
			d.Assessment.Traction = site.Traction{Status: site.TractionMeasured, TxCount30d: new(int64(126)),
				UniqueBuyers30d: new(int64(2)), OrganicTxCount30d: new(int64(116)), OrganicBuyers30d: new(int64(1))}
		}, "good: uptime Up 99.5% of the time over 30 days (2880 checks); grade Grade A: 14 of 14 checks pass; " +
			"settlements Settlements in 30 days: 116, by 1 buyer", nil},
		{"with settlements of its own", func(d *site.ServiceDetail) {
			d.Assessment.Traction = site.Traction{Status: site.TractionMeasured, TxCount30d: new(int64(126)),
				UniqueBuyers30d: new(int64(1)), OrganicTxCount30d: new(int64(0)), OrganicBuyers30d: new(int64(0))}
		}, "good: uptime Up 99.5% of the time over 30 days (2880 checks); grade Grade A: 14 of 14 checks pass", nil},
		{"with a price", ranked(33.33, 5, 9),
			"good: uptime Up 99.5% of the time over 30 days (2880 checks); grade Grade A: 14 of 14 checks pass; " +
				"price Cheaper than 5 of 9 others in Data", nil},
		{"with a price that others ask too", ranked(0, 0, 9),
			"good: uptime Up 99.5% of the time over 30 days (2880 checks); grade Grade A: 14 of 14 checks pass", nil},
		{"with a price that most undercut", ranked(50.01, 4, 9), "good: uptime Up 99.5% of the time over 30 days (2880 checks); grade Grade A: 14 of 14 checks pass", nil},
		{"danger", raise(site.RiskDanger, "pay_to_changed", "Recipient changed"),
			"do_not_pay: pay_to_changed Recipient changed", nil},
		{"danger before its first success", func(d *site.ServiceDetail) {
			raise(site.RiskDanger, "unpayable_recipient", "Payments may be lost")(d)
			d.LastSuccessAt, d.PaymentReady = nil, false
		}, "do_not_pay: unpayable_recipient Payments may be lost", nil},
		{"a recipient that is no address", func(d *site.ServiceDetail) {
			d.Assessment.Compliance.Checks[0].Pass = false
		}, "do_not_pay: recipient_invalid A recipient is no valid address", nil},
		{"no payment options", func(d *site.ServiceDetail) {
			d.Assessment.Compliance.Checks = []site.ComplianceCheck{{ID: "accepts_present"}, {ID: "payto_shape"}}
		}, "unknown: no_options No endpoint has a payment option now", []endpointVerdict{}},
		{"offline", func(d *site.ServiceDetail) {
			raise(site.RiskWarning, "probe_failing", "Offline")(d)
			d.Status, d.ConsecutiveFailures = site.StatusOffline, 4
		}, "do_not_pay: offline Offline: 4 visits in a row failed", nil},
		{"old terms", func(d *site.ServiceDetail) { d.PaymentReady, d.LastSuccessAt = false, &day },
			"do_not_pay: terms_outdated No usable payment terms since 2026-11-10", nil},
		{"old terms, and nobody knows", func(d *site.ServiceDetail) {
			d.PaymentReady, d.LastSuccessAt, d.Status = false, &day, site.StatusUnknown
		}, "unknown: terms_seen Payment terms were last seen on 2026-11-10", nil},
		{"not ready because its recipient keeps changing", func(d *site.ServiceDetail) {
			raise(site.RiskDanger, "pay_to_unstable", "Recipient keeps changing")(d)
			d.PaymentReady = false
		}, "do_not_pay: pay_to_unstable Recipient keeps changing", nil},
		{"no endpoint that clients can pay", func(*site.ServiceDetail) {},
			"unknown: not_payable GET /x: version 2 is in body",
			[]endpointVerdict{against(site.AdviceUnknown, "not_payable", "GET /x: version 2 is in body"), against(site.AdviceUnknown, "not_payable", "other")}},
		{"no recipient that can receive", func(*site.ServiceDetail) {}, "do_not_pay: recipient_cannot_receive no account",
			[]endpointVerdict{against(site.AdviceDoNotPay, "recipient_cannot_receive", "no account")}},
		{"one recipient that cannot receive", func(*site.ServiceDetail) {},
			"caution: recipient_cannot_receive 1 of 2 endpoints: no account",
			[]endpointVerdict{sellable, against(site.AdviceDoNotPay, "recipient_cannot_receive", "no account")}},
		{"one endpoint that clients cannot pay", func(*site.ServiceDetail) {},
			"caution: not_payable 1 of 2 endpoints: GET /x: version 2 is in body",
			[]endpointVerdict{sellable, against(site.AdviceUnknown, "not_payable", "GET /x: version 2 is in body")}},
		{"an unknown token alone", func(*site.ServiceDetail) {}, "unknown: token_unknown nobody knows",
			[]endpointVerdict{against(site.AdviceUnknown, "token_unknown", "nobody knows")}},
		{"an unknown token beside others", func(*site.ServiceDetail) {},
			"caution: token_unknown 1 of 2 endpoints: nobody knows",
			[]endpointVerdict{against(site.AdviceUnknown, "token_unknown", "nobody knows"), sellable}},
		{"endpoints that can be paid", func(*site.ServiceDetail) {},
			"good: uptime Up 99.5% of the time over 30 days (2880 checks); grade Grade A: 14 of 14 checks pass", []endpointVerdict{sellable, sellable}},
		{"a limited grade", func(d *site.ServiceDetail) {
			d.Assessment.Compliance.Grade = "C"
			d.Assessment.Compliance.GradeReason = "C at best: the certificate is not valid"
			d.Assessment.Compliance.Checks = append(d.Assessment.Compliance.Checks, site.ComplianceCheck{ID: "transport_https"})
		}, "caution: grade_poor Grade C at best: the certificate is not valid", nil},
		{"delisted", func(d *site.ServiceDetail) { d.DelistedAt, d.PaymentReady = &day, false },
			"unknown: delisted Delisted on 2026-11-10", nil},
		{"never checked", func(d *site.ServiceDetail) {
			d.LastCheckedAt, d.LastSuccessAt, d.PaymentReady, d.Status = nil, nil, false, site.StatusUnknown
		}, "unknown: not_checked Not checked yet", nil},
		{"no terms", func(d *site.ServiceDetail) { d.LastSuccessAt, d.PaymentReady = nil, false },
			"unknown: no_terms No check has received usable payment terms yet", nil},
		{"another protocol", func(d *site.ServiceDetail) {
			d.PaymentReady = false
			d.Rails = []site.Rail{{Protocol: "mpp", GradeReason: d.Assessment.Compliance.GradeReason}}
		}, "good: uptime Up 99.5% of the time over 30 days (2880 checks); grade Grade A: 14 of 14 checks pass", nil},
		{"offline, then visits that tell nothing", func(d *site.ServiceDetail) {
			d.Status, d.ConsecutiveFailures = site.StatusUnknown, 4
		}, "do_not_pay: offline Offline when last seen: 4 visits in a row failed", nil},
		{"terms of two days ago", func(d *site.ServiceDetail) {
			at := site.NewTime(verdictNow.Add(-48 * time.Hour))
			d.LastSuccessAt, d.Status = &at, site.StatusDegraded
		}, "caution: degraded Degraded: the last visit found faults; terms_seen Payment terms were last seen on " +
			"2026-11-20", nil},
		{"a cheap endpoint beside a product that nobody can pay", func(*site.ServiceDetail) {},
			"unknown: token_unknown nobody knows", []endpointVerdict{{asks: true, price: new(site.Decimal("0.001"))},
				{asks: true, price: new(site.Decimal("1")), found: against(site.AdviceUnknown, "token_unknown",
					"nobody knows").found}}},
		{"an endpoint that went free beside others", func(*site.ServiceDetail) {},
			"good: uptime Up 99.5% of the time over 30 days (2880 checks); grade Grade A: 14 of 14 checks pass",
			[]endpointVerdict{sellable, {found: &finding{level: site.AdviceUnknown}}}},
		{"listed two days ago", func(d *site.ServiceDetail) {
			d.CreatedAt = site.NewTime(verdictNow.Add(-48 * time.Hour))
		}, "caution: few_checks Too new: listed on 2026-11-20, 2880 checks in 30 days", nil},
		{"not checked for long", func(d *site.ServiceDetail) {
			d.Status, d.Uptime.Coverage.H24.CheckCount = site.StatusUnknown, 5
		}, "caution: check_outdated Last checked on 2026-11-22", nil},
		{"three doubts of five", func(d *site.ServiceDetail) {
			raise(site.RiskWarning, "young_domain", "New domain")(d)
			raise(site.RiskClean, "free_host", "Free hosting or tunnel")(d)
			d.Status, d.Uptime.D30 = site.StatusDegraded, new(80.0)
			d.Assessment.Compliance.Grade = "D"
			d.Assessment.Compliance.GradeReason = "D: 8 of 14 checks pass"
		}, "caution: young_domain New domain; degraded Degraded: the last visit found faults; " +
			"grade_poor Grade D: 8 of 14 checks pass", nil},
		{"no grade", func(d *site.ServiceDetail) {
			d.Assessment.Compliance.Grade, d.Assessment.Compliance.GradeReason = "unknown", "unknown: no response"
		}, "caution: grade_poor Not graded: no response", nil},
		{"often down", func(d *site.ServiceDetail) { d.Uptime.D30 = new(94.99) },
			"caution: uptime_low Up 94.99% of the time over 30 days (2880 checks)", nil},
		{"few counted checks", func(d *site.ServiceDetail) { d.Uptime.Coverage.D30.CheckCount = 23 },
			"caution: nothing_seen Only 23 checks in 30 days could tell whether it is up", nil},
		{"no counted check", func(d *site.ServiceDetail) {
			d.Uptime.D30, d.Uptime.Coverage.D30.CheckCount = nil, 0
		}, "caution: nothing_seen Only 0 checks in 30 days could tell whether it is up", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := verdictInput{detail: newAdvised(test.edit), endpoints: test.endpoints, now: verdictNow}
			if v.endpoints == nil {
				v.endpoints = []endpointVerdict{sellable}
			}
			got := v.service()
			var reasons []string
			for _, r := range got.Reasons {
				reasons = append(reasons, r.Code+" "+r.Text)
			}
			if diff := cmp.Diff(test.want, got.Level+": "+strings.Join(reasons, "; ")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestAdvisedServices checks that pages show how to pay a service just where the advice is good or caution.
func TestAdvisedServices(t *testing.T) {
	at := site.NewTime(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	rapid.Check(t, func(t *rapid.T) {
		d := newAdvised(func(d *site.ServiceDetail) {
			d.Status = rapid.SampledFrom([]string{site.StatusOnline, site.StatusDegraded, site.StatusOffline,
				site.StatusUnknown}).Draw(t, "status")
			for i, level := range rapid.SliceOfN(rapid.SampledFrom([]string{site.RiskDanger, site.RiskWarning}), 0, 2).
				Draw(t, "flags") {
				raise(level, fmt.Sprint(i), "A flag")(d)
			}
			d.Assessment.Compliance.Checks[0].Pass = rapid.Bool().Draw(t, "shape")
			if !d.Assessment.Compliance.Checks[0].Pass {
				d.Assessment.Compliance.Checks = append(d.Assessment.Compliance.Checks,
					site.ComplianceCheck{ID: "accepts_present", Pass: rapid.Bool().Draw(t, "accepts")})
			}
			d.Assessment.Compliance.Grade = rapid.SampledFrom(site.Grades).Draw(t, "grade")
			if d.PaymentReady = rapid.Bool().Draw(t, "ready"); !d.PaymentReady {
				d.LastSuccessAt = rapid.SampledFrom([]*site.Time{nil, &at}).Draw(t, "success")
				d.DelistedAt = rapid.SampledFrom([]*site.Time{nil, &at}).Draw(t, "delisted")
			}
			for _, f := range d.Assessment.Risk.Flags {
				if f.Level == site.RiskDanger {
					d.Assessment.Risk.Level = site.RiskDanger
				}
			}
		})
		endpoints := []endpointVerdict{sellable}
		if rapid.Bool().Draw(t, "unknown token") {
			endpoints = []endpointVerdict{against(site.AdviceUnknown, "token_unknown", "")}
		}
		if fails(d, "accepts_present") { // then no endpoint has an option
			endpoints = []endpointVerdict{against(site.AdviceUnknown, "not_repeated", "")}
		}
		d.Assessment.Advice = (&verdictInput{detail: d, endpoints: endpoints, now: verdictNow}).service()
		got := d.Assessment.Advice
		isUnknown := endpoints[0].found != nil
		isLost := d.Status == site.StatusOffline || d.Assessment.Risk.Level == site.RiskDanger || d.DelistedAt != nil ||
			d.LastSuccessAt == nil || isUnknown || !d.Assessment.Compliance.Checks[0].Pass
		if d.IsAdvised() && isLost || len(got.Reasons) == 0 || len(got.Reasons) > site.MaxAdviceReasons {
			t.Fatalf("advice %v of a service with IsAdvised %t", got, d.IsAdvised())
		}
	})
}
