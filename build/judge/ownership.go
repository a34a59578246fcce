package judge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tollbook/build/judge/revenue"
	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// claim says that a service names a recipient.
type claim struct {
	recipient
	since time.Time // first UTC day whose settlements may belong to the service
	// last UTC day whose settlements may belong to the service; zero while an active endpoint names the recipient
	until  time.Time
	newest bool // one of the newest prices or offers of an endpoint names the recipient, active or not

	tenure *tenure // of the service's operator, by newOwnership
}

// isLive reports whether a claim includes UTC days from first on.
func (c *claim) isLive(first time.Time) bool { return c.until.IsZero() || !c.until.Before(first) }

// listClaims returns the recipients of a service by network and address: those that its active endpoints name now, and
// former ones. A recipient counts from the day on which the service was first seen to name it, and a former one until
// the end of the day after it was last seen. The key of a Lightning node in an offer is no recipient.
func listClaims(f *postgres.ServiceFacts, now time.Time) []claim {
	var all []claim
	since := firstDays(f)
	for _, e := range f.Endpoints {
		var end time.Time // of the newest prices and offers
		if !e.IsActive(now) {
			end = dayAfter(*cmp.Or(e.LastPaidAt, &e.FirstSeenAt))
		}
		for _, p := range e.Prices {
			if p.NetworkCAIP2 == nil || p.PayTo == "" {
				continue
			}
			c := claim{recipient: newRecipient(*p.NetworkCAIP2, p.PayTo), since: dayOfTime(p.Since), until: end,
				newest: p.Until == nil}
			if p.Until != nil {
				c.until = dayAfter(*p.Until)
			}
			all = append(all, c)
		}
		for _, o := range e.Offers {
			all = appendOffered(all, o.NetworkCAIP2, o.PayTo, e.FirstSeenAt, end, true)
		}
		for _, p := range e.FormerRecipients {
			all = appendOffered(all, p.NetworkCAIP2, p.PayTo, e.FirstSeenAt, dayAfter(p.Until), false)
		}
	}
	slices.SortFunc(all, func(a, b claim) int {
		return cmp.Or(a.compare(b.recipient), b.end().Compare(a.end()))
	})
	unique := all[:0]
	for _, c := range all {
		if n := len(unique); n > 0 && unique[n-1].recipient == c.recipient { // the first has the latest end
			last := &unique[n-1]
			last.newest = last.newest || c.newest
			if c.since.Before(last.since) {
				last.since = c.since
			}
			continue
		}
		unique = append(unique, c)
	}
	for i := range unique {
		if stored, ok := since[unique[i].recipient]; ok {
			unique[i].since = stored
		}
	}
	return slices.Clone(unique) // drops the duplicates from memory
}

// firstDays returns the UTC days on which a service was first seen to name its recipients. It has all of them, because
// a visit stores both together; without one a claim begins with what is known of its endpoint.
func firstDays(f *postgres.ServiceFacts) map[recipient]time.Time {
	days := make(map[recipient]time.Time, len(f.Claims))
	for _, c := range f.Claims {
		r, day := newRecipient(c.NetworkCAIP2, c.PayTo), dayOfTime(c.FirstSeenAt)
		if before, ok := days[r]; !ok || day.Before(before) { // several spellings may name one recipient
			days[r] = day
		}
	}
	return days
}

