package crawl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres"
)

// Indexer keeps what settlements the chains tell. Each network is worked on by itself: one that fails does not hold up
// the others.
type Indexer struct {
	networks []network
	o        chain.Options
}

// network is the reader of one chain.
type network struct {
	id     string
	reader interface {
		Once(ctx context.Context) (chain.Report, error)
		Run(ctx context.Context) error
	}
}

// NewIndexer prepares to index networks into db.
func NewIndexer(db *postgres.DB, networks []chain.Network, o chain.Options) (*Indexer, error) {
	x := &Indexer{o: o}
	seen := map[string]bool{}
	for _, n := range networks {
		if seen[n.ID] {
			return nil, fmt.Errorf("network %s stands twice", n.ID)
		}
		seen[n.ID] = true
		one, err := network{id: n.ID}, error(nil)
		switch {
		case strings.HasPrefix(n.ID, "eip155:"):
			one.reader, err = chain.NewEVM(n, indexStore{db}, o)
		case strings.HasPrefix(n.ID, "solana:"):
			one.reader, err = chain.NewSolana(n, indexStore{db}, o)
		default:
			err = fmt.Errorf("network %s: settlements are read from EVM chains (eip155:…) and Solana (solana:…) alone", n.ID)
		}
		if err != nil {
			return nil, err
		}
		x.networks = append(x.networks, one)
	}
	return x, nil
}

// Once indexes every network up to its confirmed head, and answers a report of each, in the order they were given. Its
// error joins those of the networks that failed, each of which names its network.
func (x *Indexer) Once(ctx context.Context) ([]chain.Report, error) {
	reports, errs := make([]chain.Report, len(x.networks)), make([]error, len(x.networks))
	var g sync.WaitGroup
	for i, n := range x.networks {
		g.Go(func() { reports[i], errs[i] = n.reader.Once(ctx) })
	}
	g.Wait()
	if ctx.Err() != nil {
		return reports, ctx.Err()
	}
	return reports, errors.Join(errs...)
}

// Networks are the ids of the networks, in the order they were given.
func (x *Indexer) Networks() []string {
	return convert(x.networks, func(n network) string { return n.id })
}

// OnceOf indexes one of the networks up to its confirmed head.
func (x *Indexer) OnceOf(ctx context.Context, id string) (chain.Report, error) {
	for _, n := range x.networks {
		if n.id == id {
			return n.reader.Once(ctx)
		}
	}
	return chain.Report{}, fmt.Errorf("network %s is not indexed here", id)
}

// indexAgain is the time after which a network is tried anew whose indexer gave up: another one was at work on it, or
// its nodes have nothing in common with what was committed.
const indexAgain = 30 * time.Second

// Run goes on indexing every network until ctx ends.
func (x *Indexer) Run(ctx context.Context) error {
	var g sync.WaitGroup
	for _, n := range x.networks {
		g.Go(func() {
			for ctx.Err() == nil {
				if err := n.reader.Run(ctx); err != nil && ctx.Err() == nil && x.o.Logger != nil {
					x.o.Logger.Error("indexing stopped, and is tried again", "network", n.id, "after", indexAgain, "error", err)
				}
				select {
				case <-ctx.Done():
				case <-time.After(indexAgain):
				}
			}
		})
	}
	g.Wait()
	return ctx.Err()
}

// indexStore is Postgres as readers of chains see it.
type indexStore struct{ db *postgres.DB }

var _ chain.Store = indexStore{}

// moved gives a refusal the name that readers know.
func moved(err error) error {
	if errors.Is(err, postgres.ErrMoved) {
		return fmt.Errorf("%w: %w", chain.ErrMoved, err)
	}
	return err
}

// convert makes a list of one package's type of the other's.
func convert[To, From any](list []From, one func(From) To) []To {
	out := make([]To, len(list))
	for i, v := range list {
		out[i] = one(v)
	}
	return out
}

