package judge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// claim is that a service wants to be paid at a recipient.
type claim struct {
	recipient
	// the last UTC day on which what is settled there is its own; zero while an active endpoint asks for it
	until  time.Time
	newest bool // it is of the newest prices of its endpoint, active or not
}

// isLive says whether a claim reaches into the UTC days from the first on.
func (c *claim) isLive(first time.Time) bool { return c.until.IsZero() || !c.until.Before(first) }

// listClaims are the recipients of a service, by network and address: those that its active endpoints ask for now, and
// former ones, until the day after that on which they were last seen.
func listClaims(f *postgres.ServiceFacts, now time.Time) []claim {
	var all []claim
	for _, e := range f.Endpoints {
		active := site.IsActive(e.FirstSeenAt, e.LastPaidAt, now)
		for _, p := range e.Prices {
			if p.NetworkCAIP2 == nil || p.PayTo == "" {
				continue
			}
			c := claim{recipient: recipient{*p.NetworkCAIP2, x402.NormalizeAddress(*p.NetworkCAIP2, p.PayTo)},
				newest: p.Until == nil}
			switch {
			case p.Until != nil:
				c.until = dayAfter(*p.Until)
			case !active && e.LastPaidAt != nil:
				c.until = dayAfter(*e.LastPaidAt)
			case !active:
				c.until = dayAfter(e.FirstSeenAt)
			}
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b claim) int {
		return cmp.Or(a.compare(b.recipient), b.end().Compare(a.end()))
	})
	unique := all[:0]
	for _, c := range all {
		if n := len(unique); n > 0 && unique[n-1].recipient == c.recipient { // the first reaches furthest
			unique[n-1].newest = unique[n-1].newest || c.newest
			continue
		}
		unique = append(unique, c)
	}
	return slices.Clone(unique) // most rows name the same
}

func (r recipient) compare(o recipient) int {
	return cmp.Or(cmp.Compare(r.network, o.network), cmp.Compare(r.payTo, o.payTo))
}

// end is until as a time to compare by.
func (c *claim) end() time.Time {
	if c.until.IsZero() {
		return time.Unix(1<<40, 0)
	}
	return c.until
}

// dayAfter is the UTC day after that of t.
func dayAfter(t time.Time) time.Time { return t.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1) }

// unresponsiveAfter is how long a service must have failed until a recipient that it shares with others is theirs
// alone.
const unresponsiveAfter = 7 * 24 * time.Hour

func failsLong(s *postgres.Service, now time.Time) bool {
	return s.FailingSince != nil && now.Sub(*s.FailingSince) >= unresponsiveAfter
}

// ownership is who is paid where, of all services.
type ownership struct {
	claims       [][]claim             // of each service, on measured networks and others
	unresponsive []bool                // of each service: it fails, and others name a recipient of its
	owners       map[recipient][]owner // on measured networks, by slug, of services that are not unresponsive
}

// owner is that a service, by its index, is paid at a recipient.
type owner struct {
	service int
	until   time.Time // as of a claim
}

// newOwnership finds who shares recipients. Services are by slug, and so are their claims.
func newOwnership(services []postgres.ServiceFacts, claims [][]claim, measured map[string]bool, now time.Time) *ownership {
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

// linksOperators says whether who names a recipient now is one operator: not where payments are worth nothing, nor by
// an address that belongs to no one, the zero of an EVM chain or Solana's system program.
func (c *claim) linksOperators() bool {
	return c.until.IsZero() && hasValue(c.network) && !isOwnerless(c.recipient)
}

func isOwnerless(r recipient) bool {
	hex, isHex := strings.CutPrefix(r.payTo, "0x")
	return isHex && strings.Trim(hex, "0") == "" || strings.Trim(r.payTo, "1") == ""
}

// accountOf is a recipient as one owner has it: on EVM chains an account is the same on each.
func accountOf(r recipient) recipient {
	if namespace, _, ok := strings.Cut(r.network, ":"); ok && namespace == "eip155" {
		return recipient{namespace, r.payTo}
	}
	return r
}

const operatorRule = "Services that name the same recipient now belong to one operator, and so do those that are linked through others; on EVM networks an account is the same on each. Test networks and addresses that belong to nobody link nothing."

// groupOperators collapses services that share a recipient now into groups: the connected components of services and
// recipients.
func groupOperators(services []postgres.ServiceFacts, claims [][]claim) site.OperatorReport {
	out := site.OperatorReport{ServiceCount: len(services), OperatorCount: len(services),
		Groups: []site.OperatorGroup{}, Rule: operatorRule}
	leader := make([]int, len(services)) // of each service, towards the root of its component
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
	count := map[recipient]int{} // of services by recipient, as its network has it
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

// newOperatorGroup tells of the services of a component.
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
				g.Recipients = append(g.Recipients, site.SharedRecipient{NetworkCAIP2: c.network, PayTo: c.payTo,
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
