package chain

import (
	"context"
	"fmt"
	"slices"
)

// transactionRun is a transaction's part of events.
type transactionRun struct {
	from, to int
	block    *blockRun
	settler  *settler // nil: no known one sent it
	sender   address
}

// judge turns the events into rows. Where the transfers of settlers' transactions are not at hand, their receipts are asked
// for; so they are where an authorisation lacks its transfer, and where a Permit2 proxy was used, since its transfer may
// be of any token.
func (r *reading) judge(ctx context.Context) (found, error) {
	f := found{parent: r.start.parent, events: len(r.events)}
	f.Range = Range{Scan: r.plan.scan.ID, Network: r.x.network.ID, First: r.first, Last: r.last, Hash: r.head.hash.String(), Time: r.head.time}
	sums := newTally()
	own := make([]transactionRun, 0, r.senders) // that settlers sent
	events := 0                                 // of these
	for b := range r.blocks {
		run := &r.blocks[b]
		for i := range run.senders {
			s := &run.senders[i]
			t := transactionRun{from: s.first, to: r.sameTransaction(s.first, run.to), block: run, sender: s.from, settler: r.plan.settlers[s.from]}
			if r.plan.scan.Counts {
				r.count(sums, &t)
			}
			if t.settler != nil {
				own = append(own, t)
				events += t.to - t.from
			}
		}
	}
	if r.wide {
		transfers := 0
		for i := range r.events {
			if r.events[i].transfer() {
				transfers++
			}
		}
		r.x.cost.transfers(transfers, len(own))
		events /= 2 // a settlement is an authorisation and its transfer
	}
	f.Settlements = slices.Grow(f.Settlements, events)
	open := own[:0] // whose receipts are needed
	for i := range own {
		if t := own[i]; !r.settleDirectly(&f, &t) {
			open = append(open, t)
		}
	}
	if err := r.settleByReceipt(ctx, &f, open); err != nil {
		return found{}, err
	}
	if r.plan.scan.Counts {
		f.Seen, f.Senders = sums.rows(r.x.tokens)
	}
	return f, nil
}

// count adds a transaction to what a counting scan sees.
func (r *reading) count(sums *tally, t *transactionRun) {
	day := dayOf(t.block.header.time).Unix()
	for i := t.from; i < t.to; i++ {
		switch e := &r.events[i]; {
		case e.authorization():
			sums.seen[seenKey{e.contract, day}]++
		case t.settler == nil && e.transfer() && e.amount != (hash{}) && addressOf(e.topics[1]) != t.sender && r.toRecipient(e):
			sums.payment(t.sender, e, day)
		}
	}
}

// settleDirectly settles a transaction by the events at hand, or says that they do not suffice.
func (r *reading) settleDirectly(f *found, t *transactionRun) bool {
	events := r.events[t.from:t.to]
	proxy := anyOf(events, (*event).settled)
	if !proxy && !anyOf(events, (*event).authorization) {
		return true // a transfer of its own
	}
	if proxy || !r.wide {
		return false
	}
	pairs, orphans := settle(events, r.x.tokens)
	if orphans > 0 {
		return false
	}
	r.keep(f, t, pairs)
	return true
}

func (r *reading) keep(f *found, t *transactionRun, pairs []pair) {
	for _, p := range pairs {
		if row, counts := r.x.settlement(p, t.settler, t.block); counts {
			f.Settlements = append(f.Settlements, row)
		}
	}
}

// settleByReceipt asks for receipts, which hold every event of a transaction. One that holds measured events which the range
// did not, or lacks one that it did, convicts the range's answer.
func (r *reading) settleByReceipt(ctx context.Context, f *found, open []transactionRun) error {
	if len(open) == 0 {
		return nil
	}
	q := question{}
	for _, t := range open {
		q.calls = append(q.calls, call{method: "eth_getTransactionReceipt", params: `["` + r.events[t.from].transaction.String() + `"]`})
	}
	last := &open[len(open)-1]
	if !r.wide && r.x.cost.probe() { // all transfers of one block too, to learn which way is the lighter one
		f := filter{contracts: r.x.contracts, topics: []hash{topicTransfer}}
		number := r.events[last.from].block
		q.calls = append(q.calls, call{method: "eth_getLogs", params: f.params(number, number)})
	}
	receipts := make([][]event, len(open))
	q.read = func(from int, calls []call) (err error) {
		for i := range calls {
			if from+i == len(open) {
				return r.readProbe(calls[i].result, open)
			}
			t := &open[from+i]
			e := &r.events[t.from]
			if receipts[from+i], err = readReceipt(calls[i].result, e.transaction, e.blockHash); err != nil {
				return err
			}
			if !r.agree(r.events[t.from:t.to], receipts[from+i]) {
				return fmt.Errorf("the receipt of %v and its block's logs differ", e.transaction)
			}
			r.x.cost.receipt(len(calls[i].result))
		}
		return nil
	}
	if err := r.x.client.ask(ctx, q); err != nil {
		return err
	}
	for i := range open {
		pairs, _ := settle(receipts[i], r.x.tokens)
		r.keep(f, &open[i], pairs)
	}
	slices.SortStableFunc(f.Settlements, func(a, b Settlement) int {
		if a.Block != b.Block {
			return int(a.Block - b.Block)
		}
		return a.LogIndex - b.LogIndex
	})
	return nil
}

// readProbe learns from the transfers of the last of the transactions' blocks.
func (r *reading) readProbe(result []byte, open []transactionRun) error {
	s := &scanner{data: result}
	transfers, own := len(readEvents(s, nil)), 0
	for i := range open {
		if open[i].block == open[len(open)-1].block {
			own++
		}
	}
	if err := s.end(); err != nil {
		return err
	}
	r.x.cost.transfers(transfers, own)
	return nil
}

// agree says whether the range's answer holds what of a receipt it was asked for, and nothing else.
func (r *reading) agree(got, receipt []event) bool {
	asked := func(e *event) bool {
		return e.settled() || r.x.tokens[e.contract] != nil && (e.authorization() || r.wide && e.transfer())
	}
	var want, have []int64
	for i := range receipt {
		if asked(&receipt[i]) {
			want = append(want, receipt[i].index)
		}
	}
	for i := range got {
		if asked(&got[i]) {
			have = append(have, got[i].index)
		}
	}
	return slices.Equal(want, have)
}
