package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// The caveats are published beside the figures of settlement.

const lowerBoundCaveat = "Volumes count only USDC settlements through measured facilitators and are a floor."

// unmeasuredCaveat returns why a service has no figures. off are the networks that are not measured.
func unmeasuredCaveat(status string, off []string) string {
	switch status {
	case site.TractionNoPayTo:
		return "The service names no recipient, so no settlement can be told to be its own."
	case site.TractionUnresponsive:
		return "The service has not answered for 7 days and shares its recipient with others, so what " +
			"is settled there is told as theirs."
	}
	if !slices.ContainsFunc(off, hasValue) {
		return "The service is paid only on " + networkNames(off) +
			", where money is for tests and worth nothing, so there is no volume to measure."
	}
	return "Settlement on " + networkNames(off) +
		" is not measured, so nothing is known of the service's volume: unknown is not zero."
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
		text += " What it is paid on " + networkNames(off) + " is not measured and not in them."
	}
	if sharedWith > 0 {
		others := "another service"
		if sharedWith > 1 {
			others = fmt.Sprintf("%d other services", sharedWith)
		}
		text += " A recipient is shared with " + others +
			": its volume is divided among them; counts, buyers and shares are of all that is settled there."
	}
	return text
}

// allTimeCaveat returns since when the figures of all time count, by network.
func allTimeCaveat(on []string, chains map[string]ledger.ChainFacts) string {
	if len(on) == 0 {
		return "Figures begin when measuring begins; they are a floor, never a whole."
	}
	var since []string
	for _, id := range on {
		since = append(since, networkName(id)+" since "+chains[id].MeasuredSince.UTC().Format(time.DateOnly))
	}
	return "Measured on " + strings.Join(since, ", ") +
		"; recipients are those that it named within the last 90 days. What came before, or " +
		"otherwise, is not in them: they are a floor, never a whole."
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
