// Package solana reads settlements from Solana: transfers of measured tokens in transactions whose fee a settler paid.
//
// It stores nothing itself: a Store stores each page of signatures with its settlements in one transaction. The package
// must never know what a service is.
package solana

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/jsonrpc"
	"tollbook/site/postgres/ledger"

	"golang.org/x/sync/errgroup"
)

// Reader reads the settlements of one Solana network, settler by settler. A walk reads the signatures of a settler from
// the newest back to the one at which the previous walk began. Each page is committed with the walk's position, so that
// a new process continues where a killed one stopped. Only finalised transactions are read, so nothing is rolled back.
// In reports, signatures take the place of blocks: Report.Blocks counts signatures, Progress.Behind the settlers still
// to read.
type Reader struct {
	network  chain.Network
	store    Store
	options  chain.Options
	client   *jsonrpc.Client
	measured map[string]bool // mints
	asking   chan struct{}   // one for each running question

	mu       sync.Mutex // guards the two fields below and calls of Progress
	progress chain.Progress
	read     int64 // transactions
}

var _ chain.Reader = (*Reader)(nil)

// Sizes of requests.
const (
	signaturePage    = 1000 // the most that a node returns
	transactionBatch = 50   // of some 10 KB each
)

// sinceMargin is the most by which block times, which are estimates, may decrease from one block to the next.
const sinceMargin = time.Hour

// defaultPoll is the time between two rounds. A round costs one call for every settler.
const defaultPoll = time.Minute

// maxRounds is the number of times that a round restarts because the lists of settlers changed meanwhile.
const maxRounds = 12

// New returns a reader of a Solana network that stores settlements in s. It sends nothing.
func New(n chain.Network, s Store, o chain.Options) (*Reader, error) {
	n, err := n.WithDefaults("solana", defaultPoll)
	if err != nil {
		return nil, err
	}
	x := &Reader{network: n, store: s, options: o.WithDefaults(), measured: map[string]bool{}}
	for _, t := range n.Tokens {
		x.measured[t.Address] = true
	}
	x.asking = make(chan struct{}, x.options.Concurrency)
	x.client, err = jsonrpc.New(n, identity(), x.options)
	return x, err
}

// Inspect asks one node of a network, at the URL address, for its newest finalised slot. It fails if the node serves
// another chain. Errors name the node by scheme and host alone.
func Inspect(ctx context.Context, network, address string, o chain.Options) (ledger.Head, error) {
	n := chain.Network{ID: network, RPC: []string{address}}
	o = o.WithDefaults()
	c, err := jsonrpc.New(n, identity(), o)
	if err != nil {
		return ledger.Head{Network: network}, err
	}
	head, err := (&Reader{network: n, client: c, options: o}).askHead(ctx)
	if err != nil {
		return head, fmt.Errorf("ask a node of %s for its newest slot: %w", network, err)
	}
	return head, nil
}

// identity returns the call for the hash of the genesis block. A CAIP-2 id has its first 32 characters.
func identity() jsonrpc.Identity {
	return jsonrpc.Identity{
		Call: newCall("getGenesisHash"),
		Network: func(result []byte) (string, error) {
			s := jsonrpc.NewScanner(result)
			hash := string(s.Text())
			return "solana:" + hash[:min(len(hash), 32)], s.Err
		},
	}
}

// Once finishes every walk, up to the current finalised slot. A settler whose walk fails does not stop the others, and
// committed pages stay.
func (x *Reader) Once(ctx context.Context) (chain.Report, error) {
	release, err := chain.Lock(ctx, x.store, x.network.ID)
	if err != nil {
		return chain.Report{Network: x.network.ID}, fmt.Errorf("index %s: %w", x.network.ID, err)
	}
	defer release()
	return x.runRound(ctx)
}

