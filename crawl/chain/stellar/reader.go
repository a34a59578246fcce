// Package stellar reads settlements from Stellar: transfers of measured tokens in transactions whose fee a settler
// paid. It asks Horizon, the HTTP API of Stellar's ledger; SOURCES.md says where each rule is documented.
//
// WalkReader runs its rounds and commits each page of transactions with its settlements. The package must never know
// what a service is.
package stellar

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
)

// Reader reads the settlements of one Stellar network, settler by settler. A walk reads the transactions of a settler
// in the order of the ledger. Its position is the paging token of the last one: Walk.Newest while it goes on,
// Walk.Until once it has met the head. Ledgers are final, so nothing is rolled back.
type Reader struct {
	*chain.WalkReader
	network  chain.Network
	options  chain.Options
	client   *chain.Client
	measured map[string]bool // contracts of tokens
	head     ledgerEntry     // of this round
	elder    int64           // first ledger that a server with a head has; 0 before it is known
}

// Sizes of requests.
const (
	transactionPage = 200  // the most that Horizon returns
	maxPages        = 5000 // of one walk in one round; the next round continues
)

// defaultPoll is the time between two rounds. A round costs two requests for every settler.
const defaultPoll = time.Minute

// New returns a reader of a Stellar network that stores settlements in s. It sends nothing.
func New(n chain.Network, s chain.WalkStore, o chain.Options) (*Reader, error) {
	n, err := n.WithDefaults("stellar", defaultPoll)
	if err != nil {
		return nil, err
	}
	if passphrases[n.ID] == "" {
		return nil, fmt.Errorf("index %s: want stellar:pubnet or stellar:testnet", n.ID)
	}
	x := &Reader{network: n, options: o.WithDefaults(), measured: map[string]bool{}}
	for _, t := range n.Tokens {
		x.measured[t.Address] = true
	}
	x.client, err = chain.NewClient(n, identity(), x.options)
	x.WalkReader = chain.NewWalks(n, s, x.options, x.client, x)
	return x, err
}

// Inspect asks one Horizon server of a network, at the URL address, for its newest ledger. It fails if the server has
// another network. Errors name the server by scheme and host alone.
func Inspect(ctx context.Context, network, address string, o chain.Options) (ledger.Head, error) {
	n := chain.Network{ID: network, RPC: []string{address}}
	o = o.WithDefaults()
	c, err := chain.NewClient(n, identity(), o)
	if err != nil {
		return ledger.Head{Network: network}, err
	}
	head, err := (&Reader{network: n, options: o}).Head(ctx, c)
	if err != nil {
		return head, fmt.Errorf("ask a Horizon server of %s for its newest ledger: %w", network, err)
	}
	return head, nil
}

// Begin asks how far back the servers' history goes, if a walk needs more than the server of the head has.
func (x *Reader) Begin(ctx context.Context, head ledger.Head, walks []ledger.Walk) (
	run func(context.Context, ledger.Walk) error, err error) {
	var begins ledgerEntry
	elder := x.elder
	x.head, x.elder = ledgerEntry{head.Block, head.Time}, 0
	if elder > firstLedger && slices.ContainsFunc(walks, func(w ledger.Walk) bool { return neededLedger(w) < elder }) {
		if begins, err = x.askHistory(ctx); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, w ledger.Walk) error { return x.runWalk(ctx, w, begins) }, nil
}

// neededLedger returns the first ledger that a walk still has to read, 0 for the settler's first one. A finished walk
// has read all ledgers up to the head of its time.
func neededLedger(w ledger.Walk) int64 {
	if w.Newest == "" {
		return w.NewestSlot
	}
	return ledgerOf(w.Newest)
}

// runWalk reads the transactions of a settler after the walk's position. begins is the first ledger that any server
// has; its number is 0 if no walk needs an earlier one. If this walk does, the settler counts as measured since begins.
func (x *Reader) runWalk(ctx context.Context, w ledger.Walk, begins ledgerEntry) error {
	for range maxPages {
		is, after, needed := w, cmp.Or(w.Newest, w.Until), neededLedger(w)
		if needed < begins.number {
			if needed > 0 {
				x.options.Logger.Warn("no server has the history back to where the last walk ended: settlements "+
					"between may be missing", "network", x.network.ID, "settler", w.Settler.Address, "ledger", needed,
					"history_from", begins.number)
			}
			if needed > 0 || begins.closedAt.After(chain.FirstTime(x.network, w.Settler)) {
				is.HistoryStart = &begins.closedAt
			}
			needed = begins.number
		}
		page, err := x.askPage(ctx, w.Settler, after, needed)
		if err != nil {
			return err
		}
		if page.head.number > w.NewestSlot {
			is.NewestSlot, is.NewestTime = page.head.number, &page.head.closedAt
		}
		n := len(page.transactions)
		if is.Until, is.Newest = after, ""; n > 0 {
			is.Until, is.Newest = w.Until, page.transactions[n-1].PagingToken
		}
		if err := x.Commit(ctx, w, is, page.settlements, n); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		w = is
	}
	return nil
}
