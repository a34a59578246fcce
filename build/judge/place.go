package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/x402"
)

// newVantages returns the places from which services are visited, nil if one without a name is the only one.
func newVantages(f *postgres.Facts) (list []site.Vantage) {
	if len(f.Vantages) == 1 && f.Vantages[0].Name == "" {
		return nil
	}
	for _, v := range f.Vantages {
		list = append(list, site.Vantage{Vantage: v.Name, SeenAt: site.NewTime(v.SeenAt.Truncate(time.Minute))})
	}
	return list
}

// newPlaces returns what each place found last of a service, by place, if at least two know its state.
func newPlaces(f *postgres.ServiceFacts, now time.Time) (list []site.PlaceState) {
	known := site.KnownFor(site.Interval(f.CheckInterval, f.FailingSince, now))
	for _, p := range f.PlaceFindings {
		if now.Sub(p.CheckedAt) <= known {
			list = append(list, site.PlaceState{Vantage: p.Vantage, CheckedAt: site.NewTime(p.CheckedAt), IsUp: p.IsUp,
				ErrorMessage: p.Reason})
		}
	}
	if len(list) < 2 {
		return nil
	}
	return list
}

// flagPlaces flags terms that differ by place, of the first endpoint that has any. The evidence names both terms.
func flagPlaces(f *postgres.ServiceFacts) *site.RiskFlag {
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		a, b := findDifference(f.PlaceTerms, e.ID)
		if a == nil {
			continue
		}
		if x, y := distinctTerms(a.Terms, b.Terms); describeTerms(x) != describeTerms(y) {
			return newFlag(site.RiskWarning, "terms_differ_by_place", "%s %s asks %s for %s, and %s for %s", e.Method, e.Path,
				describePlace(a), describeTerms(x), describePlace(b), describeTerms(y))
		}
	}
	return nil
}

// placeTimes is how often in a row each of two places must have been asked terms that differ.
const placeTimes = 2

// findDifference returns the terms of two places that differ at the same time, nil without any. A place was asked its
// terms in a row over some time, in which the other place was asked other ones. A change is none: all are asked the old
// terms before anybody is asked the new ones.
func findDifference(list []checks.PlaceTerms, endpoint uuid.UUID) (a, b *checks.PlaceTerms) {
	for i := range list {
		for k := range list[:i] {
			x, y := &list[k], &list[i]
			overlap := !x.LastAt.Before(y.FirstAt) && !y.LastAt.Before(x.FirstAt)
			if x.EndpointID == endpoint && y.EndpointID == endpoint && min(x.Times, y.Times) >= placeTimes && overlap &&
				x.Fingerprint != y.Fingerprint && x.Signed == y.Signed {
				return x, y
			}
		}
	}
	return nil, nil
}

// distinctTerms returns the first of each of two lists of terms that the other lacks, or the first of each.
func distinctTerms(a, b []checks.Offer) (x, y checks.Offer) {
	pick := func(of, other []checks.Offer) checks.Offer {
		for _, o := range of {
			if !slices.Contains(other, o) {
				return o
			}
		}
		if len(of) > 0 {
			return of[0]
		}
		return checks.Offer{}
	}
	return pick(a, b), pick(b, a)
}

// describePlace names a place with the time in which it was asked its terms.
func describePlace(t *checks.PlaceTerms) string {
	name := t.Vantage
	if name == "" {
		name = "the place without a name"
	}
	return fmt.Sprintf("%s (%d times from %s to %s)", name, t.Times, minuteOf(site.NewTime(t.FirstAt)),
		minuteOf(site.NewTime(t.LastAt)))
}

// describeTerms says who is paid what.
func describeTerms(o checks.Offer) string {
	network, asset, payTo := o.Network, o.Asset, o.PayTo
	if o.NetworkCAIP2 != "" {
		network, asset, payTo = networkName(o.NetworkCAIP2), x402.SpellAddress(o.NetworkCAIP2, asset),
			x402.SpellAddress(o.NetworkCAIP2, payTo)
	}
	text := fmt.Sprintf("%s of %s on %s", o.Amount, asset, network)
	if payTo != "" {
		text += " to " + payTo
	}
	return invisible.Replace(text)
}
