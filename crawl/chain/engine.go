package chain

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"tollbook/site/x402"
)

// ErrBusy says that another indexer is at work on the network.
var ErrBusy = errors.New("another indexer is at work on this network")

// Network is a chain to index.
type Network struct {
	ID            string    // CAIP-2
	RPC           []string  // JSON-RPC addresses, the preferred one first
	Confirmations int       // blocks below the newest that count as settled; 0: what the node calls finalized
	Start         time.Time // before which nothing is looked for
	Tokens        []Token   // that are measured; none: USDC of the asset table
	Poll          time.Duration
}

// Token is a token that is measured.
type Token struct {
	Address  string // in normal form
	Symbol   string
	Decimals int
}

// DefaultTokens are the tokens that a network measures unless told otherwise: USDC of the asset table.
func DefaultTokens(network string) []Token {
	var list []Token
	for _, a := range x402.Assets() {
		if a.Network == network && a.Symbol == "USDC" {
			list = append(list, Token{x402.NormalizeAddress(network, a.Address), a.Symbol, a.Decimals})
		}
	}
	return list
}

// Options of an indexer. The zero value of each is a good one.
type Options struct {
	Logger      *slog.Logger
	Progress    func(Progress) // told after every commit, never twice at once
	Metrics     *Metrics       // nil: nothing is counted
	Concurrency int            // ranges of a scan that are fetched at once; 4 when zero
	Together    int            // ranges of a scan that are committed at once, at most; 64 when zero
	HTTP        *http.Client   // nil: one of our own
	Now         func() time.Time
	Timeout     time.Duration // of one request with its body; 30 s when zero
	Backoff     time.Duration // before the second try of a request, doubled for each further one; 250 ms when zero
}

func (o Options) withDefaults() Options {
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
	o.Together = cmp.Or(max(o.Together, 0), 64)
	o.Timeout = cmp.Or(max(o.Timeout, 0), 30*time.Second)
	o.Backoff = cmp.Or(max(o.Backoff, 0), 250*time.Millisecond)
	return o
}

// Progress is how far an indexer has come.
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
