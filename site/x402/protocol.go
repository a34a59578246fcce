package x402

import (
	"bytes"
	"slices"
	"strings"
)

// protocols returns the other payment protocols of which a response shows signs, sorted. Package rail reads their
// offers.
func protocols(a Answer, d *defects) (names []string) {
	for _, value := range a.Header.Values("Www-Authenticate") {
		if len(value) > MaxHeader {
			d.add(headerOversize, "WWW-Authenticate")
			continue
		}
		for _, c := range ReadChallenges(value) {
			switch strings.ToLower(c.Scheme) {
			case "payment":
				names = append(names, "mpp")
			case "l402", "lsat":
				names = append(names, "l402")
			case "x402":
				d.add(authenticateX402)
			}
		}
	}
	if len(a.Header.Values("Crawler-Price")) > 0 {
		names = append(names, "crawler-price")
	}
	if contentType(a) == "application/problem+json" && bytes.Contains(a.Body, []byte("paymentauth.org/problems/")) {
		names = append(names, "mpp")
	}
	if len(ToolChallenges(a)) > 0 {
		names = append(names, "mpp")
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// platformMarks lists texts of the 402 pages that hosting platforms show for a disabled deployment.
var platformMarks = []string{"DEPLOYMENT_DISABLED", "402: PAYMENT_REQUIRED", "This Deployment has been disabled"}

// platformPage reports whether a 402 comes from the hosting platform instead of the service.
func platformPage(a Answer) bool {
	if a.Status != 402 {
		return false
	}
	if len(a.Header.Values("X-Vercel-Error")) > 0 {
		return true
	}
	for _, mark := range platformMarks {
		if bytes.Contains(a.Body, []byte(mark)) {
			return true
		}
	}
	return false
}