// appendOffered appends a recipient of an offer over another protocol than x402, if the offer names one.
func appendOffered(all []claim, network, payTo string, since, until time.Time, newest bool) []claim {
	if network == "" || payTo == "" || x402.AddressNamespace(network) == "bip122" {
		return all
	}
	return append(all, claim{recipient: newRecipient(network, payTo), since: dayOfTime(since), until: until,
		newest: newest})
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

// dayOfTime returns the UTC day of t.
func dayOfTime(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// dayAfter returns the UTC day after the day of t.
func dayAfter(t time.Time) time.Time { return dayOfTime(t).AddDate(0, 0, 1) }

// unresponsiveAfter is how long a service must have failed until a recipient that it shares with other services belongs
// to them alone. A stranger that came later shares nothing.
const unresponsiveAfter = 7 * 24 * time.Hour

// failsLong reports whether a service has failed for unresponsiveAfter.
func failsLong(s *postgres.Service, now time.Time) bool {
	return s.FailingSince != nil && now.Sub(*s.FailingSince) >= unresponsiveAfter
}

// ownership says which services own which recipients.
//
// An account belongs to the operator that has named it for the longest time, and to its services together. Operators
// that named it first on the same day have it together, too. An operator that named it later has a part from sharesAfter
// days on, unless one of them has proved that a service is its own and the other one has not. No day before changes. An
// account that was named on one network of EVM is named on all of them.
type ownership struct {
	claims       [][]claim               // by service, on all networks
	unresponsive []bool                  // by service: it fails and shares a recipient
	owners       map[recipient][]owner   // on measured networks, by slug, without unresponsive services
	tenures      map[recipient][]*tenure // by account, oldest first
	payments     []revenue.FlowPayment   // to these recipients, of 30 days
}

// forever is the last day of what has no end, as a number of UTC days since 1970.
const forever = 1 << 40

// sharesAfter is the number of days after which an account is also that of an operator that named it after another one.
const sharesAfter = 30

// tenure is a time in which services of one operator named an account without a break.
type tenure struct {
	operator     int
	service      int      // of the operator's services, the first that named the account
	since, until int      // UTC days since 1970
	proved       int      // the first day on which an owner of one of these services proved it, or forever
	spans        []dayRun // on which the account is the operator's, alone or with others, oldest first
	owns         bool     // the account is the operator's today
	after        *tenure  // the oldest one of another operator that began before and includes today; nil for none
}

// dayRun is a number of UTC days in a row, since 1970.
type dayRun struct{ from, to int }

// owner is a service that is paid at a recipient.
type owner struct {
	service, operator int
	since, until      int // UTC days since 1970 on which it is
}

// includes reports whether the recipient belongs to the service on a day.
func (o owner) includes(day int) bool { return o.since <= day && day <= o.until }

// untilDay returns the last UTC day of a claim as a number.
func (c *claim) untilDay() int {
	if c.until.IsZero() {
		return forever
	}
	return dayNumber(c.until)
}

// newOwnership finds the owners of recipients, and sets the tenures of claims. Services and claims are sorted by slug.
func newOwnership(services []postgres.ServiceFacts, claims [][]claim, measured map[string]bool,
	free listing.FreeHosts, now time.Time) *ownership {
	operators := numberDomains(services, free)
	p := &ownership{claims: claims, unresponsive: make([]bool, len(services)), owners: map[recipient][]owner{},
		tenures: listTenures(claims, operators, listProofs(services), dayNumber(now))}
	type since struct {
		recipient
		day int
	}
	named := map[since]int{} // services whose own the recipient is today, as long as each other's
	for i := range services {
		for _, c := range p.claims[i] {
			if c.newest && measured[c.network] && c.tenure.owns {
				named[since{c.recipient, c.tenure.since}]++
			}
		}
	}
	for i := range services {
		shares := slices.ContainsFunc(p.claims[i], func(c claim) bool {
			return c.newest && c.tenure.owns && named[since{c.recipient, c.tenure.since}] > 1
		})
		if p.unresponsive[i] = shares && failsLong(&services[i].Service, now); p.unresponsive[i] {
			continue
		}
		for _, c := range p.claims[i] {
			for _, run := range c.tenure.spans {
				o := owner{i, operators[i], max(dayNumber(c.since), run.from), min(c.untilDay(), run.to)}
				if measured[c.network] && o.since <= min(o.until, dayNumber(now)) {
					p.owners[c.recipient] = append(p.owners[c.recipient], o)
				}
			}
		}
	}
	return p
}

// listProofs returns the UTC day on which each service was first proved to be its owner's, forever if it was not.
func listProofs(services []postgres.ServiceFacts) []int {
	days := make([]int, len(services))
	for i := range services {
		if days[i] = forever; services[i].VerifiedAt != nil {
			days[i] = dayNumber(*cmp.Or(services[i].FirstProvedAt, services[i].VerifiedAt))
		}
	}
	return days
}

// listTenures returns the tenures of accounts, oldest first, and sets those of claims. operators has the operator of
// each service, proofs the day of its first proof.
func listTenures(claims [][]claim, operators, proofs []int, today int) map[recipient][]*tenure {
	type naming struct {
		*claim
		service, operator int
	}
	by := map[recipient][]naming{}
	for i := range claims {
		for k := range claims[i] {
			c := &claims[i][k]
			account := accountKey(c.recipient)
			by[account] = append(by[account], naming{c, i, operators[i]})
		}
	}
	tenures := make(map[recipient][]*tenure, len(by))
	for account, namings := range by {
		slices.SortStableFunc(namings, func(a, b naming) int {
			return cmp.Or(cmp.Compare(a.operator, b.operator), a.since.Compare(b.since))
		})
		var list []*tenure
		for _, n := range namings {
			since, until := dayNumber(n.since), n.untilDay()
			if k := len(list) - 1; k >= 0 && list[k].operator == n.operator && since <= list[k].until+1 {
				list[k].until, list[k].proved = max(list[k].until, until), min(list[k].proved, proofs[n.service])
			} else {
				list = append(list, &tenure{operator: n.operator, service: n.service, since: since, until: until,
					proved: proofs[n.service]})
			}
			n.tenure = list[len(list)-1]
		}
		slices.SortFunc(list, func(a, b *tenure) int {
			return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.operator, b.operator))
		})
		for i, t := range list {
			older := list[:i]
			for len(older) > 0 && older[len(older)-1].since == t.since { // they are equally old
				older = older[:len(older)-1]
			}
			t.spans = t.ownDays(older)
			t.owns = t.owned(today, today)
			at := slices.IndexFunc(older, func(o *tenure) bool { return o.until >= today })
			if at >= 0 && t.until >= today {
				t.after = older[at]
			}
		}
		tenures[account] = list
	}
	return tenures
}

