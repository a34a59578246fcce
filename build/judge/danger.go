// This file finds services that are paid at an account of a service that nobody should pay. It must never know why that
// service is dangerous.

package judge

import (
	"slices"
	"time"

	"tollbook/site/postgres"
)

// dangerAccounts are the accounts of dangerous services, each with the service that named it first.
type dangerAccounts map[recipient]danger

// danger is a dangerous service that names an account.
type danger struct {
	service int // its place
	slug    string
	since   time.Time // the UTC day on which it named the account first
}

// findDanger returns the accounts that the services at some places named within unstableDays. Services and claims are
// sorted by slug.
func findDanger(places []int, services []postgres.ServiceFacts, claims [][]claim, now time.Time) dangerAccounts {
	accounts := dangerAccounts{}
	first := dayOfTime(now).AddDate(0, 0, -unstableDays)
	for _, i := range places {
		for _, c := range claims[i] {
			if before, ok := accounts[c.recipient]; c.isLive(first) && (!ok || c.since.Before(before.since)) {
				accounts[c.recipient] = danger{i, services[i].Slug, c.since}
			}
		}
	}
	return accounts
}

// tainted returns the first account that a service names now, and that a dangerous one did not name later; nil for none.
// A service is not tainted by a stranger that comes to name its account.
func (d dangerAccounts) tainted(service int, claims []claim) *naming {
	i := slices.IndexFunc(claims, func(c claim) bool {
		of, ok := d[c.recipient]
		return ok && of.service != service && c.until.IsZero() && !of.since.After(c.since)
	})
	if i < 0 {
		return nil
	}
	of := d[claims[i].recipient]
	return &naming{network: claims[i].network, payTo: claims[i].payTo, by: of.slug, since: claims[i].since}
}
