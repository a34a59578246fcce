package evm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
)

// Another node is asked about one of sampleShare blocks of a range, at least about sampleLeast. Which ones they are
// nobody knows beforehand. They contain a settlement, if the range does: of blocks without events the Bloom filters are
// read from another node anyway.
const (
	sampleShare = 8
	sampleLeast = 8
)

// sample is what a node says about a part of a range, or about all of it.
type sample struct {
	read   *rangeReader
	result *rangeResult
}

// compare reads a part of the range again, each time from one other node alone, as chain.Compare says.
func (r *rangeReader) compare(ctx context.Context, f *rangeResult) error {
	blocks := r.last - r.first + 1
	size := min(max(sampleLeast, blocks/sampleShare), blocks)
	first := r.first + rand.Int64N(blocks-size+1)
	if n := len(f.Settlements); n > 0 {
		first = min(max(f.Settlements[rand.N(n)].Block-rand.Int64N(size), r.first), r.last-size+1)
	}
	ask := func(ctx context.Context, one *chain.Client) (sample, error) {
		o := &rangeReader{x: r.x, client: one, plan: r.plan, first: first, last: first + size - 1,
			transfers: r.transfers}
		result, err := o.read(ctx)
		return sample{o, &result}, err
	}
	return chain.Compare(ctx, r.client, r.answeredBy, sample{r, f}, ask, difference)
}

// difference returns how what one node says about a part of a range differs from what another says about the range, ""
// if it does not.
func difference(of, in sample) string {
	whole, part, result := of.read, in.read, in.result
	isIn := func(block int64) bool { return block >= part.first && block <= part.last }
	var events []event
	for i := range whole.events {
		if isIn(whole.events[i].block) {
			events = append(events, whole.events[i])
		}
	}
	where := fmt.Sprintf("in blocks %d to %d", part.first, part.last)
	if len(events) != len(part.events) {
		return fmt.Sprintf("%d events %s, not %d", len(part.events), where, len(events))
	}
	for i := range events {
		if events[i] != part.events[i] {
			return fmt.Sprintf("another event %d of block %d", part.events[i].index, part.events[i].block)
		}
	}
	times := whole.times()
	for number, at := range part.times() {
		if is, ok := times[number]; ok && is != at {
			return fmt.Sprintf("block %d is %s of %s, not %s of %s", number, at.hash, at.time.Format(time.RFC3339), is.hash,
				is.time.Format(time.RFC3339))
		}
	}
	settlements := slices.DeleteFunc(slices.Clone(of.result.Settlements), func(s ledger.Settlement) bool { return !isIn(s.Block) })
	if len(settlements) != len(result.Settlements) {
		return fmt.Sprintf("%d settlements %s, not %d", len(result.Settlements), where, len(settlements))
	}
	for i, s := range result.Settlements {
		if s != settlements[i] {
			return fmt.Sprintf("transaction %s pays %s of %s to %s, not %s to %s", s.Transaction, s.Amount, s.Token, s.Payee,
				settlements[i].Amount, settlements[i].Payee)
		}
	}
	return ""
}

// blockTime is what a header says about a block.
type blockTime struct {
	hash hash
	time time.Time
}

// times returns what the headers said that were read with the range, by block.
func (r *rangeReader) times() map[int64]blockTime {
	list := map[int64]blockTime{r.first: {r.start.hash, r.start.time}, r.last: {r.head.hash, r.head.time}}
	for i := range r.blocks {
		if h := &r.blocks[i].header; h.hash != (hash{}) {
			list[h.number] = blockTime{h.hash, h.time}
		}
	}
	return list
}