// owned reports whether the account was the operator's on any of some days.
func (t *tenure) owned(from, to int) bool {
	return slices.ContainsFunc(t.spans, func(r dayRun) bool { return r.from <= to && from <= r.to })
}

// ownDays returns the days of a tenure on which the account is the operator's: those after all older tenures, and
// before that those from sharesAfter on. Where one of the operators is proved and the other is not, nothing is shared.
// What was shared until one of them was proved stays so.
func (t *tenure) ownDays(older []*tenure) []dayRun {
	alone, from, to := t.since, t.since+sharesAfter, forever
	for _, o := range older {
		alone = max(alone, o.until+1)
		first, second := min(o.proved, t.proved), max(o.proved, t.proved)
		switch {
		case o.until < from, second <= from, first == forever:
		case first > from:
			to = min(to, first-1)
		default:
			from = second
		}
	}
	var runs []dayRun
	if to = min(to, alone-1, t.until); from <= to && from < forever {
		runs = append(runs, dayRun{from, to})
	}
	if alone > t.until {
		return runs
	}
	if n := len(runs); n > 0 && runs[n-1].to == alone-1 {
		runs[n-1].to = t.until
		return runs
	}
	return append(runs, dayRun{alone, t.until})
}

// accountKey returns the account whose tenures include a recipient. What a test network shows is no claim on a main
// network.
func accountKey(r recipient) recipient {
	if !hasValue(r.network) {
		return r
	}
	return accountOf(r)
}

