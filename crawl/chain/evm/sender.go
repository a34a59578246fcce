package evm

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"tollbook/crawl/chain"
)

// sender is the sender of a transaction, once it is known.
type sender struct {
	sent
	resolved bool
	first    int // of its events
}

// needsSender reports whether the sender of an event's transaction is needed.
func (r *rangeReader) needsSender(e *event) bool {
	if e.isAuthorization() || e.isSettled() || e.isRedemption() && r.x.tokens[addressOf(e.topics[2])] != nil {
		return true
	}
	return r.plan.scan.Counts && e.isTransfer() && e.amount != (hash{}) && r.toRecipient(e)
}

func (r *rangeReader) toRecipient(e *event) bool {
	_, resolved := slices.BinarySearchFunc(r.plan.recipients, e.topics[2], compareHashes)
	return resolved
}

// anyOf reports whether a condition is true for any event. Events are too large to be passed by value.
func anyOf(events []event, is func(*event) bool) bool {
	for i := range events {
		if is(&events[i]) {
			return true
		}
	}
	return false
}

func compareHashes(a, b hash) int { return bytes.Compare(a[:], b[:]) }

// sameTransaction returns the end of the events of the same transaction as event from, at most limit.
func (r *rangeReader) sameTransaction(from, limit int) int {
	to := from + 1
	for to < limit && r.events[to].transaction == r.events[from].transaction {
		to++
	}
	return to
}

// askSenders asks for the senders of transactions and for the headers of their blocks: by whole block, or by header and
// transaction, whichever is smaller. The node that gave the events is asked first, so that compare has the account of one
// node.
func (r *rangeReader) askSenders(ctx context.Context) error {
	q := chain.Question{Source: r.answeredBy, Prefer: r.answeredBy}
	var readers []func(result []byte) error
	senders := make([]sender, 0, len(r.events)/2+1) // for all blocks, to save an allocation for each
	for b := range r.blocks {
		run := &r.blocks[b]
		first := &r.events[run.from]
		before := len(senders)
		for from, to := run.from, 0; from < run.to; from = to {
			to = r.sameTransaction(from, run.to)
			if anyOf(r.events[from:to], r.needsSender) {
				senders = append(senders, sender{sent: sent{transaction: r.events[from].transaction}, first: from})
			}
		}
		run.senders = senders[before:]
		if len(run.senders) == 0 && !r.hasMark(run) {
			continue
		}
		whole := len(run.senders) > 0 && r.x.costs.blockIsLighter(len(run.senders))
		q.Calls = append(q.Calls, blockCall(first.block, whole))
		readers = append(readers, func(result []byte) error { return r.readBlock(run, result, whole) })
		if whole {
			continue
		}
		for i := range run.senders {
			s := &run.senders[i]
			q.Calls = append(q.Calls, chain.Call{Method: "eth_getTransactionByHash",
				Params: `["` + s.transaction.String() + `"]`})
			readers = append(readers, func(result []byte) error { return s.read(result, first.blockHash) })
		}
	}
	r.senders = len(senders)
	if err := r.ask(ctx, q, readers); err != nil {
		return err
	}
	return r.askBlooms(ctx)
}

// askBlooms asks another node for the headers of some blocks without events, to check their Bloom filters.
func (r *rangeReader) askBlooms(ctx context.Context) error {
	q := chain.Question{Source: r.answeredBy}
	var readers []func(result []byte) error
	var doubtful []int64
	for _, number := range r.emptyBlocks() {
		q.Calls = append(q.Calls, blockCall(number, false))
		readers = append(readers, func(result []byte) error {
			h, err := r.x.readNumbered(result, number)
			if err == nil && r.mayContainEvents(&h) {
				doubtful = append(doubtful, number)
			}
			return err
		})
	}
	if err := r.ask(ctx, q, readers); err != nil {
		return err
	}
	return r.checkEmpty(ctx, doubtful)
}

// ask sends a question, and reads each result by its reader.
func (r *rangeReader) ask(ctx context.Context, q chain.Question, readers []func(result []byte) error) error {
	if len(q.Calls) == 0 {
		return nil
	}
	q.Read = func(from int, calls []chain.Call) error {
		for i := range calls {
			if err := readers[from+i](calls[i].Result); err != nil {
				return err
			}
		}
		return nil
	}
	return r.client.Ask(ctx, q)
}

// readBlock reads the header of a block with events, and the senders if the answer contains the transactions.
func (r *rangeReader) readBlock(run *blockEvents, result []byte, whole bool) error {
	e := &r.events[run.from]
	transactions, next, missing := 0, 0, 0
	var each func(sent)
	if whole {
		for i := range run.senders {
			run.senders[i].resolved = false // an earlier answer came from another node
		}
		missing = len(run.senders)
		each = func(t sent) {
			transactions++
			for range run.senders { // find the transaction; usually it is the next one
				s := &run.senders[next%len(run.senders)]
				next++
				if s.transaction == t.transaction && !s.resolved {
					s.sent, s.resolved = t, true
					missing--
					return
				}
			}
		}
	}
	h, size, err := readHeader(result, each)
	if err != nil {
		return err
	}
	if h.number != e.block || h.hash != e.blockHash {
		return fmt.Errorf("block %d has another hash than its logs", e.block)
	}
	if h.time.Before(r.start.time) || h.time.After(r.head.time) {
		return fmt.Errorf("block %d is dated %s, and blocks %d to %d are dated %s to %s", h.number,
			h.time.Format(time.RFC3339), r.first, r.last, r.start.time.Format(time.RFC3339),
			r.head.time.Format(time.RFC3339))
	}
	if missing > 0 {
		return fmt.Errorf("block %d lacks transactions of its logs", e.block)
	}
	run.header = h
	r.x.costs.addBlock(whole, size, transactions)
	return nil
}

// read reads the answer for one transaction of a block.
func (s *sender) read(result []byte, block hash) error {
	in := chain.NewScanner(result)
	if in.Null() {
		return errNull
	}
	t, of := readSent(in)
	if err := in.End(); err != nil {
		return fmt.Errorf("read a transaction: %w", err)
	}
	if t.transaction != s.transaction || of != block {
		return fmt.Errorf("got another transaction than %v, or from another block", s.transaction)
	}
	s.sent, s.resolved = t, true
	return nil
}