func toSettler(s postgres.ScanSettler) chain.ScanSettler { return chain.ScanSettler(s) }

func (s indexStore) NewSettlers(ctx context.Context, network string) ([]chain.ScanSettler, error) {
	list, err := s.db.NewSettlers(ctx, network)
	return convert(list, toSettler), err
}

func (s indexStore) OpenScans(ctx context.Context, network string, settlers []chain.ScanSettler, first int64, firstTime time.Time, head int64) error {
	list := convert(settlers, func(s chain.ScanSettler) postgres.ScanSettler { return postgres.ScanSettler(s) })
	return s.db.OpenScans(ctx, network, list, first, firstTime, head)
}

func (s indexStore) Scans(ctx context.Context, network string) ([]chain.Scan, error) {
	list, err := s.db.Scans(ctx, network)
	return convert(list, func(s postgres.Scan) chain.Scan {
		return chain.Scan{ID: s.ID, Network: s.Network, Next: s.Next, End: s.End, Counts: s.Counts, Settlers: convert(s.Settlers, toSettler)}
	}), err
}

func (s indexStore) CommitRanges(ctx context.Context, ranges ...chain.Range) (int64, error) {
	fresh, err := s.db.CommitRanges(ctx, convert(ranges, func(r chain.Range) postgres.Range {
		return postgres.Range{
			Scan: r.Scan, Network: r.Network, First: r.First, Last: r.Last, Hash: r.Hash, Time: r.Time, Settlements: settlements(r.Settlements),
			Seen:    convert(r.Seen, func(d chain.SeenDay) postgres.SeenDay { return postgres.SeenDay(d) }),
			Senders: convert(r.Senders, func(d chain.SenderDay) postgres.SenderDay { return postgres.SenderDay(d) }),
		}
	})...)
	return fresh, moved(err)
}

func settlements(list []chain.Settlement) []postgres.Settlement {
	return convert(list, func(s chain.Settlement) postgres.Settlement { return postgres.Settlement(s) })
}

func (s indexStore) RangeEnds(ctx context.Context, network string) ([]chain.RangeEnd, error) {
	list, err := s.db.RangeEnds(ctx, network)
	return convert(list, func(e postgres.RangeEnd) chain.RangeEnd { return chain.RangeEnd(e) }), err
}

func (s indexStore) RollBack(ctx context.Context, network string, ancestor int64) (int64, error) {
	return s.db.RollBack(ctx, network, ancestor)
}

func (s indexStore) SetHead(ctx context.Context, h chain.Head) error {
	return s.db.SetHead(ctx, postgres.Head(h))
}

func (s indexStore) Recipients(ctx context.Context, network string) ([]string, error) {
	return s.db.Recipients(ctx, network)
}

func (s indexStore) LockIndex(ctx context.Context, network string) (func(), bool, error) {
	return s.db.LockIndex(ctx, network)
}

func (s indexStore) Walks(ctx context.Context, network string) ([]chain.Walk, error) {
	list, err := s.db.Walks(ctx, network)
	return convert(list, func(w postgres.Walk) chain.Walk {
		return chain.Walk{
			Settler: toSettler(w.Settler), Until: w.Until, Newest: w.Newest, Before: w.Before, NewestSlot: w.NewestSlot, NewestTime: w.NewestTime, Floor: w.Floor,
		}
	}), err
}

func (s indexStore) CommitWalk(ctx context.Context, network string, was, is chain.Walk, list []chain.Settlement) (int64, error) {
	fresh, err := s.db.CommitWalk(ctx, network, walk(was), walk(is), settlements(list))
	return fresh, moved(err)
}

func walk(w chain.Walk) postgres.Walk {
	return postgres.Walk{
		Settler: postgres.ScanSettler(w.Settler), Until: w.Until, Newest: w.Newest, Before: w.Before, NewestSlot: w.NewestSlot, NewestTime: w.NewestTime, Floor: w.Floor,
	}
}
