package directory

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/postgres/polls"
	"tollbook/site/x402"
)

// Candidate is an account in no list that facilitators announce as their own.
type Candidate struct {
	Account
	Announcements []announcement   // by facilitator
	Payments      []polls.Payments // to known recipients in 30 days, by token
}

// announcement is what one facilitator says of an account.
type announcement struct {
	FacilitatorID, URL string
	First, Last        time.Time
}

// IsOverTLS reports whether the facilitator was asked over TLS, so that nobody on the way could change its answer.
func (a announcement) IsOverTLS() bool { return strings.HasPrefix(strings.ToLower(a.URL), "https://") }

// evidenceWithoutTLS is the rung of a candidate that was announced over plain HTTP alone. It is not published.
const evidenceWithoutTLS = "announced_without_tls"

// Evidence returns the strongest rung that speaks for the candidate.
func (c *Candidate) Evidence() string {
	switch {
	case !slices.ContainsFunc(c.Announcements, announcement.IsOverTLS):
		return evidenceWithoutTLS
	case len(c.Payments) > 0:
		return site.EvidenceAnnouncedAndPayments
	}
	return site.EvidenceAnnounced
}

// PaymentCount returns the number of payments in all tokens.
func (c *Candidate) PaymentCount() (n int64) {
	for _, p := range c.Payments {
		n += p.Payments
	}
	return n
}

// Candidates returns the accounts on main networks that a facilitator announced in the last 30 days and that no list
// names, those with the most payments first, then by network and address. An account that is announced for a namespace
// is a candidate on each network that its facilitator names for it, or on which it paid known recipients.
func (o *Observatory) Candidates() []Candidate {
	by := map[Account]*Candidate{}
	payments := map[Account][]polls.Payments{}
	for _, p := range o.facts.Payments {
		a := Account{p.Network, p.Sender}
		payments[a] = append(payments[a], p)
	}
	for i := range o.facts.Facilitators {
		f := &o.facts.Facilitators[i]
		named := o.namedNetworks(f)
		for _, s := range f.Signers {
			if o.now.Sub(s.Last) > remembered {
				continue
			}
			for _, network := range o.networks(s, named, payments) {
				a := Account{network, s.Address}
				if n, ok := x402.NetworkByID(network); !ok || !n.Mainnet || o.owners[a] != "" ||
					x402.CheckAddress(network, s.Address) != nil {
					continue
				}
				c := by[a]
				if c == nil {
					c = &Candidate{Account: a, Payments: payments[a]}
					by[a] = c
				}
				c.announce(f, s)
			}
		}
	}
	list := make([]Candidate, 0, len(by))
	for _, c := range by {
		slices.SortFunc(c.Announcements, func(a, b announcement) int {
			return cmp.Compare(a.FacilitatorID, b.FacilitatorID)
		})
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.PaymentCount(), a.PaymentCount()), cmp.Compare(a.Network, b.Network),
			cmp.Compare(a.Address, b.Address))
	})
	return list
}

// namedNetworks returns the networks of the kinds that a facilitator announced in the last 30 days, each once.
func (o *Observatory) namedNetworks(f *polls.FacilitatorFacts) []string {
	var list []string
	for _, k := range f.Kinds {
		if o.now.Sub(k.Last) <= remembered {
			list = append(list, k.Network)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// networks returns the networks that a signer may settle on, each once.
func (o *Observatory) networks(s polls.Signer, named []string, payments map[Account][]polls.Payments) []string {
	if !strings.HasSuffix(s.Networks, ":*") {
		return []string{s.Networks}
	}
	var list []string
	for _, network := range named {
		if covers(s, network) {
			list = append(list, network)
		}
	}
	for a := range payments {
		if a.Address == s.Address && covers(s, a.Network) && !slices.Contains(list, a.Network) {
			list = append(list, a.Network)
		}
	}
	slices.Sort(list)
	return list
}

// announce adds what a facilitator says, once for all origins.
func (c *Candidate) announce(f *polls.FacilitatorFacts, s polls.Signer) {
	for i := range c.Announcements {
		if a := &c.Announcements[i]; a.FacilitatorID == f.FacilitatorID {
			if s.First.Before(a.First) {
				a.First = s.First
			}
			if s.Last.After(a.Last) {
				a.Last = s.Last
			}
			return
		}
	}
	c.Announcements = append(c.Announcements, announcement{f.FacilitatorID, f.URL, s.First, s.Last})
}
