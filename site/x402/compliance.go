package x402

import (
	"fmt"
	"slices"
	"strconv"
)

// Evidence contains the newest captured response of one endpoint, and how the endpoint was reached.
type Evidence struct {
	Endpoint     string   // "GET /x", for reasons
	URL          string   // the URL that was probed
	Hops         []string // the URLs of the redirects followed, in order
	TLSVerified  bool     // every connection's certificate verified for its host
	Inconclusive bool     // nothing was ever captured, for an unknown reason
	HeadFree     bool     // the endpoint answered HEAD without payment
	DeclaredUSD  string   // the price that the origin's OpenAPI document declares, decimal dollars, "" without
	Captured     Captured
}

// Compliance is the verdict on a service: 14 checks, a grade, and warnings that do not count.
type Compliance struct {
	Checks        []Check   `json:"checks"` // always all 14, in the order of Rules
	Passed        int       `json:"passed"`
	Total         int       `json:"total"`
	Grade         string    `json:"grade"`           // A, B, C, D, F or unknown
	GradeReason   string    `json:"grade_reason"`    // the grade and why, as in "F: accepts is missing"
	PayToSource   string    `json:"pay_to_source"`   // the key of the recipient, "" without one
	PayToLocation string    `json:"pay_to_location"` // "accept" or "element"
	Warnings      []Warning `json:"warnings"`        // by code, endpoint and row
}

// Check is one rule's result.
type Check struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Pass   bool   `json:"pass"`
	Reason string `json:"reason,omitempty"` // the first failure, "" if the check passes
}

// Assess applies the rules to the evidence of a service's endpoints. If any endpoint sent an envelope, it leaves out
// those that never did, so that one route with another protocol does not change the verdict on the others.
func Assess(rows []Evidence) Compliance {
	exhibits := examine(rows)
	c := Compliance{Total: len(rules), Warnings: warnings(exhibits), Checks: make([]Check, 0, len(rules))}
	failed := map[string]bool{}
	for _, r := range rules {
		check := Check{ID: r.ID, Label: r.Label}
		check.Reason = r.test(exhibits)
		check.Pass = check.Reason == ""
		if check.Pass {
			c.Passed++
		} else {
			failed[r.ID] = true
		}
		c.Checks = append(c.Checks, check)
	}
	c.PayToSource, c.PayToLocation = recipientFound(exhibits)
	c.Grade = grade(c.Passed, c.Total, failed)
	if captured := slices.ContainsFunc(exhibits, func(e exhibit) bool { return e.captured() }); !captured &&
		!slices.ContainsFunc(rows, conclusive) {
		c.Grade = "unknown"
	}
	c.GradeReason = c.gradeReason()
	return c
}

// gradeReason returns the grade with its reason: the first failed check that caps the grade, or else the number of
// passed checks.
func (c *Compliance) gradeReason() string {
	capped := func(ids []string) string {
		for _, check := range c.Checks {
			if !check.Pass && slices.Contains(ids, check.ID) {
				return check.Reason
			}
		}
		return ""
	}
	if c.Grade == "unknown" {
		return "no grade: no conclusive response so far"
	}
	if reason := capped(fatal); reason != "" {
		return "F: " + reason
	}
	if reason := capped(capping); reason != "" && c.share(cappedPercent) {
		return "C at best: " + reason
	}
	return fmt.Sprintf("%s: %d of %d checks pass", c.Grade, c.Passed, c.Total)
}

// share reports whether at least this percentage of the checks pass.
func (c *Compliance) share(percent int) bool { return c.Passed*100 >= percent*c.Total }

// cappedPercent is the least percentage of passed checks at which a failed check of capping lowers the grade.
const cappedPercent = 75

func conclusive(e Evidence) bool { return !e.Inconclusive }

// fatal lists the checks whose failure makes payment impossible. capping lists those whose failure costs buyers money.
var (
	fatal   = []string{"payload_captured", "accepts_present", "payto_recoverable"}
	capping = []string{"eip712_domain_extra", "payto_shape", "price_sane", "transport_https"}
)

// Caps reports whether the failure of a check limits the grade, because it costs buyers money.
func Caps(id string) bool { return slices.Contains(capping, id) }

// grade returns a letter for the share of passed checks: A from 90 %, B from 75 %, C from 60 %, D from 40 %, else F.
// The best grade is C after the failure of a capping check, and F after that of a fatal one.
func grade(passed, total int, failed map[string]bool) string {
	fails := func(ids []string) bool { return slices.ContainsFunc(ids, func(id string) bool { return failed[id] }) }
	share := func(percent int) bool { return passed*100 >= percent*total }
	switch {
	case fails(fatal):
		return "F"
	case share(cappedPercent) && fails(capping):
		return "C"
	case share(90):
		return "A"
	case share(75):
		return "B"
	case share(60):
		return "C"
	case share(40):
		return "D"
	}
	return "F"
}

// exhibit contains the parts of an Evidence, read once for all rules.
type exhibit struct {
	Evidence
	top  object // the envelope's members, nil for requirements without an envelope
	rows []exhibitRow
}

// exhibitRow is one requirement with the members as received.
type exhibitRow struct {
	Requirement
	members, extra     object
	payToErr, assetErr error // of PayTo and Asset on their network
	version            int
	where              string // "GET /x, row 1"
}

func (e *exhibit) captured() bool { return e.Captured.Envelope != nil }

// examine returns the parts of the evidence. It leaves out endpoints without an envelope if others have one.
func examine(list []Evidence) []exhibit {
	all, captured := make([]exhibit, 0, len(list)), make([]exhibit, 0, len(list))
	for _, ev := range list {
		e := exhibit{Evidence: ev}
		if env := ev.Captured.Envelope; env != nil {
			if e.top = env.top; e.top == nil {
				e.top, _ = members(env.Raw)
			}
			e.rows = make([]exhibitRow, len(env.Accepts))
			for i, r := range env.Accepts {
				e.rows[i] = exhibitRow{
					Requirement: r, members: r.members, extra: r.extra(),
					payToErr: CheckAddress(r.NetworkCAIP2, r.PayTo),
					assetErr: CheckAsset(r.NetworkCAIP2, r.Asset),
					version:  env.Version, where: ev.Endpoint + ", row " + strconv.Itoa(i+1),
				}
			}
			captured = append(captured, e)
		}
		all = append(all, e)
	}
	if len(captured) > 0 {
		return captured
	}
	return all
}

// recipientFound reports where recipients stand: the first place that is not the proper one, else the proper one.
func recipientFound(list []exhibit) (source, location string) {
	for _, e := range list {
		for _, r := range e.rows {
			if r.PayTo == "" {
				continue
			}
			if r.PayToSource != "payTo" || r.PayToLocation != "accept" {
				return r.PayToSource, r.PayToLocation
			}
			source, location = r.PayToSource, r.PayToLocation
		}
	}
	return source, location
}
