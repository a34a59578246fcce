package crawl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/evm"
	"tollbook/crawl/chain/solana"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
)

// Indexer stores the settlements of chains. Each network has its own goroutine and reader: one that fails does not hold
// up the others.
type Indexer struct {
	networks []network
	o        chain.Options
}

// network is the reader of one chain.
type network struct {
	id     string
	reader chain.Reader
}

// chainKinds are the kinds of chains that can be read, by the namespace of their CAIP-2 id.
var chainKinds = map[string]struct {
	open    func(chain.Network, *postgres.DB, chain.Options) (chain.Reader, error)
	inspect func(ctx context.Context, network, address string, o chain.Options) (ledger.Head, error)
}{
	"eip155": {
		func(n chain.Network, db *postgres.DB, o chain.Options) (chain.Reader, error) {
			return evm.New(n, db, o)
		},
		evm.Inspect,
	},
	"solana": {
		func(n chain.Network, db *postgres.DB, o chain.Options) (chain.Reader, error) {
			return solana.New(n, db, o)
		},
		solana.Inspect,
	},
}

// InspectNode asks one address of a network for its newest block, on Solana for its newest finalised slot. An address
// that serves another chain is an error. Errors name the address by scheme and host alone.
func InspectNode(ctx context.Context, network, address string, o chain.Options) (ledger.Head, error) {
	namespace, _, _ := strings.Cut(network, ":")
	kind, known := chainKinds[namespace]
	if !known {
		return ledger.Head{}, fmt.Errorf("ask a node of %s: want a network of namespace eip155 or solana", network)
	}
	return kind.inspect(ctx, network, address, o)
}

// NewIndexer returns an indexer of networks that stores settlements in db.
func NewIndexer(db *postgres.DB, networks []chain.Network, o chain.Options) (*Indexer, error) {
	x := &Indexer{o: o}
	seen := map[string]bool{}
	for _, n := range networks {
		if seen[n.ID] {
			return nil, fmt.Errorf("network %s stands twice", n.ID)
		}
		seen[n.ID] = true
		namespace, _, _ := strings.Cut(n.ID, ":")
		kind, known := chainKinds[namespace]
		if !known {
			return nil, fmt.Errorf("network %s: settlements are read from EVM chains (eip155:…) and Solana "+
				"(solana:…) alone", n.ID)
		}
		reader, err := kind.open(n, db, o)
		if err != nil {
			return nil, err
		}
		x.networks = append(x.networks, network{n.ID, reader})
	}
	return x, nil
}

// Once reads every network up to its confirmed head, and returns a report of each, in the order of NewIndexer. Its
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

// Networks returns the ids of the networks, in the order of NewIndexer.
func (x *Indexer) Networks() []string {
	ids := make([]string, len(x.networks))
	for i, n := range x.networks {
		ids[i] = n.id
	}
	return ids
}

// OnceOf reads one of the networks up to its confirmed head.
func (x *Indexer) OnceOf(ctx context.Context, id string) (chain.Report, error) {
	for _, n := range x.networks {
		if n.id == id {
			return n.reader.Once(ctx)
		}
	}
	return chain.Report{}, fmt.Errorf("network %s is not indexed here", id)
}

// indexAgain is the pause after which a network is tried anew whose reader gave up: another process was reading it, or
// its nodes have nothing in common with what was committed.
const indexAgain = 30 * time.Second

// Run reads every network until ctx ends.
func (x *Indexer) Run(ctx context.Context) error {
	var g sync.WaitGroup
	for _, n := range x.networks {
		g.Go(func() {
			for ctx.Err() == nil {
				if err := n.reader.Run(ctx); err != nil && ctx.Err() == nil && x.o.Logger != nil {
					x.o.Logger.Error("indexing stopped, and is tried again", "network", n.id, "after", indexAgain,
						"error", err)
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