// Run reads until ctx ends. It logs a failed round; a later round does what it left.
func (x *Reader) Run(ctx context.Context) error {
	release, err := chain.Lock(ctx, x.store, x.network.ID)
	if err != nil {
		return fmt.Errorf("index %s: %w", x.network.ID, err)
	}
	defer release()
	for {
		if _, err := x.runRound(ctx); err != nil && ctx.Err() == nil {
			x.options.Logger.Warn("indexing failed; trying again at the next poll", "network", x.network.ID, "error",
				err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(x.network.Poll*9/10 + rand.N(x.network.Poll/5)): // spreads processes out
		}
	}
}

func (x *Reader) runRound(ctx context.Context) (chain.Report, error) {
	began := x.options.Now()
	calls, failed := x.options.Metrics.Sums(x.network.ID)
	x.mu.Lock()
	read, settlements := x.read, x.progress.Settlements
	x.progress.Network, x.progress.Block = x.network.ID, 0
	x.mu.Unlock()

	err := x.runWalks(ctx) // returns after all its goroutines
	for tries := 1; errors.Is(err, ledger.ErrMoved) && tries < maxRounds; tries++ {
		err = x.runWalks(ctx) // the lists changed meanwhile
	}
	r := chain.Report{Network: x.network.ID, Blocks: x.read - read, Settlements: x.progress.Settlements - settlements,
		Took: x.options.Now().Sub(began)}
	r.Calls, r.Errors = x.options.Metrics.Sums(x.network.ID)
	r.Calls, r.Errors = r.Calls-calls, r.Errors-failed
	if err != nil {
		return r, fmt.Errorf("index %s: %w", x.network.ID, err)
	}
	return r, nil
}

func (x *Reader) runWalks(ctx context.Context) error {
	head, err := x.askHead(ctx)
	if err != nil {
		return err
	}
	if err := x.store.SetHead(ctx, head); err != nil {
		return err
	}
	runWalks, err := x.store.Walks(ctx, x.network.ID)
	if err != nil {
		return err
	}
	finished := func(p *chain.Progress, runWalks int64) {
		if p.Behind -= runWalks; p.Behind == 0 {
			p.Block = head.Block
		}
	}
	x.report(func(p *chain.Progress) {
		p.Head, p.Behind = head.Block, int64(len(runWalks))
		finished(p, 0)
	})
	var begins *time.Time
	if slices.ContainsFunc(runWalks, isUnfinished) {
		if begins, err = x.askHistory(ctx); err != nil {
			return err
		}
	}
	errs := make([]error, len(runWalks))
	var g errgroup.Group
	g.SetLimit(x.options.Concurrency)
	for i, w := range runWalks {
		g.Go(func() error {
			if errs[i] = x.runWalk(ctx, w, head, begins); errs[i] == nil {
				x.report(func(p *chain.Progress) { finished(p, 1) })
			}
			return nil
		})
	}
	_ = g.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	failed := slices.DeleteFunc(slices.Clone(errs),
		func(err error) bool { return err == nil || errors.Is(err, ledger.ErrMoved) })
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d settlers: %w", len(failed), len(runWalks), failed[0])
	}
	if moved := errors.Join(errs...); moved != nil {
		return moved
	}
	x.options.Metrics.Update(x.network.ID, func(n *chain.NetworkMetrics) { n.BlockTime = head.Time })
	return nil
}

// report changes the progress and reports it.
func (x *Reader) report(change func(*chain.Progress)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change(&x.progress)
	x.options.Progress(x.progress)
	x.options.Metrics.Update(x.network.ID,
		func(n *chain.NetworkMetrics) { n.Head, n.Behind = x.progress.Head, x.progress.Behind })
}

// isUnfinished reports whether no walk of the settler is complete yet.
func isUnfinished(w ledger.Walk) bool {
	return w.Until == "" && (w.NewestTime == nil || w.Newest != "")
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
				return fmt.Errorf("settler %s: %w", w.Settler.Address, err)
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
	if p.last && !reached && isUnfinished(was) && history != nil && history.After(x.firstTime(was.Settler)) {
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
	fresh, err := x.store.CommitWalk(ctx, x.network.ID, was, is, list)
	if err != nil {
		return was, 0, false, err
	}
	x.options.Metrics.Update(x.network.ID, func(n *chain.NetworkMetrics) { n.Settlements += fresh })
	x.report(func(t *chain.Progress) {
		t.Settlements += fresh
		x.read += int64(len(entries))
	})
	if p.forgotten {
		return is, 0, false,
			errors.New("no node has the signature at the walk's position; the next round restarts the walk")
	}
	return is, len(p.entries), p.last, nil
}

// firstTime returns the time from which a settler's settlements count.
func (x *Reader) firstTime(s ledger.ScanSettler) time.Time {
	if s.Since != nil && s.Since.After(x.network.Start) {
		return *s.Since
	}
	return x.network.Start
}

// isTooOld reports whether a signature and all older ones are before the settler's first day.
func (x *Reader) isTooOld(s ledger.ScanSettler, e signatureEntry) bool {
	return e.BlockTime != nil && time.Unix(*e.BlockTime, 0).Before(x.firstTime(s).Add(-sinceMargin))
}
