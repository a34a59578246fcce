// Package chain contains what the readers of all chains share: the accounts that settle payments, the options, reports
// and metrics of readers, the client of nodes that may fail or lie, and walks over the transactions of an account. Its
// subpackages evm, solana, stellar and xrpl read the chains.
//
// A settlement is recognised by its sender, or by a mark in the payment where payers send their payments themselves.
// So the results are as good as the list of settlers. Shipped is the list that is part of Tollbook, collected from
// public repositories. ReadFacilitators reads a list in the same form.
//
// The package must never know what a service is, nor what a volume means for anyone.
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
	// Run reads until the context ends, and returns the context's error. It logs other errors and tries again at the
	// next poll. ErrBusy ends it at once.
	Run(ctx context.Context) error
}

// ErrBusy is returned by a reader whose network another process is reading.
var ErrBusy = errors.New("another indexer is at work on this network")

// Locker lets one reader at a time read a network.
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
	RPC           []string  // URLs of JSON-RPC nodes, the preferred one first
	Confirmations int       // blocks below the newest that count as final; 0 for the node's finalized block
	Start         time.Time // settlements before this time are not read
	// Whole makes a reader fail with ledger.ErrForgotten, or go on, where it would leave out settlements since Start:
	// those that nodes no longer have, and those beyond a limit of pages.
	Whole  bool
	Tokens []Token // tokens to measure; USDC of the asset table when empty
	Poll   time.Duration
}

// WithDefaults checks that a network is of a CAIP-2 namespace. It returns the network with the default tokens and the
// default pause between polls where it has none.
func (n Network) WithDefaults(namespace string, poll time.Duration) (Network, error) {
	if !strings.HasPrefix(n.ID, namespace+":") {
		return n, fmt.Errorf("index %s: want a network of namespace %s", n.ID, namespace)
	}
	if len(n.Tokens) == 0 {
		n.Tokens = DefaultTokens(n.ID)
	}
	if len(n.Tokens) == 0 {
		return n, fmt.Errorf("index %s: no token to measure; configure one", n.ID)
	}
	if n.Poll <= 0 {
		n.Poll = poll
	}
	return n, nil
}

// Token is a token whose settlements are measured.
type Token struct {
	Address  string // in normal form
	Symbol   string
	Decimals int
}

// DefaultTokens returns the tokens of a network without configured ones: those that the asset table says are
// measured.
func DefaultTokens(network string) []Token {
	var list []Token
	for _, a := range x402.Assets() {
		if a.Network == network && a.IsMeasured() {
			a = a.Token()
			list = append(list, Token{x402.NormalizeAddress(network, a.Address), a.Symbol, a.Decimals})
		}
	}
	return list
}

// Options are the settings of a reader. Zero values stand for the defaults.
type Options struct {
	Logger      *slog.Logger
	Progress    func(Progress) // called after every commit, by one goroutine at a time
	Metrics     *Metrics       // private ones when nil
	Concurrency int            // ranges of a scan that are fetched at once; 4 when zero
	Batch       int            // most ranges of a scan in one commit; 64 when zero
	HTTP        *http.Client   // a new one when nil
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

// Progress is the position of a reader.
type Progress struct {
	Network     string
	Block, Head int64 // newest block that was read, and the chain's confirmed head
	Behind      int64 // blocks still to read, including those of fills
	Settlements int64 // new settlements since the reader started
}

// Report counts what one round did.
type Report struct {
	Network                                        string
	Blocks, Settlements, RolledBack, Calls, Errors int64
	Took                                           time.Duration
}

// ClockTolerance is how far after now a block may be dated. The rules of chains allow some seconds; the rest is for the
// clock of this machine.
const ClockTolerance = 10 * time.Minute

// CheckTime returns why a block cannot have a time. It is not before the time of an earlier block, or of the first
// block that a chain of its kind ever had, nor after now. A reader whose check fails believes nothing of the answer,
// and asks another node.
func CheckTime(at, earlier, now time.Time) error {
	switch {
	case at.Before(earlier):
		return fmt.Errorf("a block is dated %s, before an earlier one of %s", at.UTC().Format(time.RFC3339),
			earlier.UTC().Format(time.RFC3339))
	case at.After(now.Add(ClockTolerance)):
		return fmt.Errorf("a block is dated %s, after now, %s; if the clock of this machine is wrong, set it",
			at.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return nil
}
