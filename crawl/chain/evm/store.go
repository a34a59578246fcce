package evm

import (
	"context"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
)

// Store stores a reader's settlements; *postgres.DB is one. Every method is one transaction. A crash between two of
// them loses nothing.
type Store interface {
	chain.Locker
	// NewSettlers returns the settlers without a scan.
	NewSettlers(ctx context.Context, network string) ([]ledger.ScanSettler, error)
	// OpenScans registers settlers. The head scan begins at head, or continues for them too. A fill covers the blocks
	// behind it, beginning with first. A repeated call changes nothing.
	OpenScans(ctx context.Context, network string, settlers []ledger.ScanSettler, first int64, firstTime time.Time,
		head int64) error
	// Scans returns the open scans, the head scan first.
	Scans(ctx context.Context, network string) ([]ledger.Scan, error)
	// CommitRanges stores consecutive ranges of a scan and moves the scan behind them. It returns ledger.ErrMoved if
	// the scan is elsewhere. fresh is the number of new settlements.
	CommitRanges(ctx context.Context, ranges ...ledger.Range) (fresh int64, err error)
	// RangeEnds returns the stored ends of every scan's ranges, newest first.
	RangeEnds(ctx context.Context, network string) ([]ledger.RangeEnd, error)
	// RollBack deletes everything above a block, and moves the scans back to the block after it.
	RollBack(ctx context.Context, network string, ancestor int64) (removed int64, err error)
	// SetHead stores the chain's confirmed head, which shows how far behind the scans are.
	SetHead(ctx context.Context, h ledger.Head) error
	// Recipients returns the addresses that listed services ask to pay to, in normal form.
	Recipients(ctx context.Context, network string) ([]string, error)
}

var _ Store = (*postgres.DB)(nil)

// Methods of payment that a settlement is recognised by.
const (
	methodEIP3009 = "eip3009" // an authorisation of the token itself
	methodPermit2 = "permit2" // one of the two proxies of Permit2
	methodBatch   = ledger.MethodBatch
	methodMemo    = "memo" // a memo that begins with a mark
)
