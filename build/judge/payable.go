package judge

import (
	"fmt"
	"slices"
	"time"

	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/x402"
)

// A service is not payment ready while the recipient of an endpoint on a network changed unstableChanges times within
// unstableDays.
const (
	unstableChanges = 2
	unstableDays    = 7
)

// dropUnpayable drops the stored prices of a service whose recipients are unpayable. A crawl stores none, but earlier
// versions did.
func dropUnpayable(f *postgres.ServiceFacts) {
	type destination struct{ network, payTo, asset string }
	judged := map[destination]bool{} // most rows of a service name the same few, and checksums are slow
	isUnpayable := func(p checks.Price) bool {
		if p.PayTo == "" || p.NetworkCAIP2 == nil {
			return false
		}
		to := destination{*p.NetworkCAIP2, p.PayTo, p.Asset}
		fault, ok := judged[to]
		if !ok {
			fault = price.Requirement(&p).PayToFault() != ""
			judged[to] = fault
		}
		return fault
	}
	for i := range f.Endpoints {
		if e := &f.Endpoints[i]; slices.ContainsFunc(e.Prices, isUnpayable) {
			e.Prices = slices.DeleteFunc(slices.Clone(e.Prices), isUnpayable)
		}
	}
}

// payability says whether money sent to a service arrives, as far as its recorded terms show.
type payability struct {
	unpayable []string // rows with an unpayable recipient, in words
	unstable  string   // the recipient that keeps changing, in words; "" if there is none
}

// newPayability judges the rows of the newest recorded terms, and the changes of recipients.
func newPayability(captures []x402.Evidence, changes []site.PayToChange, now time.Time) payability {
	p := payability{unstable: findUnstable(changes, now)}
	for i := range captures {
		p.unpayable = append(p.unpayable, listUnpayable(&captures[i])...)
	}
	return p
}

// listUnpayable returns the rows of one endpoint's terms with an unpayable recipient, in words.
func listUnpayable(capture *x402.Evidence) (unpayable []string) {
	if capture.Captured.Envelope == nil {
		return nil
	}
	rows := capture.Captured.Envelope.Accepts
	for i := range rows {
		if fault := rows[i].PayToFault(); fault != "" && rows[i].PayTo != "" {
			unpayable = append(unpayable, fmt.Sprintf("%s, row %d on %s: %s", capture.Endpoint, i+1,
				networkName(rows[i].NetworkCAIP2), invisible.Replace(fault)))
		}
	}
	return unpayable
}

// findUnstable returns in words which endpoint's recipient on a network changed at unstableChanges different times
// within unstableDays, "" if none did.
func findUnstable(changes []site.PayToChange, now time.Time) string {
	type place struct{ endpoint, network string }
	times := map[place][]time.Time{}
	for _, c := range changes { // newest first
		if !now.Before(c.ObservedAt.Add(unstableDays * 24 * time.Hour)) {
			break
		}
		at := place{c.Endpoint, c.NetworkCAIP2}
		if !slices.ContainsFunc(times[at], c.ObservedAt.Equal) {
			times[at] = append(times[at], c.ObservedAt.Time)
		}
	}
	for _, c := range changes {
		if n := len(times[place{c.Endpoint, c.NetworkCAIP2}]); n >= unstableChanges {
			return fmt.Sprintf("the recipient of %s on %s changed %d times in %d days", c.Endpoint,
				networkName(c.NetworkCAIP2), n, unstableDays)
		}
	}
	return ""
}
