package directory

import (
	"cmp"
	"slices"
	"time"

	"tollbook/site"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// Limits of the candidate settlers that are published, over all networks.
const (
	maxCandidates = 50 // with payments, by the number of their payments
	maxAnnounced  = 50 // others that facilitators announce
	maxUnpaid     = 10 // of them without a payment, for each facilitator
)

// Describe returns the address and the name of a token, and what an amount of atomic units is worth; nil if unknown.
type Describe func(network, token, amount string, configured *ledger.Token) (address, name string, usd *site.Decimal)

// ListCandidates returns accounts that are no known settlers, but send payments to recipients of listed services or are
// announced by a facilitator over TLS. The accounts with the most payments come first, those without a payment last.
func (o *Observatory) ListCandidates(chains []ledger.ChainFacts, describe Describe) []site.CandidateSettler {
	list := []site.CandidateSettler{}
	for _, chain := range chains {
		for _, c := range chain.Candidates {
			if o.owners[Account{chain.Network, c.Sender}] == "" { // else it was listed after its payments were stored
				list = append(list, describe.row(chain.Network, &c))
			}
		}
	}
	sortCandidates(list)
	return o.addAnnounced(list[:min(len(list), maxCandidates)], describe)
}

func (describe Describe) row(network string, c *ledger.CandidateFacts) site.CandidateSettler {
	token, name, usd := describe(network, c.Token, c.Amount, c.Configured)
	return site.CandidateSettler{
		Network: shortNetwork(network), NetworkCAIP2: network, Address: x402.SpellAddress(network, c.Sender),
		TokenAddress: &token, AssetName: &name, PaymentCount: &c.Payments, VolumeUSD: usd,
		RecipientCount: &c.Recipients, FirstDay: new(c.FirstDay.UTC().Format(time.DateOnly)),
		LastDay:  new(c.LastDay.UTC().Format(time.DateOnly)),
		Evidence: site.EvidencePayments, AnnouncedBy: []site.CandidateAnnouncement{},
	}
}

// addAnnounced adds what facilitators announce over TLS: to the rows of a list, and as rows of its own. Of the accounts
// without a payment a facilitator gets few rows, so that one that announces many does not displace others.
func (o *Observatory) addAnnounced(list []site.CandidateSettler, describe Describe) []site.CandidateSettler {
	paid, unpaid := 0, map[string]int{}
	for _, c := range o.Candidates() {
		announced, first := []site.CandidateAnnouncement{}, ""
		for _, a := range c.Announcements {
			if a.IsOverTLS() {
				first = cmp.Or(first, a.FacilitatorID)
				announced = append(announced, site.CandidateAnnouncement{FacilitatorID: a.FacilitatorID, URL: a.URL,
					Since: site.NewTime(a.First), LastSeenAt: site.NewTime(a.Last)})
			}
		}
		if len(announced) == 0 {
			continue
		}
		spelt := x402.SpellAddress(c.Network, c.Address)
		listed := map[string]bool{}
		for i := range list {
			if r := &list[i]; r.NetworkCAIP2 == c.Network && r.Address == spelt {
				r.Evidence, r.AnnouncedBy = c.Evidence(), announced
				listed[*r.TokenAddress] = true
			}
		}
		for _, p := range c.Payments {
			row := describe.row(c.Network, &ledger.CandidateFacts{Sender: c.Address, Token: p.Token,
				Payments: p.Payments, Amount: p.Amount, Recipients: p.Recipients, FirstDay: p.FirstDay,
				LastDay: p.LastDay, Configured: configuredToken(o.tokens, c.Network, p.Token)})
			if listed[*row.TokenAddress] || paid == maxAnnounced {
				continue
			}
			paid++
			row.Evidence, row.AnnouncedBy = c.Evidence(), announced
			list = append(list, row)
		}
		if len(c.Payments) == 0 && unpaid[first] < maxUnpaid && unpaid[""] < maxAnnounced {
			unpaid[first]++
			unpaid[""]++
			list = append(list, site.CandidateSettler{Network: shortNetwork(c.Network), NetworkCAIP2: c.Network,
				Address: spelt, Evidence: c.Evidence(), AnnouncedBy: announced})
		}
	}
	sortCandidates(list)
	return list
}

func configuredToken(tokens []ledger.Token, network, token string) *ledger.Token {
	for i := range tokens {
		if tokens[i].Network == network && tokens[i].Address == token {
			return &tokens[i]
		}
	}
	return nil
}

// sortCandidates sorts the accounts with the most payments first, those without one last.
func sortCandidates(list []site.CandidateSettler) {
	count := func(c *site.CandidateSettler) int64 {
		if c.PaymentCount == nil {
			return -1
		}
		return *c.PaymentCount
	}
	token := func(c *site.CandidateSettler) string {
		if c.TokenAddress == nil {
			return ""
		}
		return *c.TokenAddress
	}
	slices.SortFunc(list, func(a, b site.CandidateSettler) int {
		return cmp.Or(cmp.Compare(count(&b), count(&a)), cmp.Compare(a.NetworkCAIP2, b.NetworkCAIP2),
			cmp.Compare(a.Address, b.Address), cmp.Compare(token(&a), token(&b)))
	})
}
