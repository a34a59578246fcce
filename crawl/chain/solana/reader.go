// Package solana reads settlements from Solana: transfers of measured tokens in transactions whose fee a settler paid.
//
// It owns no rows: a Store keeps what it finds, a page of signatures with its settlements in one transaction. It must
// never know what a service is.
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

// Reader reads the settlements of one Solana network, settler by settler. A walk goes through the signatures of a
// settler from the newest to the one at which the walk before began. Each page is committed with the walk's place, so
// that a new process goes on where a killed one was. Only finalised transactions are read, and nothing takes those
// back. In its reports a signature takes the place of a block: Report.Blocks counts signatures, Progress.Behind
// settlers to go.
type Reader struct {
	network  chain.Network
	store    Store
	options  chain.Options
	client   *jsonrpc.Client
	measured map[string]bool // mints
	asking   chan struct{}   // room for each question that is under way

	mu       sync.Mutex // of the two below, and of reporting them
	progress chain.Progress
	read     int64 // transactions
}

var _ chain.Reader = (*Reader)(nil)

// What is asked for at once.
const (
	signaturePage    = 1000 // as many as a node gives
	transactionBatch = 50   // of some 10 KB each
)

// sinceMargin is how far block times, which are estimates, may run back from one block to the next.
const sinceMargin = time.Hour

// defaultPoll is the time between two rounds. Each costs a call for every settler.
const defaultPoll = time.Minute

// maxRounds is how often a round begins anew because the lists of settlers changed meanwhile.
const maxRounds = 12

// New returns a reader of a Solana network that keeps what it finds in s. It asks nothing yet.
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

// Inspect asks one address of a network for its newest finalised slot, after the address said which chain it serves:
// another chain is an error. Errors name the address by scheme and host alone.
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

// identity asks a node for the hash of its genesis block, of which CAIP-2 takes the first 32 characters.
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

// Once finishes every walk, up to the finalised slot as of now. A settler whose walk fails does not hold up the others;
// what was committed stays.
func (x *Reader) Once(ctx context.Context) (chain.Report, error) {
	release, err := chain.Lock(ctx, x.store, x.network.ID)
	if err != nil {
		return chain.Report{Network: x.network.ID}, fmt.Errorf("index %s: %w", x.network.ID, err)
	}
	defer release()
	return x.round(ctx)
}

