package judge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tollbook/build/judge/flow"
	"tollbook/build/judge/operator"
	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/x402/address"
)

// claim says that a service names a recipient.
type claim struct {
	recipient
	// last UTC day whose settlements belong to the service; zero while an active endpoint names the recipient
	until  time.Time
	newest bool // one of the newest prices or offers of an endpoint names the recipient, active or not
}

// isLive reports whether a claim includes UTC days from first on.
func (c *claim) isLive(first time.Time) bool { return c.until.IsZero() || !c.until.Before(first) }

// listClaims returns the recipients of a service by network and address: those that its active endpoints name now, and
// former ones. A former recipient counts until the end of the day after it was last seen. The key of a Lightning node
// in an offer is no recipient.
func listClaims(f *postgres.ServiceFacts, now time.Time) []claim {
	var all []claim
	for _, e := range f.Endpoints {
		var end time.Time // of the newest prices and offers
		if !e.IsActive(now) {
			end = dayAfter(*cmp.Or(e.LastPaidAt, &e.FirstSeenAt))
		}
		for _, p := range e.Prices {
			if p.NetworkCAIP2 == nil || p.PayTo == "" {
				continue
			}
			c := claim{newRecipient(*p.NetworkCAIP2, p.PayTo), end, p.Until == nil}
			if p.Until != nil {
				c.until = dayAfter(*p.Until)
			}
			all = append(all, c)
		}
		for _, o := range e.Offers {
			all = appendOffered(all, o.NetworkCAIP2, o.PayTo, end, true)
		}
		for _, p := range e.FormerRecipients {
			all = appendOffered(all, p.NetworkCAIP2, p.PayTo, dayAfter(p.Until), false)
		}
	}
	slices.SortFunc(all, func(a, b claim) int {
		return cmp.Or(a.compare(b.recipient), b.end().Compare(a.end()))
	})
	unique := all[:0]
	for _, c := range all {
		if n := len(unique); n > 0 && unique[n-1].recipient == c.recipient { // the first has the latest end
			unique[n-1].newest = unique[n-1].newest || c.newest
			continue
		}
		unique = append(unique, c)
	}
	return slices.Clone(unique) // drops the duplicates from memory
}

// appendOffered appends a recipient of an offer over another protocol than x402, if the offer names one.
func appendOffered(all []claim, network, payTo string, until time.Time, newest bool) []claim {
	if network == "" || payTo == "" || address.Namespace(network) == "bip122" {
		return all
	}
	return append(all, claim{newRecipient(network, payTo), until, newest})
}

// compare orders recipients by network and address.
func (r recipient) compare(o recipient) int {
	return cmp.Or(cmp.Compare(r.network, o.network), cmp.Compare(r.payTo, o.payTo))
}

// end returns until in a form that sorts a claim without end last.
func (c *claim) end() time.Time {
	if c.until.IsZero() {
		return time.Unix(1<<40, 0)
	}
	return c.until
}

// dayAfter returns the UTC day after the day of t.
func dayAfter(t time.Time) time.Time { return t.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1) }

// unresponsiveAfter is how long a service must have failed until a shared recipient belongs to the other services
// alone.
const unresponsiveAfter = 7 * 24 * time.Hour

// failsLong reports whether a service has failed for unresponsiveAfter.
func failsLong(s *postgres.Service, now time.Time) bool {
	return s.FailingSince != nil && now.Sub(*s.FailingSince) >= unresponsiveAfter
}

// ownership says which services own which recipients.
type ownership struct {
	claims       [][]claim             // by service, on all networks
	unresponsive []bool                // by service: it fails and shares a recipient
	owners       map[recipient][]owner // on measured networks, by slug, without unresponsive services
	payments     []flow.Payment        // to these recipients, of 30 days
}

// owner is a service that is paid at a recipient.
type owner struct {
	service int
	until   time.Time // of the claim
}

// newOwnership finds the owners of recipients. Services and claims are sorted by slug.
func newOwnership(services []postgres.ServiceFacts, claims [][]claim, measured map[string]bool,
	now time.Time) *ownership {
	p := &ownership{claims: claims, unresponsive: make([]bool, len(services)), owners: map[recipient][]owner{}}
	named := map[recipient]int{}
	for i := range services {
		for _, c := range p.claims[i] {
			if c.newest && measured[c.network] {
				named[c.recipient]++
			}
		}
	}
	for i := range services {
		shares := slices.ContainsFunc(p.claims[i], func(c claim) bool { return c.newest && named[c.recipient] > 1 })
		if p.unresponsive[i] = shares && failsLong(&services[i].Service, now); p.unresponsive[i] {
			continue
		}
		for _, c := range p.claims[i] {
			if measured[c.network] {
				p.owners[c.recipient] = append(p.owners[c.recipient], owner{i, c.until})
			}
		}
	}
	return p
}

// linksOperators reports whether services that name this recipient now belong to one operator. Recipients on test
// networks and addresses without an owner prove nothing.
func (c *claim) linksOperators() bool {
	return c.until.IsZero() && hasValue(c.network) && !isOwnerless(c.recipient)
}

