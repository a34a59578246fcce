package evm

import (
	"context"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
)

// Store keeps what a reader finds; *postgres.DB is one. Every method is one transaction; a crash between two of them
// loses nothing.
type Store interface {
	chain.Locker
	// NewSettlers returns the settlers that no scan looks for yet.
	NewSettlers(ctx context.Context, network string) ([]ledger.ScanSettler, error)
	// OpenScans registers settlers: the head scan begins at head, or goes on for them too, and a fill covers the blocks
	// behind it, from first on. A repeated call changes nothing.
	OpenScans(ctx context.Context, network string, settlers []ledger.ScanSettler, first int64, firstTime time.Time,
		head int64) error
	// Scans returns the open scans, the head scan first.
	Scans(ctx context.Context, network string) ([]ledger.Scan, error)
	// CommitRanges stores ranges of a scan that follow each other and moves the scan behind them, or returns
	// ledger.ErrMoved. fresh counts settlements that were new.
	CommitRanges(ctx context.Context, ranges ...ledger.Range) (fresh int64, err error)
	// RangeEnds returns the kept ends of every scan's ranges, newest first.
	RangeEnds(ctx context.Context, network string) ([]ledger.RangeEnd, error)
	// RollBack deletes all that was found above a block, and moves the scans back to the block after it.
	RollBack(ctx context.Context, network string, ancestor int64) (removed int64, err error)
	// SetHead stores the chain's confirmed head, which shows how far behind the scans are.
	SetHead(ctx context.Context, h ledger.Head) error
	// Recipients returns the addresses that listed services ask to be paid to, in normal form.
	Recipients(ctx context.Context, network string) ([]string, error)
}

var _ Store = (*postgres.DB)(nil)

// Methods of payment by which a settlement is recognised.
const (
	methodEIP3009 = "eip3009" // an authorisation of the token itself
	methodPermit2 = "permit2" // one of the two proxies of Permit2
)
