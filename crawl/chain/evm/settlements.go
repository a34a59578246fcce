package evm

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
)

// transactionEvents are the events of one transaction in a range.
type transactionEvents struct {
	from, to int
	block    *blockEvents
	settler  *settler // nil if no settler sent it
	sender   address
}

// findSettlements turns the events into rows. It asks for receipts if the range was read without transfers, if an
// authorisation lacks its transfer, and if another contract of x402 was used, whose transfer may be of any token.
func (r *rangeReader) findSettlements(ctx context.Context) (rangeResult, error) {
	f := rangeResult{parent: r.start.parent, events: len(r.events)}
	f.Range = ledger.Range{Scan: r.plan.scan.ID, Network: r.x.network.ID, First: r.first, Last: r.last,
		Hash: r.head.hash.String(), Time: r.head.time}
	sums := newDayCounter()
	own := make([]transactionEvents, 0, r.senders) // transactions sent by settlers
	events := 0                                    // number of their events
	for b := range r.blocks {
		run := &r.blocks[b]
		for i := range run.senders {
			s := &run.senders[i]
			t := transactionEvents{from: s.first, to: r.sameTransaction(s.first, run.to), block: run, sender: s.from,
				settler: r.plan.settlers[s.from]}
			if r.plan.scan.Counts {
				r.count(sums, &t)
			}
			if t.settler != nil {
				own = append(own, t)
				events += t.to - t.from
			}
		}
	}
	if r.transfers {
		transfers := 0
		for i := range r.events {
			if r.events[i].isTransfer() {
				transfers++
			}
		}
		r.x.costs.addTransfers(transfers, len(own))
		events /= 2 // a settlement is an authorisation and its transfer
	}
	f.Settlements = slices.Grow(f.Settlements, events)
	open := own[:0] // those whose receipts are needed
	for i := range own {
		if t := own[i]; !r.settleDirectly(&f, &t) {
			open = append(open, t)
		}
	}
	if err := r.settleByReceipt(ctx, &f, open); err != nil {
		return rangeResult{}, err
	}
	r.addMarked(&f)
	if r.plan.scan.Counts {
		f.Authorizations, f.Senders = sums.rows(r.x.tokens)
	}
	return f, nil
}

// count adds a transaction to the sums of a counting scan.
func (r *rangeReader) count(sums *dayCounter, t *transactionEvents) {
	day := dayOf(t.block.header.time).Unix()
	for i := t.from; i < t.to; i++ {
		switch e := &r.events[i]; {
		case e.isAuthorization():
			sums.seen[seenKey{e.contract, day}]++
		case t.settler == nil && e.isTransfer() && e.amount != (hash{}) && addressOf(e.topics[1]) != t.sender &&
			r.toRecipient(e):
			sums.addPayment(t.sender, e, day)
		}
	}
}

// settleDirectly finds the settlements of a transaction in the range's events. It returns false if a receipt is needed.
func (r *rangeReader) settleDirectly(f *rangeResult, t *transactionEvents) bool {
	events := r.events[t.from:t.to]
	byContract := anyOf(events, func(e *event) bool { return e.isSettled() || e.isRedemption() })
	if !byContract && !anyOf(events, (*event).isAuthorization) {
		return true // a transfer of its own
	}
	if byContract || !r.transfers {
		return false
	}
	found := settle(events, r.x.tokens, nil)
	if found.orphans > 0 || found.unclear > 0 {
		return false
	}
	r.keep(f, t, found.payments)
	return true
}

func (r *rangeReader) keep(f *rangeResult, t *transactionEvents, payments []payment) {
	for _, p := range payments {
		if row, counts := r.x.settlement(p, t.settler, t.block); counts {
			f.Settlements = append(f.Settlements, row)
		}
	}
}

