// Package checks stores what visits to services found: checks, their sums by hour and day, the numbered logs of checks
// and changes, and what endpoints answered and asked to be paid.
//
// It owns the tables envelopes, answers, prices, checks, changes and those that begin with check_, change_ and log_. A
// visit also updates the rows of services and endpoints, which package postgres inserts. It must never judge.
package checks

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tollbook/site/postgres/rows"
)

// Store stores visits in a migrated database.
type Store struct {
	pool *pgxpool.Pool
	days partitions
}

// New returns the store of the database that a pool is connected to.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// transact runs f in one transaction; an error rolls all of it back.
func (st *Store) transact(ctx context.Context, f func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, st.pool, f)
}

// LogReader reads what visits found in one transaction.
type LogReader struct{ tx pgx.Tx }

// NewLogReader returns a reader in a transaction.
func NewLogReader(tx pgx.Tx) *LogReader { return &LogReader{tx} }

// each scans every row of a query into the pointers of scan and then calls do.
func (r *LogReader) each(ctx context.Context, sql string, scan []any, do func(), args ...any) error {
	return rows.Each(ctx, r.tx, sql, scan, do, args...)
}
