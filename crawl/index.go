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
	"tollbook/crawl/chain/stellar"
	"tollbook/crawl/chain/xrpl"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
)

// Indexer stores the settlements of chains. Each network has its own goroutine and reader, so that one that fails does
// not delay the others.
type Indexer struct {
	networks []network
	o        chain.Options
}

// network is the reader of one chain.
type network struct {
	id     string
	reader chain.Reader
}

// inspectors ask a node of a chain for its newest block, by the namespace of the chain's CAIP-2 id.
var inspectors = map[string]func(ctx context.Context, network, address string, o chain.Options) (ledger.Head, error){
	"eip155": evm.Inspect, "solana": solana.Inspect, "stellar": stellar.Inspect, "xrpl": xrpl.Inspect,
}

// store is a store of the readers of all chains: *postgres.DB, or a replacement of what is stored.
type store interface {
	evm.Store
	xrpl.Store
}

// openReader returns the reader of a network.
func openReader(n chain.Network, db store, o chain.Options) (chain.Reader, error) {
	switch namespace, _, _ := strings.Cut(n.ID, ":"); namespace {
	case "eip155":
		return evm.New(n, db, o)
	case "solana":
		return solana.New(n, db, o)
	case "stellar":
		return stellar.New(n, db, o)
	case "xrpl":
		return xrpl.New(n, db, o)
	}
	return nil, fmt.Errorf("network %s: want an EVM chain (eip155:…), Solana (solana:…), Stellar (stellar:…) or the "+
		"XRP Ledger (xrpl:…); settlements of other chains can't be read", n.ID)
}

// InspectNode asks one node of a network, at the URL address, for its newest block (on Solana its newest finalised
// slot, on Stellar and the XRP Ledger its newest ledger). It fails if the node serves another chain. Errors name the
// node by scheme and host alone, since paths and queries of node URLs contain keys.
func InspectNode(ctx context.Context, network, address string, o chain.Options) (ledger.Head, error) {
	namespace, _, _ := strings.Cut(network, ":")
	inspect, ok := inspectors[namespace]
	if !ok {
		return ledger.Head{}, fmt.Errorf("ask a node of %s: want a network of namespace eip155, solana, "+
			"stellar or xrpl", network)
	}
	return inspect(ctx, network, address, o)
}

// NewIndexer returns an indexer of networks that stores settlements in db.
func NewIndexer(db *postgres.DB, networks []chain.Network, o chain.Options) (*Indexer, error) {
	x := &Indexer{o: o}
	seen := map[string]bool{}
	for _, n := range networks {
		if seen[n.ID] {
			return nil, fmt.Errorf("network %s is configured twice; remove one entry", n.ID)
		}
		seen[n.ID] = true
		reader, err := openReader(n, db, o)
		if err != nil {
			return nil, err
		}
		x.networks = append(x.networks, network{n.ID, reader})
	}
	return x, nil
}

// Once reads every network up to its confirmed head. It returns one report for each network, in the order of
// NewIndexer, and an error that joins those of the networks that failed. Each error names its network.
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

// indexRetry is the pause before a network is tried again after its reader gave up, because another process was reading
// the network or because no block of its nodes matches the committed ones.
const indexRetry = 30 * time.Second

// Run reads every network until ctx ends.
func (x *Indexer) Run(ctx context.Context) error {
	var g sync.WaitGroup
	for _, n := range x.networks {
		g.Go(func() {
			for ctx.Err() == nil {
				if err := n.reader.Run(ctx); err != nil && ctx.Err() == nil && x.o.Logger != nil {
					x.o.Logger.Error("indexing stopped; it is tried again after a pause", "network", n.id, "after",
						indexRetry,
						"error", err)
				}
				select {
				case <-ctx.Done():
				case <-time.After(indexRetry):
				}
			}
		})
	}
	g.Wait()
	return ctx.Err()
}
