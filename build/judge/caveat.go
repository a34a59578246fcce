package judge

import (
	"fmt"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// The caveats are published beside the figures of settlement.

const lowerBoundCaveat = "Volumes count only USDC settlements through measured facilitators and are lower bounds."

// unmeasuredCaveat returns why a service has no figures. off are the networks that are not measured.
func unmeasuredCaveat(status string, off []string) string {
	switch status {
	case site.TractionNoPayTo:
		return "No usable payment option of the service names a recipient, so no settlement can be attributed to it."
	case site.TractionUnresponsive:
		return "The service has not answered for 7 days and shares its recipient with others, so " +
			"settlements there count for the others."
	}
	if !slices.ContainsFunc(off, hasValue) {
		return "The service is paid only on " + networkNames(off) +
			", whose tokens have no value, so there is no volume to measure."
	}
	return "Settlements on " + networkNames(off) +
		" are not measured, so the volume of the service is unknown, not zero."
}

// hasValue reports whether tokens of a network may have value: every network that is not a known test network.
func hasValue(id string) bool {
	n, isKnown := x402.NetworkByID(id)
	return !isKnown || n.Mainnet
}

// measuredCaveat returns what the figures of 30 days leave out.
func measuredCaveat(off []string, sharedWith int) string {
	text := lowerBoundCaveat
	if len(off) > 0 {
		text += " Payments on " + networkNames(off) + " are not measured and not included."
	}
	if sharedWith > 0 {
		others := "another service"
		if sharedWith > 1 {
			others = fmt.Sprintf("%d other services", sharedWith)
		}
		text += " The service shares a recipient with " + others +
			": volume is divided among them; counts, buyers, shares, the median, the maximum and the trend are of " +
			"all settlements at the recipient."
	}
	return text
}

// strangersCaveat returns what the figures of the ith service leave out because a service of another operator named one
// of its recipients first, and what they share with other operators.
func (t *revenueIndex) strangersCaveat(i int) string {
	text := ""
	if slices.ContainsFunc(t.ownership.claims[i], func(c claim) bool { return t.measured[c.network] && c.isForeign() }) {
		text = " The service names an account that a service of another operator named first. What is paid there counts " +
			"for that operator alone, so nothing paid there is included."
	}
	if t.revenues[i].isContested {
		text += " Services of other operators name a recipient of the service, too, and what is paid there is divided " +
			"among them, so it is not known whose sales these figures are."
	}
	return text
}

// redemptionCaveat returns which figures leave out n redemptions of 30 days, "" without any.
func redemptionCaveat(n int64) string {
	if n <= 0 {
		return ""
	}
	count := "One settlement is a redemption"
	if n > 1 {
		count = fmt.Sprintf("%d settlements are redemptions", n)
	}
	return " " + count + " of batch settlement. A redemption pays for any number of calls and does not name who " +
		"paid: volume and counts of settlements include it; buyers, the median and the maximum do not."
}

// allTimeCaveat returns since when the figures of all time count, by network.
func allTimeCaveat(on []string, chains map[string]ledger.ChainFacts) string {
	if len(on) == 0 {
		return "Figures count from the start of measurement, so they are lower bounds."
	}
	var since []string
	for _, id := range on {
		since = append(since, networkName(id)+" since "+dayOf(site.NewTime(*chains[id].MeasuredSince)))
	}
	return "Measured on " + strings.Join(since, ", ") +
		", at recipients that the service named within the last 90 days. Earlier settlements and other recipients " +
		"are not included, so the figures are lower bounds."
}

// networkName returns the name of a network, or its ID if it is unknown.
func networkName(id string) string {
	if n, ok := x402.NetworkByID(id); ok {
		return n.Name
	}
	return id
}

// networkNames returns the names of networks as a list in words.
func networkNames(ids []string) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = networkName(id)
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
