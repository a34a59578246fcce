// Package ledger stores settlements: facilitators and their settlers, the progress of scans on each network, the
// settlements with their sums, and the revenue of recipients.
//
// It owns the tables from facilitators to tokens, and reads prices for the recipients that services name. It must never
// know what a service is, nor judge what counts.
package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrNotFound says that a row does not exist.
var ErrNotFound = errors.New("not found")

// HourRetention is how long sums of settlements by hour are stored. Sums by day are never deleted.
const HourRetention = 8 * 24 * time.Hour

// DB is the ledger of a migrated database.
type DB struct {
	pool    *pgxpool.Pool
	numbers idCache
}

// New returns the ledger of the database that a pool is connected to.
func New(pool *pgxpool.Pool) *DB { return &DB{pool: pool} }

// transact runs f in one transaction; an error rolls all of it back.
func (db *DB) transact(ctx context.Context, f func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db.pool, f)
}

// Reader reads the ledger in a transaction.
type Reader struct{ tx pgx.Tx }

// NewReader returns a reader in a transaction.
func NewReader(tx pgx.Tx) *Reader { return &Reader{tx} }

// Settled reads every facilitator with its tokens, and every network with its scans, as of now.
func (r *Reader) Settled(ctx context.Context, now time.Time) (facilitators []FacilitatorFacts, chains []ChainFacts,
	err error) {
	if facilitators, err = r.readFacilitators(ctx, now); err != nil {
		return nil, nil, err
	}
	if chains, err = r.readChains(ctx, now); err != nil {
		return nil, nil, err
	}
	tokens, err := r.ReadTokens(ctx)
	if err != nil {
		return nil, nil, err
	}
	configure(facilitators, chains, tokens)
	return facilitators, chains, nil
}

// querier is what a pool and a transaction share.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
