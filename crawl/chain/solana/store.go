package solana

import (
	"context"

	"tollbook/crawl/chain"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
)

// Store keeps what a reader finds; *postgres.DB is one. Every method is one transaction; a crash between two of them
// loses nothing.
type Store interface {
	chain.Locker
	// SetHead stores the newest finalised slot, which shows how far behind the walks are.
	SetHead(ctx context.Context, h ledger.Head) error
	// Walks returns the walks of a network's settlers, by address.
	Walks(ctx context.Context, network string) ([]ledger.Walk, error)
	// CommitWalk stores settlements and moves a walk, or returns ledger.ErrMoved if the walk is no longer as it was.
	CommitWalk(ctx context.Context, network string, was, is ledger.Walk, settlements []ledger.Settlement) (
		fresh int64, err error)
}

var _ Store = (*postgres.DB)(nil)
