// This file reads networks whose nodes list the transactions of an account: it runs rounds of walks, one for each
// settler, and commits what they read. The packages solana and stellar say what a page and a settlement are.
//
// It stores nothing itself: a Store stores each page with its settlements in one transaction. It must never know a
// chain's protocol.

package chain

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
)

// WalkStore stores a reader's settlements; *postgres.DB is one. Every method is one transaction. A crash between two of
// them loses nothing.
type WalkStore interface {
	Locker
	// SetHead stores the newest final block, from which the lag of the walks is computed.
	SetHead(ctx context.Context, h ledger.Head) error
	// Walks returns the walks of a network's settlers, by address.
	Walks(ctx context.Context, network string) ([]ledger.Walk, error)
	// CommitWalk stores settlements and moves a walk. It returns ledger.ErrMoved if the stored walk differs from was.
	CommitWalk(ctx context.Context, network string, was, is ledger.Walk, settlements []ledger.Settlement) (
		fresh int64, err error)
}

var _ WalkStore = (*postgres.DB)(nil)

// walkSource is what differs between chains.
type walkSource interface {
	// Head asks c's nodes for the newest final block.
	Head(ctx context.Context, c *Client) (ledger.Head, error)
	// Time asks c's nodes for the time of a final block. A node that does not have it fails.
	Time(ctx context.Context, c *Client, block int64) (time.Time, error)
	// Begin returns the function that finishes the walk of one settler up to the head. Several goroutines call it.
	Begin(ctx context.Context, head ledger.Head, walks []ledger.Walk) (func(context.Context, ledger.Walk) error, error)
}

// WalkReader reads the settlements of one network, settler by settler. Each page is committed with the walk's
// position, so that a new process continues where a killed one stopped. In reports, transactions take the place of
// blocks: Report.Blocks counts transactions, Progress.Behind the settlers still to read.
type WalkReader struct {
	network Network
	store   WalkStore
	options Options
	client  *Client
	source  walkSource

	mu       sync.Mutex // guards the two fields below and calls of Progress
	progress Progress
	read     int64 // transactions
}

var _ Reader = (*WalkReader)(nil)

// maxRounds is the number of times that a round restarts because the lists of settlers changed meanwhile.
const maxRounds = 12

// NewWalks returns a reader of a network. The network and the options have their defaults. Source asks c, too.
func NewWalks(n Network, s WalkStore, o Options, c *Client, source walkSource) *WalkReader {
	return &WalkReader{network: n, store: s, options: o, client: c, source: source}
}

// Once finishes every walk, up to the current head. A settler whose walk fails does not stop the others, and committed
// pages stay.
func (x *WalkReader) Once(ctx context.Context) (Report, error) {
	release, err := Lock(ctx, x.store, x.network.ID)
	if err != nil {
		return Report{Network: x.network.ID}, fmt.Errorf("index %s: %w", x.network.ID, err)
	}
	defer release()
	return x.runRound(ctx)
}

// Run reads until ctx ends. It logs a failed round; a later round does what it left.
func (x *WalkReader) Run(ctx context.Context) error {
	release, err := Lock(ctx, x.store, x.network.ID)
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

func (x *WalkReader) runRound(ctx context.Context) (Report, error) {
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
	r := Report{Network: x.network.ID, Blocks: x.read - read, Settlements: x.progress.Settlements - settlements,
		Took: x.options.Now().Sub(began)}
	r.Calls, r.Errors = x.options.Metrics.Sums(x.network.ID)
	r.Calls, r.Errors = r.Calls-calls, r.Errors-failed
	if err != nil {
		return r, fmt.Errorf("index %s: %w", x.network.ID, err)
	}
	return r, nil
}

func (x *WalkReader) runWalks(ctx context.Context) error {
	head, err := x.askHead(ctx)
	if err != nil {
		return err
	}
	head.ComparedNodes = x.client.Nodes()
	if err := x.store.SetHead(ctx, head); err != nil {
		return err
	}
	walks, err := x.store.Walks(ctx, x.network.ID)
	if err != nil {
		return err
	}
	finished := func(p *Progress, walks int64) {
		if p.Behind -= walks; p.Behind == 0 {
			p.Block = head.Block
		}
	}
	x.report(func(p *Progress) {
		p.Head, p.Behind = head.Block, int64(len(walks))
		finished(p, 0)
	})
	run, err := x.source.Begin(ctx, head, walks)
	if err != nil {
		return err
	}
	errs := make([]error, len(walks))
	var g errgroup.Group
	g.SetLimit(x.options.Concurrency)
	for i, w := range walks {
		g.Go(func() error {
			if errs[i] = run(ctx, w); errs[i] == nil {
				x.report(func(p *Progress) { finished(p, 1) })
			} else {
				errs[i] = fmt.Errorf("settler %s: %w", w.Settler.Address, errs[i])
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
	x.options.Metrics.Update(x.network.ID, func(n *NetworkMetrics) { n.BlockTime = head.Time })
	return nil
}

// Commit stores the settlements of a page of read transactions, and moves the walk.
func (x *WalkReader) Commit(ctx context.Context, was, is ledger.Walk, list []ledger.Settlement, read int) error {
	fresh, err := x.store.CommitWalk(ctx, x.network.ID, was, is, list)
	if err != nil {
		return err
	}
	x.options.Metrics.Update(x.network.ID, func(n *NetworkMetrics) { n.Settlements += fresh })
	x.report(func(t *Progress) {
		t.Settlements += fresh
		x.read += int64(read)
	})
	return nil
}

// report changes the progress and reports it.
func (x *WalkReader) report(change func(*Progress)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change(&x.progress)
	x.options.Progress(x.progress)
	x.options.Metrics.Update(x.network.ID,
		func(n *NetworkMetrics) { n.Head, n.Behind = x.progress.Head, x.progress.Behind })
}

// IsUnfinished reports whether no walk of the settler is complete yet.
func IsUnfinished(w ledger.Walk) bool {
	return w.Until == "" && (w.NewestTime == nil || w.Newest != "")
}

// FirstTime returns the time from which a settler's settlements on a network count.
func FirstTime(n Network, s ledger.ScanSettler) time.Time {
	if s.Since != nil && s.Since.After(n.Start) {
		return *s.Since
	}
	return n.Start
}
