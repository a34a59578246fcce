// Package chain holds what the readers of all chains share: who settles payments on chain, what a reader is told, what
// it reports, and its metrics. Its subpackages evm and solana read the chains; jsonrpc asks their nodes.
//
// A settlement is recognised by who sent it, so the list of settlers is the measuring instrument. Shipped is the list
// that comes with Tollbook, data collected from public repositories; ReadFacilitators reads a list of the same form.
//
// The package must never know what a service is, nor what a volume says of anyone.
package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"tollbook/site/x402"
)

// Reader reads the settlements of one network into a store.
type Reader interface {
	// Once reads up to the confirmed head as of now.
	Once(ctx context.Context) (Report, error)
	// Run reads until the context ends, and returns the context's error. It logs what goes wrong and tries again at the
	// next poll; ErrBusy ends it before.
	Run(ctx context.Context) error
}

// ErrBusy is the error of a reader whose network another process reads already.
var ErrBusy = errors.New("another indexer is at work on this network")

// Locker lets one reader at a time work on a network.
type Locker interface {
	LockIndex(ctx context.Context, network string) (release func(), ok bool, err error)
}

// Lock keeps other readers off a network until release is called, or returns ErrBusy.
func Lock(ctx context.Context, l Locker, network string) (release func(), err error) {
	release, ok, err := l.LockIndex(ctx, network)
	if err == nil && !ok {
		err = ErrBusy
	}
	return release, err
}

// Network is a chain to index.
type Network struct {
	ID            string    // CAIP-2
	RPC           []string  // JSON-RPC addresses, the preferred one first
	Confirmations int       // blocks below the newest that count as settled; 0: what the node calls finalized
	Start         time.Time // before which nothing is looked for
	Tokens        []Token   // that are measured; none: USDC of the asset table
	Poll          time.Duration
}

// WithDefaults checks that a network is of a namespace of CAIP-2 and returns it with the tokens and the pause between
// polls that it does not name itself.
func (n Network) WithDefaults(namespace string, poll time.Duration) (Network, error) {
	if !strings.HasPrefix(n.ID, namespace+":") {
		return n, fmt.Errorf("index %s: want a network of namespace %s", n.ID, namespace)
	}
	if len(n.Tokens) == 0 {
		n.Tokens = DefaultTokens(n.ID)
	}
	if len(n.Tokens) == 0 {
		return n, fmt.Errorf("index %s: no token to measure", n.ID)
	}
	if n.Poll <= 0 {
		n.Poll = poll
	}
	return n, nil
}

// Token is a token that is measured.
type Token struct {
	Address  string // in normal form
	Symbol   string
	Decimals int
}

// DefaultTokens returns the tokens that are measured unless the operator names others: USDC of the asset table.
func DefaultTokens(network string) []Token {
	var list []Token
	for _, a := range x402.Assets() {
		if a.Network == network && a.Symbol == "USDC" {
			list = append(list, Token{x402.NormalizeAddress(network, a.Address), a.Symbol, a.Decimals})
		}
	}
	return list
}

// Options of a reader. The zero value of each is a good one.
type Options struct {
	Logger      *slog.Logger
	Progress    func(Progress) // called after every commit, never twice at once
	Metrics     *Metrics       // nil: nothing is counted
	Concurrency int            // ranges of a scan that are fetched at once; 4 when zero
	Batch       int            // ranges of a scan that are committed at once, at most; 64 when zero
	HTTP        *http.Client   // nil: one of our own
	Now         func() time.Time
	Timeout     time.Duration // of one request with its body; 30 s when zero
	Backoff     time.Duration // before the second try of a request, doubled for each further one; 250 ms when zero
}

// WithDefaults returns the options with every zero value replaced.
func (o Options) WithDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Concurrency = cmp.Or(max(o.Concurrency, 0), 4)
	o.Batch = cmp.Or(max(o.Batch, 0), 64)
	o.Timeout = cmp.Or(max(o.Timeout, 0), 30*time.Second)
	o.Backoff = cmp.Or(max(o.Backoff, 0), 250*time.Millisecond)
	return o
}

// Progress is how far a reader has come.
type Progress struct {
	Network     string
	Block, Head int64 // newest block that was read, and the chain's confirmed head
	Behind      int64 // blocks to go, fills included
	Settlements int64 // new ones since the indexer began
}

// Report is what a round did.
type Report struct {
	Network                                        string
	Blocks, Settlements, RolledBack, Calls, Errors int64
	Took                                           time.Duration
}