// isOwnerless reports whether nobody has the key of an address: the zero address of EVM chains and Solana's system
// program.
func isOwnerless(r recipient) bool {
	hex, isHex := strings.CutPrefix(r.payTo, "0x")
	return isHex && strings.Trim(hex, "0") == "" || strings.Trim(r.payTo, "1") == ""
}

// accountOf returns the account of a recipient. On EVM chains an address is the same account on each chain.
func accountOf(r recipient) recipient {
	if namespace, _, ok := strings.Cut(r.network, ":"); ok && namespace == "eip155" {
		return recipient{namespace, r.payTo}
	}
	return r
}

const operatorRule = "Services that currently name the same recipient are counted as one operator, even if only a " +
	"chain of other services connects them. On EVM networks, an address is the same account on every network. " +
	"Test networks and addresses that nobody owns are ignored."

// groupOperators groups the services that name the same recipient now. The groups are the connected components of
// services and recipients.
func groupOperators(services []postgres.ServiceFacts, claims [][]claim) site.OperatorReport {
	out := site.OperatorReport{ServiceCount: len(services), OperatorCount: len(services),
		Groups: []site.OperatorGroup{}, Rule: operatorRule}
	leader := make([]int, len(services)) // by service: a step towards the root of its component
	for i := range leader {
		leader[i] = i
	}
	find := func(i int) int {
		for leader[i] != i {
			leader[i] = leader[leader[i]]
			i = leader[i]
		}
		return i
	}
	first := map[recipient]int{}
	count := map[recipient]int{} // number of services by recipient
	for i := range services {
		for _, c := range claims[i] {
			if !c.linksOperators() {
				continue
			}
			count[c.recipient]++
			if j, ok := first[accountOf(c.recipient)]; ok {
				leader[find(i)] = find(j)
			} else {
				first[accountOf(c.recipient)] = i
			}
		}
	}
	members := map[int][]int{}
	for i := range services {
		members[find(i)] = append(members[find(i)], i)
	}
	for _, group := range members {
		if len(group) > 1 {
			out.Groups = append(out.Groups, newOperatorGroup(services, claims, group, count))
			out.OperatorCount -= len(group) - 1
		}
	}
	slices.SortFunc(out.Groups, func(a, b site.OperatorGroup) int {
		return cmp.Or(cmp.Compare(b.ServiceCount, a.ServiceCount), cmp.Compare(a.Services[0].Slug, b.Services[0].Slug))
	})
	return out
}

// newOperatorLinks links services by recipient, domain and owner.
func newOperatorLinks(services []postgres.ServiceFacts, claims [][]claim, free listing.FreeHosts,
	now time.Time) *operator.Index {
	list := make([]operator.Service, len(services))
	for i := range services {
		f := &services[i]
		verified, _ := validUntil(f.VerifiedAt, verifiedFor, now)
		list[i] = operator.Service{Name: f.Name, Slug: f.Slug, BaseURL: f.BaseURL, Proved: verified && f.OwnerProved}
		for _, c := range claims[i] {
			if !c.linksOperators() {
				continue
			}
			networks := c.network
			if accountOf(c.recipient) != c.recipient {
				networks = "eip155:*"
			}
			list[i].Recipients = append(list[i].Recipients,
				operator.Recipient{Networks: networks, Address: address.Spell(c.network, c.payTo)})
		}
	}
	return operator.New(list, free)
}

// newOperatorGroup returns the services and shared recipients of a component.
func newOperatorGroup(services []postgres.ServiceFacts, claims [][]claim, members []int,
	count map[recipient]int) site.OperatorGroup {
	g := site.OperatorGroup{ServiceCount: len(members), Recipients: []site.SharedRecipient{}}
	owners := map[recipient]int{}
	for _, i := range members {
		seen := map[recipient]bool{}
		for _, c := range claims[i] {
			if k := accountOf(c.recipient); c.linksOperators() && !seen[k] {
				seen[k] = true
				owners[k]++
			}
		}
	}
	listed := map[recipient]bool{}
	for _, i := range members {
		g.Services = append(g.Services, site.SharedWithItem{Name: services[i].Name, Slug: services[i].Slug})
		for _, c := range claims[i] {
			if c.linksOperators() && owners[accountOf(c.recipient)] > 1 && !listed[c.recipient] {
				listed[c.recipient] = true
				g.Recipients = append(g.Recipients, site.SharedRecipient{NetworkCAIP2: c.network,
					PayTo:        address.Spell(c.network, c.payTo),
					ServiceCount: count[c.recipient]})
			}
		}
	}
	slices.SortFunc(g.Services, func(a, b site.SharedWithItem) int { return cmp.Compare(a.Slug, b.Slug) })
	slices.SortFunc(g.Recipients, func(a, b site.SharedRecipient) int {
		return cmp.Or(cmp.Compare(b.ServiceCount, a.ServiceCount), cmp.Compare(a.NetworkCAIP2, b.NetworkCAIP2),
			cmp.Compare(a.PayTo, b.PayTo))
	})
	return g
}