// settleByReceipt asks for receipts, which contain every event of a transaction. If the measured events of a receipt
// differ from the range's, the range's answer was wrong.
func (r *rangeReader) settleByReceipt(ctx context.Context, f *rangeResult, open []transactionEvents) error {
	if len(open) == 0 {
		return nil
	}
	q := chain.Question{Prefer: r.answeredBy} // so that one node alone accounts for the amounts
	for _, t := range open {
		q.Calls = append(q.Calls, chain.Call{Method: "eth_getTransactionReceipt",
			Params: `["` + r.events[t.from].transaction.String() + `"]`})
	}
	last := &open[len(open)-1]
	if !r.transfers && r.x.costs.measureDue() { // ask for all transfers of one block too, to compare the sizes
		f := filter{contracts: r.x.contracts, topics: []hash{topicTransfer}}
		number := r.events[last.from].block
		q.Calls = append(q.Calls, chain.Call{Method: "eth_getLogs", Params: f.params(number, number)})
	}
	receipts := make([][]event, len(open))
	q.Read = func(from int, calls []chain.Call) (err error) {
		for i := range calls {
			if from+i == len(open) {
				return r.readSample(calls[i].Result, open)
			}
			t := &open[from+i]
			e := &r.events[t.from]
			if receipts[from+i], err = readReceipt(calls[i].Result, e.transaction, e.blockHash); err != nil {
				return err
			}
			if !r.matchesReceipt(r.events[t.from:t.to], receipts[from+i]) {
				return fmt.Errorf("the receipt of %v and its block's logs differ", e.transaction)
			}
			r.x.costs.addReceipt(len(calls[i].Result))
		}
		return nil
	}
	if err := r.client.Ask(ctx, q); err != nil {
		return err
	}
	results := make([]found, len(open))
	var unclear []int // indexes of open
	for i := range open {
		if results[i] = settle(receipts[i], r.x.tokens, nil); results[i].unclear > 0 {
			unclear = append(unclear, i)
		}
	}
	inputs, err := r.askInputs(ctx, open, unclear)
	if err != nil {
		return err
	}
	for i, input := range inputs {
		results[unclear[i]] = settle(receipts[unclear[i]], r.x.tokens, input)
	}
	for i := range open {
		r.keep(f, &open[i], results[i].payments)
	}
	sortSettlements(f.Settlements)
	return nil
}

// askInputs asks for the call data of some of the transactions.
func (r *rangeReader) askInputs(ctx context.Context, open []transactionEvents, some []int) ([][]byte, error) {
	q := chain.Question{Prefer: r.answeredBy} // as of receipts
	for _, i := range some {
		q.Calls = append(q.Calls, chain.Call{Method: "eth_getTransactionByHash",
			Params: `["` + r.events[open[i].from].transaction.String() + `"]`})
	}
	inputs := make([][]byte, len(some))
	q.Read = func(from int, calls []chain.Call) (err error) {
		for i := range calls {
			e := &r.events[open[some[from+i]].from]
			if inputs[from+i], err = readInput(calls[i].Result, e.transaction, e.blockHash); err != nil {
				return err
			}
		}
		return nil
	}
	return inputs, r.client.Ask(ctx, q)
}

// sortSettlements sorts by block and log.
func sortSettlements(list []ledger.Settlement) {
	slices.SortStableFunc(list, func(a, b ledger.Settlement) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.LogIndex, b.LogIndex))
	})
}

// readSample measures the ratio of transfers in the block of the last transaction.
func (r *rangeReader) readSample(result []byte, open []transactionEvents) error {
	s := chain.NewScanner(result)
	transfers, own := len(readEvents(s, nil)), 0
	for i := range open {
		if open[i].block == open[len(open)-1].block {
			own++
		}
	}
	if err := s.End(); err != nil {
		return err
	}
	r.x.costs.addTransfers(transfers, own)
	return nil
}

// matchesReceipt reports whether the range's answer contains exactly those events of a receipt that match its filters.
func (r *rangeReader) matchesReceipt(got, receipt []event) bool {
	matching := func(e *event) bool {
		return e.isSettled() || e.isRedemption() ||
			r.x.tokens[e.contract] != nil && (e.isAuthorization() || r.transfers && e.isTransfer())
	}
	var want, have []event
	for i := range receipt {
		if matching(&receipt[i]) {
			want = append(want, receipt[i])
		}
	}
	for i := range got {
		if matching(&got[i]) {
			have = append(have, got[i])
		}
	}
	return slices.Equal(want, have)
}
