package solana

import (
	"context"

	"tollbook/crawl/chain"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
)

// Store stores a reader's settlements; *postgres.DB is one. Every method is one transaction. A crash between two of
// them loses nothing.
type Store interface {
	chain.Locker
	// SetHead stores the newest finalised slot, from which the lag of the walks is computed.
	SetHead(ctx context.Context, h ledger.Head) error
	// Walks returns the walks of a network's settlers, by address.
	Walks(ctx context.Context, network string) ([]ledger.Walk, error)
	// CommitWalk stores settlements and moves a walk. It returns ledger.ErrMoved if the stored walk differs from was.
	CommitWalk(ctx context.Context, network string, was, is ledger.Walk, settlements []ledger.Settlement) (
		fresh int64, err error)
}

var _ Store = (*postgres.DB)(nil)
