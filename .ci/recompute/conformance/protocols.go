package conformance

import (
	"fmt"
	"slices"

	"tollbook/.ci/recompute/snapshot"
)

// X402 returns the prices of an endpoint over x402, and Counted those that its figures are about: the ones over x402,
// or all if there are none.
func X402(endpoint snapshot.Node) (list []snapshot.Node) {
	for _, p := range endpoint.Get("pricing").Items() {
		if p.Get("protocol").Text() == "x402" {
			list = append(list, p)
		}
	}
	return list
}

// Counted: see X402.
func Counted(endpoint snapshot.Node) []snapshot.Node {
	if list := X402(endpoint); len(list) > 0 {
		return list
	}
	return endpoint.Get("pricing").Items()
}

// SpeaksOther reports whether a service has prices over other protocols than x402 alone.
func SpeaksOther(detail snapshot.Node) bool {
	any := false
	for _, e := range detail.Get("endpoints").Items() {
		if len(X402(e)) > 0 {
			return false
		}
		any = any || len(e.Get("pricing").Items()) > 0
	}
	return any
}

// railRule names the section with the checks of other protocols.
const railRule = "methodology, Other protocols"

// CompareRails compares the verdicts on a service's offers over other protocols.
func CompareRails(r *snapshot.Report, list snapshot.Node, endpoints []*Probed) {
	offers := map[string][]Offer{}
	for _, p := range activeOf(endpoints) {
		for _, o := range p.Offers() {
			offers[o.protocol] = append(offers[o.protocol], o)
		}
	}
	if items := list.Items(); len(items) != len(offers) || len(items) == 0 {
		r.Compare(railRule, list, snapshot.Describe(list.Value), fmt.Sprintf("list of %d", len(offers)))
		return
	}
	next := 0
	for _, protocol := range railProtocols {
		if len(offers[protocol]) > 0 {
			compareRail(r, list.Items()[next], protocol, offers[protocol])
			next++
		}
	}
}

// compareRail compares the verdict on the offers over one protocol.
func compareRail(r *snapshot.Report, rail snapshot.Node, protocol string, offers []Offer) {
	checks, passed, reason := Tables.railChecks[protocol], 0, ""
	items := rail.Get("checks").Items()
	if len(items) != len(checks) {
		r.Compare(railRule, rail.Get("checks"), snapshot.Describe(rail.Get("checks").Value),
			fmt.Sprintf("list of %d", len(checks)))
		return
	}
	limit := ""
	for i, c := range checks {
		fails := slices.ContainsFunc(offers, func(o Offer) bool { return o.failed[c.id] })
		r.Figure(railRule, items[i].Get("id"), c.id)
		r.Figure(railRule, items[i].Get("pass"), !fails)
		if !fails {
			passed++
			for _, name := range []string{"reason", "expected", "mend"} {
				r.Figure(railRule, items[i].Get(name), nil)
			}
			continue
		}
		r.Figure(railRule, items[i].Get("expected"), c.expected)
		if c.fatal && limit != "F" || c.id == "transport_https" && limit == "" {
			limit, reason = map[bool]string{true: "F", false: "C"}[c.fatal], items[i].Get("reason").Text()
		}
	}
	grade := letterOf(100 * passed / len(checks))
	text := fmt.Sprintf("%s: %d of %d %s checks pass", grade, passed, len(checks), protocol)
	switch {
	case limit == "F":
		grade, text = "F", "F: "+reason
	case limit == "C" && grade <= "C":
		grade, text = "C", "C at best: "+reason
	}
	r.Figure(railRule, rail.Get("protocol"), protocol)
	r.Figure(railRule, rail.Get("grade"), grade)
	r.Figure(railRule, rail.Get("grade_reason"), text)
	r.Figure(railRule, rail.Get("passed"), passed)
	r.Figure(railRule, rail.Get("total"), len(checks))
}

// RailGrade returns the best grade of a service by the checks of other protocols, with its reason; "" without one.
func RailGrade(detail snapshot.Node) (grade, reason string) {
	for _, rail := range detail.Get("rails").Items() {
		if text := rail.Get("grade").Text(); grade == "" || text < grade {
			grade, reason = text, rail.Get("grade_reason").Text()
		}
	}
	return grade, reason
}