// Run goes on until ctx ends. A round that fails is logged, and what it left is done by a later one.
func (x *Reader) Run(ctx context.Context) error {
	release, err := chain.Lock(ctx, x.store, x.network.ID)
	if err != nil {
		return fmt.Errorf("index %s: %w", x.network.ID, err)
	}
	defer release()
	for {
		if _, err := x.round(ctx); err != nil && ctx.Err() == nil {
			x.options.Logger.Warn("index", "network", x.network.ID, "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(x.network.Poll*9/10 + rand.N(x.network.Poll/5)): // not all at once
		}
	}
}

func (x *Reader) round(ctx context.Context) (chain.Report, error) {
	began := x.options.Now()
	calls, failed := x.options.Metrics.Sums(x.network.ID)
	x.mu.Lock()
	read, settlements := x.read, x.progress.Settlements
	x.progress.Network, x.progress.Block = x.network.ID, 0
	x.mu.Unlock()

	err := x.walks(ctx) // when it returns, nobody else is at work
	for tries := 1; errors.Is(err, ledger.ErrMoved) && tries < maxRounds; tries++ {
		err = x.walks(ctx) // the lists have changed meanwhile
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

func (x *Reader) walks(ctx context.Context) error {
	head, err := x.askHead(ctx)
	if err != nil {
		return err
	}
	if err := x.store.SetHead(ctx, head); err != nil {
		return err
	}
	walks, err := x.store.Walks(ctx, x.network.ID)
	if err != nil {
		return err
	}
	finished := func(p *chain.Progress, walks int64) {
		if p.Behind -= walks; p.Behind == 0 {
			p.Block = head.Block
		}
	}
	x.tell(func(p *chain.Progress) {
		p.Head, p.Behind = head.Block, int64(len(walks))
		finished(p, 0)
	})
	var begins *time.Time
	if slices.ContainsFunc(walks, unfinished) {
		if begins, err = x.askHistory(ctx); err != nil {
			return err
		}
	}
	errs := make([]error, len(walks))
	var g errgroup.Group
	g.SetLimit(x.options.Concurrency)
	for i, w := range walks {
		g.Go(func() error {
			if errs[i] = x.walk(ctx, w, head, begins); errs[i] == nil {
				x.tell(func(p *chain.Progress) { finished(p, 1) })
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
		return fmt.Errorf("%d of %d settlers: %w", len(failed), len(walks), failed[0])
	}
	if moved := errors.Join(errs...); moved != nil {
		return moved
	}
	x.options.Metrics.Update(x.network.ID, func(n *chain.NetworkMetrics) { n.BlockTime = head.Time })
	return nil
}

// tell changes the progress and passes it on.
func (x *Reader) tell(change func(*chain.Progress)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change(&x.progress)
	x.options.Progress(x.progress)
	x.options.Metrics.Update(x.network.ID,
		func(n *chain.NetworkMetrics) { n.Head, n.Behind = x.progress.Head, x.progress.Behind })
}

// unfinished says that no walk of the settler has come to its end yet.
func unfinished(w ledger.Walk) bool {
	return w.Until == "" && (w.NewestTime == nil || w.Newest != "")
}

// walk finishes the walk that is under way, if one is, and then one that begins now. history is when the nodes' begins,
// nil when it has everything.
func (x *Reader) walk(ctx context.Context, w ledger.Walk, head ledger.Head, history *time.Time) error {
	for resumed := w.Newest != ""; ; resumed = false {
		limit := signaturePage
		for done := false; !done; {
			begins := w.Newest == ""
			read, err := 0, error(nil)
			if w, read, done, err = x.step(ctx, w, head, history, limit); err != nil {
				return fmt.Errorf("settler %s: %w", w.Settler.Address, err)
			}
			limit = signaturePage
			if begins && w.Until != "" && read < signaturePage {
				limit = 1 // that should be the boundary
			}
		}
		if !resumed {
			return nil
		}
	}
}

// step reads the next page of a walk and commits it with the walk's place after it. The boundary moves only here, when
// the walk is done: it has met the boundary before, or the day since which the settler is looked for, or the end of the
// history that every node has.
func (x *Reader) step(ctx context.Context, was ledger.Walk, head ledger.Head, history *time.Time,
	limit int) (is ledger.Walk, read int, done bool, err error) {
	is = was
	if was.Newest == "" {
		is.NewestSlot, is.NewestTime = head.Block, &head.Time // as of which the walk will have seen all
	}
	p, err := x.askPage(ctx, is, limit)
	if err != nil {
		return was, 0, false, err
	}
	entries, reached := p.entries, false // reached: the day since which the settler is looked for
	for i, e := range entries {
		if x.tooOld(was.Settler, e) {
			entries, p.last, reached = entries[:i], true, true
			break
		}
	}
	if len(p.entries) > 0 {
		is.Newest = cmp.Or(was.Newest, p.entries[0].Signature)
		is.Before = p.entries[len(p.entries)-1].Signature
	}
	if p.last && !reached && unfinished(was) && history != nil && history.After(x.since(was.Settler)) {
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
	x.tell(func(t *chain.Progress) {
		t.Settlements += fresh
		x.read += int64(len(entries))
	})
	if p.forgotten {
		return is, 0, false, errors.New("no node knows the signature where the walk stood: it begins anew next time")
	}
	return is, len(p.entries), p.last, nil
}

// since is when a settler's settlements begin to be its own and of interest.
func (x *Reader) since(s ledger.ScanSettler) time.Time {
	if s.Since != nil && s.Since.After(x.network.Start) {
		return *s.Since
	}
	return x.network.Start
}

// tooOld says that a signature, and all that are older, lie before what is looked for.
func (x *Reader) tooOld(s ledger.ScanSettler, e signatureEntry) bool {
	return e.BlockTime != nil && time.Unix(*e.BlockTime, 0).Before(x.since(s).Add(-sinceMargin))
}
