// Package solana reads settlements from Solana: transfers of measured tokens in transactions whose fee a settler paid.
//
// WalkReader runs its rounds and commits each page of signatures with its settlements. The package must never know
// what a service is.
package solana

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
)

// Reader reads the settlements of one Solana network, settler by settler. A walk reads the signatures of a settler from
// the newest back to the one at which the previous walk began. Only finalised transactions are read, so nothing is
// rolled back.
type Reader struct {
	*chain.WalkReader
	network  chain.Network
	options  chain.Options
	client   *chain.Client
	measured map[string]bool // mints
	asking   chan struct{}   // one for each running question
}

// Sizes of requests.
const (
	signaturePage    = 1000 // the most that a node returns
	transactionBatch = 50   // of some 10 KB each
)

// genesis is the beginning of Solana's main network.
var genesis = time.Date(2020, 3, 16, 14, 29, 0, 0, time.UTC)

// sinceMargin is the most by which block times, which are estimates, may decrease from one block to the next.
const sinceMargin = time.Hour

// defaultPoll is the time between two rounds. A round costs one call for every settler.
const defaultPoll = time.Minute

// New returns a reader of a Solana network that stores settlements in s. It sends nothing.
func New(n chain.Network, s chain.WalkStore, o chain.Options) (*Reader, error) {
	n, err := n.WithDefaults("solana", defaultPoll)
	if err != nil {
		return nil, err
	}
	x := &Reader{network: n, options: o.WithDefaults(), measured: map[string]bool{}}
	for _, t := range n.Tokens {
		x.measured[t.Address] = true
	}
	x.asking = make(chan struct{}, x.options.Concurrency)
	x.client, err = chain.NewClient(n, identity(), x.options)
	x.WalkReader = chain.NewWalks(n, s, x.options, x.client, x)
	return x, err
}

// Inspect asks one node of a network, at the URL address, for its newest finalised slot. It fails if the node serves
// another chain. Errors name the node by scheme and host alone.
func Inspect(ctx context.Context, network, address string, o chain.Options) (ledger.Head, error) {
	n := chain.Network{ID: network, RPC: []string{address}}
	o = o.WithDefaults()
	c, err := chain.NewClient(n, identity(), o)
	if err != nil {
		return ledger.Head{Network: network}, err
	}
	head, err := (&Reader{network: n, options: o}).Head(ctx, c)
	if err != nil {
		return head, fmt.Errorf("ask a node of %s for its newest slot: %w", network, err)
	}
	return head, nil
}

// identity returns the call for the hash of the genesis block. A CAIP-2 id has its first 32 characters.
func identity() chain.Identity {
	return chain.Identity{
		Call: newCall("getGenesisHash"),
		Network: func(result []byte) (string, error) {
			s := chain.NewScanner(result)
			hash := string(s.Text())
			return "solana:" + hash[:min(len(hash), 32)], s.Err
		},
	}
}

// Begin asks how far back the nodes' history goes, if a settler has no complete walk yet.
func (x *Reader) Begin(ctx context.Context, head ledger.Head, walks []ledger.Walk) (
	run func(context.Context, ledger.Walk) error, err error) {
	var begins *time.Time
	if slices.ContainsFunc(walks, chain.IsUnfinished) {
		if begins, err = x.askHistory(ctx); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, w ledger.Walk) error { return x.runWalk(ctx, w, head, begins) }, nil
}

// runWalk finishes the settler's open walk, if there is one, and then a new one. history is the beginning of the nodes'
// history, nil if it is complete.
func (x *Reader) runWalk(ctx context.Context, w ledger.Walk, head ledger.Head, history *time.Time) error {
	for resumed := w.Newest != ""; ; resumed = false {
		limit := signaturePage
		for done := false; !done; {
			begins := w.Newest == ""
			read, err := 0, error(nil)
			if w, read, done, err = x.runStep(ctx, w, head, history, limit); err != nil {
				return err
			}
			limit = signaturePage
			if begins && w.Until != "" && read < signaturePage {
				limit = 1 // the next signature should be the boundary
			}
		}
		if !resumed {
			return nil
		}
	}
}

// runStep reads the next page of a walk and commits it with the walk's new position. Only the last step of a walk moves
// the boundary: the walk has met the previous boundary, the first day of the settler, or the end of every node's
// history.
func (x *Reader) runStep(ctx context.Context, was ledger.Walk, head ledger.Head, history *time.Time,
	limit int) (is ledger.Walk, read int, done bool, err error) {
	is = was
	if was.Newest == "" {
		is.NewestSlot, is.NewestTime = head.Block, &head.Time // the walk will be complete up to here
	}
	p, err := x.askPage(ctx, is, limit)
	if err != nil {
		return was, 0, false, err
	}
	entries, reached := p.entries, false // reached the settler's first day
	for i, e := range entries {
		if x.isTooOld(was.Settler, e) {
			entries, p.last, reached = entries[:i], true, true
			break
		}
	}
	if len(p.entries) > 0 {
		is.Newest = cmp.Or(was.Newest, p.entries[0].Signature)
		is.Before = p.entries[len(p.entries)-1].Signature
	}
	if p.last && !reached && chain.IsUnfinished(was) && history != nil && history.After(x.firstTime(was.Settler)) {
		is.HistoryStart = history
	}
	switch {
	case p.last:
		is.Until, is.Newest, is.Before = cmp.Or(is.Newest, was.Until), "", ""
	case p.forgotten:
		is = ledger.Walk{Settler: was.Settler, Until: was.Until, HistoryStart: was.HistoryStart}
	}
	list, err := x.askSettlements(ctx, was.Settler, entries)
	if err != nil {
		return was, 0, false, err
	}
	if err := x.Commit(ctx, was, is, list, len(entries)); err != nil {
		return was, 0, false, err
	}
	if p.forgotten {
		return is, 0, false,
			errors.New("no node has the signature at the walk's position; the next round restarts the walk")
	}
	return is, len(p.entries), p.last, nil
}

// firstTime returns the time from which a settler's settlements count.
func (x *Reader) firstTime(s ledger.ScanSettler) time.Time {
	return chain.FirstTime(x.network, s)
}

// isTooOld reports whether a signature and all older ones are before the settler's first day.
func (x *Reader) isTooOld(s ledger.ScanSettler, e signatureEntry) bool {
	return e.BlockTime != nil && time.Unix(*e.BlockTime, 0).Before(x.firstTime(s).Add(-sinceMargin))
}