// tenuresOf returns the tenures of a recipient's account, oldest first.
func (p *ownership) tenuresOf(r recipient) []*tenure { return p.tenures[accountKey(r)] }

// linksOperators reports whether services that name this recipient now belong to one operator. Recipients on test
// networks and addresses without an owner prove nothing. Neither does an account that another operator named first.
func (c *claim) linksOperators() bool {
	return c.until.IsZero() && hasValue(c.network) && !isOwnerless(c.recipient) && !c.isLater()
}

// isLater reports whether another operator named a recipient first, which still names it.
func (c *claim) isLater() bool { return c.until.IsZero() && c.tenure != nil && c.tenure.after != nil }

// isForeign reports whether a recipient that an active endpoint names belongs to another operator alone, which named it
// first.
func (c *claim) isForeign() bool {
	return c.until.IsZero() && c.tenure != nil && !c.tenure.owns
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
	"Test networks and addresses that nobody owns are ignored, and services that name an account after a service " +
	"of another registrable domain."

// groupOperators groups the services that name the same recipient now. The groups are the connected components of
// services and recipients.
func groupOperators(services []postgres.ServiceFacts, claims [][]claim) site.OperatorReport {
	out := site.OperatorReport{ServiceCount: len(services), OperatorCount: len(services),
		Groups: []site.OperatorGroup{}, Rule: operatorRule}
	leader := newLeaders(len(services))
	leader.joinAccounts(claims)
	count := map[recipient]int{} // number of services by recipient
	for i := range claims {
		for _, c := range claims[i] {
			if c.linksOperators() {
				count[c.recipient]++
			}
		}
	}
	members := map[int][]int{}
	for i := range services {
		members[leader.find(i)] = append(members[leader.find(i)], i)
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
	now time.Time) *operatorIndex {
	list := make([]operatorService, len(services))
	for i := range services {
		f := &services[i]
		verified, _ := verifiedUntil(f, now)
		list[i] = operatorService{Name: f.Name, Slug: f.Slug, BaseURL: f.BaseURL, Proved: verified && f.OwnerProved}
		for _, c := range claims[i] {
			if !c.linksOperators() {
				continue
			}
			networks := c.network
			if accountOf(c.recipient) != c.recipient {
				networks = "eip155:*"
			}
			list[i].Recipients = append(list[i].Recipients,
				operatorRecipient{Networks: networks, Address: x402.SpellAddress(c.network, c.payTo)})
		}
	}
	return newOperators(list, free)
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
					PayTo:        x402.SpellAddress(c.network, c.payTo),
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

// foreign returns the first account that the ith service names now and another operator named first, nil if there is
// none.
func (p *ownership) foreign(i int, services []postgres.ServiceFacts) *naming {
	for k := range p.claims[i] {
		if c := &p.claims[i][k]; c.isLater() && !isOwnerless(c.recipient) {
			first := c.tenure.after
			return newNaming(c, &services[first.service], first, c.tenure.owns)
		}
	}
	return nil
}

// claimed returns the first account of the ith service's operator that another operator names now, but later; nil if
// there is none.
func (p *ownership) claimed(i int, services []postgres.ServiceFacts) *naming {
	for k := range p.claims[i] {
		c := &p.claims[i][k]
		if !c.until.IsZero() || c.tenure == nil || c.isLater() || isOwnerless(c.recipient) {
			continue
		}
		for _, t := range p.tenuresOf(c.recipient) {
			if t.since > c.tenure.since && t.until == forever && t.operator != c.tenure.operator {
				return newNaming(c, &services[t.service], t, t.owns)
			}
		}
	}
	return nil
}

func newNaming(c *claim, by *postgres.ServiceFacts, of *tenure, isShared bool) *naming {
	return &naming{network: c.network, payTo: x402.SpellAddress(c.network, c.payTo), by: by.Slug,
		since: dayOfNumber(of.since), isShared: isShared}
}
