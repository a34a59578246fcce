// This file links services that probably have one operator: by a shared recipient, a registrable domain, or a host
// that its owner proved to control. Each link names its evidence. It must never read anything.

package judge

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres"
)

// operatorService is what links a service to others.
type operatorService struct {
	Name, Slug, BaseURL string
	Proved              bool // its owner proved to control the host, and that still counts
	Recipients          []operatorRecipient
}

// operatorRecipient is an account that a service asks to be paid to.
type operatorRecipient struct {
	Networks string // CAIP-2, or "eip155:*" for an account of all EVM networks
	Address  string
}

// operatorIndex finds the links of services.
type operatorIndex struct {
	links []site.OperatorLink
	of    [][]int // by service: places of its links
}

// newOperators links services, which are sorted by slug. Hosts below a domain of free are of many operators.
func newOperators(services []operatorService, free listing.FreeHosts) *operatorIndex {
	type evidence struct{ by, networks, value string }
	members := map[evidence][]int{}
	for i := range services {
		s := &services[i]
		add := func(by, networks, value string) {
			e := evidence{by, networks, value}
			if of := members[e]; value != "" && (len(of) == 0 || of[len(of)-1] != i) {
				members[e] = append(of, i)
			}
		}
		for _, r := range s.Recipients {
			add(site.LinkedByRecipient, r.Networks, r.Address)
		}
		host, name := hostOf(s.BaseURL)
		add(site.LinkedByDomain, "", domainOf(name, free))
		if s.Proved {
			add(site.LinkedByOwner, "", host)
		}
	}
	x := &operatorIndex{links: []site.OperatorLink{}, of: make([][]int, len(services))}
	for e, of := range members {
		if len(of) < 2 {
			continue
		}
		l := site.OperatorLink{By: e.by, Value: e.value, ServiceCount: len(of)}
		if e.networks != "" {
			l.Networks = &e.networks
		}
		for _, i := range of[:min(len(of), site.MaxSharedWith)] {
			l.Services = append(l.Services, site.SharedWithItem{Name: services[i].Name, Slug: services[i].Slug})
		}
		x.links = append(x.links, l)
	}
	slices.SortFunc(x.links, compare)
	for place, l := range x.links {
		e := evidence{by: l.By, value: l.Value}
		if l.Networks != nil {
			e.networks = *l.Networks
		}
		for _, i := range members[e] {
			x.of[i] = append(x.of[i], place)
		}
	}
	return x
}

// compare orders links: those of more services first, then by evidence.
func compare(a, b site.OperatorLink) int {
	networks := func(l site.OperatorLink) string {
		if l.Networks == nil {
			return ""
		}
		return *l.Networks
	}
	return cmp.Or(cmp.Compare(b.ServiceCount, a.ServiceCount), cmp.Compare(a.By, b.By),
		cmp.Compare(networks(a), networks(b)), cmp.Compare(a.Value, b.Value))
}

// All returns the links of most services, at most site.MaxOperatorLinks, and how many there are.
func (x *operatorIndex) All() (links []site.OperatorLink, count int) {
	return x.links[:min(len(x.links), site.MaxOperatorLinks)], len(x.links)
}

// Of returns the links of the ith service, at most site.MaxSharedWith, in the same order.
func (x *operatorIndex) Of(i int) []site.OperatorLink {
	links := []site.OperatorLink{}
	for _, place := range x.of[i][:min(len(x.of[i]), site.MaxSharedWith)] {
		links = append(links, x.links[place])
	}
	return links
}

// operatorKey returns a text that services of one operator have in common: the registrable domain of a base URL, or
// its host with its port if it has none or is below a domain of free.
func operatorKey(base string, free listing.FreeHosts) string {
	host, name := hostOf(base)
	return cmp.Or(domainOf(name, free), host, base)
}

// numberOperators returns for each service the first service of its operator. Services of one registrable domain have one
// operator, and so have those that name one account now, also if only a chain of other services connects them. An
// account that another operator named first connects nothing.
func numberOperators(services []postgres.ServiceFacts, claims [][]claim, free listing.FreeHosts) []int {
	leader := newLeaders(len(services))
	for i, first := range numberDomains(services, free) {
		leader.join(i, first)
	}
	leader.joinAccounts(claims)
	numbers, first := make([]int, len(services)), map[int]int{}
	for i := range numbers {
		root := leader.find(i)
		if _, ok := first[root]; !ok {
			first[root] = i
		}
		numbers[i] = first[root]
	}
	return numbers
}

// numberDomains returns for each service the first one with its operatorKey.
func numberDomains(services []postgres.ServiceFacts, free listing.FreeHosts) []int {
	numbers, firsts := make([]int, len(services)), map[string]int{}
	for i := range services {
		key := operatorKey(services[i].BaseURL, free)
		first, ok := firsts[key]
		if !ok {
			first = i
			firsts[key] = first
		}
		numbers[i] = first
	}
	return numbers
}

// leaders has a step from each member of a set towards the root of its component.
type leaders []int

func newLeaders(n int) leaders {
	l := make(leaders, n)
	for i := range l {
		l[i] = i
	}
	return l
}

// find returns the root of a member's component.
func (l leaders) find(i int) int {
	for l[i] != i {
		l[i] = l[l[i]]
		i = l[i]
	}
	return i
}

// join makes one component of those of two members.
func (l leaders) join(i, k int) { l[l.find(i)] = l.find(k) }

// joinAccounts joins the services that name one account now, which claims have by service.
func (l leaders) joinAccounts(claims [][]claim) {
	firsts := map[recipient]int{}
	for i := range claims {
		for _, c := range claims[i] {
			if !c.linksOperators() {
				continue
			}
			if first, ok := firsts[accountOf(c.recipient)]; ok {
				l.join(i, first)
			} else {
				firsts[accountOf(c.recipient)] = i
			}
		}
	}
}

// hostOf returns the host of a base URL, with its port if it has one, and the host's name alone.
func hostOf(base string) (host, name string) {
	u, err := url.Parse(base)
	if err != nil {
		return "", ""
	}
	return strings.ToLower(u.Host), strings.ToLower(u.Hostname())
}

// domainOf returns the registrable domain of a host's name. It returns "" for a name below a domain that hosts sites of
// others, an address, and a name below no known public suffix.
func domainOf(name string, free listing.FreeHosts) string {
	if suffix, icann := publicsuffix.PublicSuffix(name); free.Has(name) || !icann && !strings.Contains(suffix, ".") {
		return ""
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(name)
	if err != nil {
		return ""
	}
	return domain
}
