// Package advice recomputes whether a service may be paid, from the record that says so. It must never know another
// file of a snapshot.
package advice

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"tollbook/.ci/recompute/snapshot"
)

const rule = "methodology, Advice"

// Recompute compares the advice of a service's record.
func Recompute(r *snapshot.Report, detail snapshot.Node) {
	r.Figure(rule, detail.At("assessment", "advice"), Of(detail))
}

// Row returns the level and the main reason in lists.
func Row(detail snapshot.Node) (level, reason any) {
	advice := Of(detail)
	if advice["level"] != "good" {
		reason = advice["reasons"].([]any)[0].(map[string]any)["text"]
	}
	return advice["level"], reason
}

// Of returns the advice that follows from a record.
func Of(detail snapshot.Node) map[string]any {
	s := service{Node: detail, compliance: detail.At("assessment", "compliance")}
	for _, group := range []struct {
		level   string
		reasons []any
	}{{"do_not_pay", s.against()}, {"unknown", s.missing()}, {"caution", s.doubts()}, {"good", s.merits()}} {
		if len(group.reasons) > 0 {
			return map[string]any{"level": group.level, "reasons": group.reasons[:min(3, len(group.reasons))]}
		}
	}
	return nil
}

type service struct {
	snapshot.Node
	compliance snapshot.Node
}

// because returns a reason.
func because(code, text string, args ...any) any {
	return map[string]any{"code": code, "text": fmt.Sprintf(text, args...)}
}

// flags returns the titles of the flags of a level.
func (s *service) flags(level string) (reasons []any) {
	for _, f := range s.At("assessment", "risk", "flags").Items() {
		if f.Get("level").Text() == level && f.Get("code").Text() != "probe_failing" {
			reasons = append(reasons, because(f.Get("code").Text(), "%s", f.Get("title").Text()))
		}
	}
	return reasons
}

func (s *service) against() []any {
	reasons := s.flags("danger")
	isLost := slices.ContainsFunc(reasons, func(r any) bool {
		return r.(map[string]any)["code"] == "unpayable_recipient"
	})
	if s.fails("payto_shape") && !s.fails("accepts_present") && !isLost {
		reasons = append(reasons, because("recipient_invalid", "A recipient is no valid address"))
	}
	if s.Get("status").Text() == "offline" {
		reasons = append(reasons,
			because("offline", "Offline: %d visits in a row failed", s.Get("consecutive_failures").Int()))
	}
	if !s.Get("payment_ready").Bool() && s.missing() == nil {
		reasons = append(reasons,
			because("terms_outdated", "No usable payment terms since %s", s.day("last_success_at")))
	}
	return reasons
}

func (s *service) missing() []any {
	if s.Get("delisted_at").HasValue() {
		return []any{because("delisted", "Delisted on %s", s.day("delisted_at"))}
	}
	if !s.Get("last_checked_at").HasValue() {
		return []any{because("not_checked", "Not checked yet")}
	}
	if !s.Get("last_success_at").HasValue() {
		return []any{because("no_terms", "No check has received usable payment terms yet")}
	}
	grade := s.compliance.Get("grade_reason").Text()
	for _, rail := range s.Get("rails").Items() {
		if !s.Get("payment_ready").Bool() && rail.Get("grade_reason").Text() == grade {
			return []any{because("other_protocol", "Takes payments over %s; only those over x402 are judged",
				rail.Get("protocol").Text())}
		}
	}
	if s.fails("accepts_present") {
		return []any{because("no_options", "The recorded responses contain no payment options")}
	}
	return nil
}

// fails reports whether a check of the grade fails.
func (s *service) fails(id string) bool {
	return slices.ContainsFunc(s.compliance.Get("checks").Items(), func(check snapshot.Node) bool {
		return check.Get("id").Text() == id && !check.Get("pass").Bool()
	})
}

func (s *service) doubts() []any {
	reasons := s.flags("warning")
	if s.Get("status").Text() == "unknown" {
		reasons = append(reasons, because("check_outdated", "Last checked on %s", s.day("last_checked_at")))
	}
	if s.Get("status").Text() == "degraded" {
		reasons = append(reasons, because("degraded", "Degraded: the last visit found faults"))
	}
	if slices.Contains([]string{"D", "F", "unknown"}, s.compliance.Get("grade").Text()) {
		reasons = append(reasons, because("grade_poor", "%s", s.grade()))
	}
	switch up := s.At("uptime", "30d").Number(); {
	case up != nil && up.Cmp(big.NewRat(95, 1)) < 0:
		reasons = append(reasons, because("uptime_low", "%s", s.uptime()))
	case s.checks() < 24:
		reasons = append(reasons, because("few_checks", "Too new: %d checks in 30 days", s.checks()))
	}
	return reasons
}

func (s *service) merits() []any {
	reasons := []any{because("uptime", "%s", s.uptime()), because("grade", "%s", s.grade())}
	traction := s.At("assessment", "traction")
	percentile := s.At("assessment", "economics", "category_percentile")
	switch {
	case traction.Get("status").Text() == "measured":
		by := "buyers unknown"
		if buyers := traction.Get("unique_buyers_30d"); buyers.HasValue() {
			by = "by " + plural(buyers.Int(), "buyer")
		}
		reasons = append(reasons, because("settlements", "Settlements in 30 days: %d, %s",
			traction.Get("tx_count_30d").Int(), by))
	case percentile.HasValue():
		reasons = append(reasons, because("price", "%s%% of its category are cheaper", number(percentile)))
	}
	return reasons
}

// day returns the UTC day of a time.
func (s *service) day(name string) string { return s.Get(name).Time().UTC().Format("2006-01-02") }

func (s *service) checks() int { return s.At("uptime", "coverage", "30d", "checkCount").Int() }

func (s *service) uptime() string {
	return fmt.Sprintf("Up in %s%% of %s over 30 days", number(s.At("uptime", "30d")), plural(s.checks(), "check"))
}

func (s *service) grade() string {
	text := s.compliance.Get("grade_reason").Text()
	if s.compliance.Get("grade").Text() == "unknown" {
		return "Not graded: " + strings.TrimPrefix(text, "unknown: ")
	}
	return "Grade " + text
}

// number returns a figure as a record writes it.
func number(n snapshot.Node) string { return snapshot.DecimalText(n.Number()) }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
