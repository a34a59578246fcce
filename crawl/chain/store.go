package chain

import (
	"context"
	"errors"
	"time"
)

// ErrMoved refuses a commit whose scan or walk has gone on, or back, since it was read: another indexer is at work, or a
// reorganisation was rolled back. Nothing is kept of the commit; whoever made it reads the scans anew.
var ErrMoved = errors.New("the scan has moved")

// Methods of payment that a settlement can be told by.
const (
	MethodEIP3009 = "eip3009" // an authorisation of the token itself
	MethodPermit2 = "permit2" // one of the two proxies of Permit2
	MethodSPL     = "spl"     // a transfer of a Solana token
)

// Settlement is a payment seen on chain. Addresses are in normal form.
type Settlement struct {
	Network     string // CAIP-2
	Block       int64
	BlockHash   string    // "" where the chain has none
	Time        time.Time // of the block
	Transaction string    // hash or signature, as the chain writes it
	LogIndex    int       // of the transfer within its block (EVM) or transaction (Solana)
	Method      string
	Facilitator string // id
	Settler     string
	Token       string
	Payer       string
	Payee       string
	Amount      string // atomic units
}

// Scan looks for the settlements of its settlers over the blocks [Next, End). Of every block exactly one scan counts.
type Scan struct {
	ID       int64
	Network  string
	Next     int64
	End      *int64 // nil follows the head
	Counts   bool   // sums all authorisations that it sees, whoever sent them, and suggests settlers
	Settlers []ScanSettler
}

// ScanSettler is a settler as the lists say it now.
type ScanSettler struct {
	Address     string
	Facilitator string
	Tokens      []string
	Since       *time.Time // what it sent before that day began, in UTC, is nobody's
	Deprecated  bool
}

// Range is what a scan found over the blocks [First, Last]: it is kept whole or not at all.
type Range struct {
	Scan        int64
	Network     string
	First, Last int64
	Hash        string    // of block Last
	Time        time.Time // of block Last
	Settlements []Settlement
	Seen        []SeenDay   // of a counting scan, by token and day
	Senders     []SenderDay // of a counting scan, by sender, day and token
}

// SeenDay counts authorisations, whoever sent them.
type SeenDay struct {
	Token          string
	Day            time.Time
	Authorizations int64
}

// SenderDay is what a sender that no list names moved to known recipients for others.
type SenderDay struct {
	Sender     string
	Day        time.Time
	Token      string
	Payments   int64
	Amount     string // atomic units
	Recipients int64  // distinct, within the range
}

// RangeEnd is the last block of a range that was committed.
type RangeEnd struct {
	Last int64
	Hash string
}

// Head is the newest block that the chain calls confirmed.
type Head struct {
	Network  string
	Block    int64
	Time     time.Time
	PolledAt time.Time
}

// Walk is how far the signatures of a Solana settler have been read, newest to oldest.
type Walk struct {
	Settler    ScanSettler
	Until      string // newest signature of the last finished walk
	Newest     string // of the walk under way, "" when there is none
	Before     string // the oldest signature that the walk under way has read
	NewestSlot int64
	NewestTime *time.Time
	Floor      *time.Time // where the nodes' history began when it ended the first walk; nil: the settler's first day was reached
}

// Store keeps what indexers find. Every method is one transaction; a crash between two of them loses nothing.
type Store interface {
	// NewSettlers are those that no scan looks for yet.
	NewSettlers(ctx context.Context, network string) ([]ScanSettler, error)
	// OpenScans registers settlers: the head scan begins at head, or goes on for them too, and a fill covers what is
	// behind it from first on. It may be told twice, also at once.
	OpenScans(ctx context.Context, network string, settlers []ScanSettler, first int64, firstTime time.Time, head int64) error
	// Scans are the open ones, the head scan first.
	Scans(ctx context.Context, network string) ([]Scan, error)
	// CommitRanges keeps ranges of a scan that follow each other and moves the scan behind them, or answers ErrMoved. fresh
	// counts settlements that were new.
	CommitRanges(ctx context.Context, ranges ...Range) (fresh int64, err error)
	// RangeEnds are the kept ends of every scan's ranges, newest first.
	RangeEnds(ctx context.Context, network string) ([]RangeEnd, error)
	// RollBack takes back all that was found above a block, and moves the scans back to the block after it.
	RollBack(ctx context.Context, network string, ancestor int64) (removed int64, err error)
	// SetHead keeps the chain's confirmed head, so that readers see how far behind the scans are.
	SetHead(ctx context.Context, h Head) error
	// Recipients are the addresses that listed services ask to be paid to, in normal form.
	Recipients(ctx context.Context, network string) ([]string, error)
	// LockIndex lets one indexer at a time work on a network.
	LockIndex(ctx context.Context, network string) (release func(), ok bool, err error)

	// Walks are those of a network's settlers, by address.
	Walks(ctx context.Context, network string) ([]Walk, error)
	// CommitWalk keeps settlements and moves a walk, or answers ErrMoved when it is no longer as it was.
	CommitWalk(ctx context.Context, network string, was, is Walk, settlements []Settlement) (fresh int64, err error)
}
