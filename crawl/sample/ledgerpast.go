package sample

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"tollbook/site/postgres/ledger"
)

// margin is how long before the start the written past ends, in blocks of Network: what comes after is read from the
// node, which by then calls it confirmed.
const margin = 30

// Genesis is when every network of the world began, with its first block.
func (l *Ledger) Genesis() time.Time { return l.genesis }

// Past is what indexers would have committed that had read each network by the start, by network and then block: of one
// with scans, a range that goes back to the first block, and the one block that is then the newest. Their scans are
// left open. Of Solana, which has no such ranges, the settlements are meant.
func (l *Ledger) Past() []ledger.Range {
	var all []*reading
	for _, network := range slices.Sorted(maps.Keys(l.chains)) {
		c := l.chains[network]
		newest := c.head(l.start) - margin
		if !c.solana() {
			all = append(all, newReading(c, 0, newest-1), newReading(c, newest, newest))
			continue
		}
		all = append(all, newReading(c, 0, newest))
	}
	for n := range int(l.start.Sub(l.genesis)/time.Hour) + 1 {
		hour := l.hour(n)
		for _, r := range all {
			for _, t := range hour[r.c.network] {
				if r.first <= t.block && t.block <= r.last {
					r.read(t)
				}
			}
		}
	}
	list := make([]ledger.Range, len(all))
	for i, r := range all {
		list[i] = r.found()
	}
	return list
}

// reading is a part of a network's past while it is read.
type reading struct {
	c           *chain
	first, last int64
	block       int64 // of the newest transaction
	logs        int   // in it
	settlements []ledger.Settlement
	seen        map[ledger.AuthorizationDay]int64
	senders     map[ledger.SenderDay]*sending
}

func newReading(c *chain, first, last int64) *reading {
	return &reading{c: c, first: first, last: last, block: -1, seen: map[ledger.AuthorizationDay]int64{},
		senders: map[ledger.SenderDay]*sending{}}
}

func (r *reading) read(t transaction) {
	if t.block != r.block {
		r.block, r.logs = t.block, 0
	}
	at := r.c.stamp(t.block)
	today := at.Truncate(day)
	for i, p := range t.payments {
		if p.rail.scheme == "exact" {
			r.seen[ledger.AuthorizationDay{Token: p.token, Day: today}]++
		}
		if !p.by.Unlisted {
			r.settlements = append(r.settlements, r.c.settlement(t, i, r.logs+t.transferOf(i), at))
			continue
		}
		if p.listed {
			key := ledger.SenderDay{Sender: t.settler, Day: today, Token: p.token}
			if r.senders[key] == nil {
				r.senders[key] = &sending{to: map[string]bool{}}
			}
			r.senders[key].add(p)
		}
	}
	r.logs += 2 * len(t.payments)
}

func (r *reading) found() ledger.Range {
	found := ledger.Range{Network: r.c.network, First: r.first, Last: r.last, Time: r.c.stamp(r.last),
		Settlements: r.settlements}
	if !r.c.solana() {
		found.Hash = r.c.hash(r.last, always)
		found.Authorizations, found.Senders = sums(r.seen, r.senders)
	}
	return found
}

// settlement is the ith payment of a transaction as an index keeps it.
func (c *chain) settlement(t transaction, i, log int, at time.Time) ledger.Settlement {
	p := t.payments[i]
	s := ledger.Settlement{
		Network: c.network, Block: t.block, Time: at, Transaction: t.hash, LogIndex: log, Facilitator: p.by.ID,
		Settler: t.settler,
		Token:   p.token, Payer: p.payer, Payee: p.payee, Amount: p.amount, Method: "eip3009",
	}
	switch {
	case c.solana(): // two instructions set the price of computing, then come the transfers
		s.Method, s.LogIndex = "spl", 1000*(2+i)
	default:
		s.BlockHash = c.hash(t.block, always)
		if p.rail.scheme == "upto" {
			s.Method = "permit2"
		}
	}
	return s
}

func (c *chain) solana() bool { return strings.HasPrefix(c.network, "solana:") }

// sending sums what an account that nobody listed sent to known recipients on a day.
type sending struct {
	payments int64
	amount   big.Int
	to       map[string]bool
}

func (s *sending) add(p payment) {
	n, _ := new(big.Int).SetString(p.amount, 10) // x402 and partly write nothing but digits
	s.payments++
	s.amount.Add(&s.amount, n)
	s.to[p.payee] = true
}

func sums(seen map[ledger.AuthorizationDay]int64, senders map[ledger.SenderDay]*sending) (days []ledger.AuthorizationDay,
	list []ledger.SenderDay) {
	for d, n := range seen {
		d.Authorizations = n
		days = append(days, d)
	}
	slices.SortFunc(days, func(a, b ledger.AuthorizationDay) int {
		return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(a.Token, b.Token))
	})
	for d, s := range senders {
		d.Payments, d.Amount, d.Recipients = s.payments, s.amount.String(), int64(len(s.to))
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b ledger.SenderDay) int {
		return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(a.Sender, b.Sender), cmp.Compare(a.Token, b.Token))
	})
	return days, list
}
