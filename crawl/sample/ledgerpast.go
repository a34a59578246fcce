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

// margin is the number of blocks of Network between the end of the written past and the start. Later blocks are read
// from the node, which then reports them as confirmed.
const margin = 30

// Genesis returns the time of the first block of every network of the world.
func (l *Ledger) Genesis() time.Time { return l.genesis }

// Past returns what indexers that had read each network until the start would have committed, by network and block. For
// a network with scans there are two ranges: one back to the first block, and the newest block; the scans stay open.
// Solana has no ranges: its Range only carries the settlements.
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
		list[i] = r.result()
	}
	return list
}

// reading is the state of reading a part of a network's past.
type reading struct {
	c           *liveChain
	first, last int64
	block       int64 // block of the newest transaction
	logs        int   // number of logs in that block
	settlements []ledger.Settlement
	seen        map[ledger.AuthorizationDay]int64
	senders     map[ledger.SenderDay]*sending
}

func newReading(c *liveChain, first, last int64) *reading {
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

func (r *reading) result() ledger.Range {
	result := ledger.Range{Network: r.c.network, First: r.first, Last: r.last, Time: r.c.stamp(r.last),
		Settlements: r.settlements}
	if !r.c.solana() {
		result.Hash = r.c.hash(r.last, always)
		result.Authorizations, result.Senders = sums(r.seen, r.senders)
	}
	return result
}

// methods are the ways of settlement on EVM chains, by scheme.
var methods = map[string]string{"exact": "eip3009", "upto": "permit2", "batch-settlement": ledger.MethodBatch}

// settlement returns the ith payment of a transaction as an index stores it.
func (c *liveChain) settlement(t transaction, i, log int, at time.Time) ledger.Settlement {
	p := t.payments[i]
	s := ledger.Settlement{
		Network: c.network, Block: t.block, Time: at, Transaction: t.hash, LogIndex: log, Facilitator: p.by.ID,
		Settler: t.settler, Token: p.token, Payer: p.payer, Payee: p.payee, Amount: p.amount,
		Method: methods[p.rail.scheme],
	}
	if c.solana() { // two instructions set the compute price before the transfers
		s.Method, s.LogIndex = "spl", 1000*(2+i)
	} else {
		s.BlockHash = c.hash(t.block, always)
	}
	return s
}

func (c *liveChain) solana() bool { return strings.HasPrefix(c.network, "solana:") }

// sending sums the payments of an unlisted account to known recipients on a day.
type sending struct {
	payments int64
	amount   big.Int
	to       map[string]bool
}

func (s *sending) add(p payment) {
	n, _ := new(big.Int).SetString(p.amount, 10) // amounts consist of digits
	s.payments++
	s.amount.Add(&s.amount, n)
	s.to[p.payee] = true
}

func sums(seen map[ledger.AuthorizationDay]int64,
	senders map[ledger.SenderDay]*sending) (days []ledger.AuthorizationDay,
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
