package conformance

import "tollbook/.ci/recompute/snapshot"

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

// RailGrade returns the best grade of a service by the checks of other protocols, with its reason; "" without one.
func RailGrade(detail snapshot.Node) (grade, reason string) {
	for _, rail := range detail.Get("rails").Items() {
		if text := rail.Get("grade").Text(); grade == "" || text < grade {
			grade, reason = text, rail.Get("grade_reason").Text()
		}
	}
	return grade, reason
}
