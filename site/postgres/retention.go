package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/inbox"
	"tollbook/site/postgres/ledger"
)

// Retain deletes old rows:
//
//   - the checks of days more than site.LogDays ago, with their sums by hour;
//   - sums of settlements by hour that are older than ledger.HourRetention;
//   - sums of amounts and senders by day that are more than 90 days old;
//   - answers about recipients that no current price names;
//   - claims of recipients that no price and no offer of 90 days names;
//   - the oldest former terms of services that changed theirs more than checks.RetainTerms allows;
//   - the senders of messages that were decided about more than 90 days ago.
//
// All other sums by day stay. A clock alone deletes nothing: as many later days must have checks, and a later
// settlement must exist. So a clock that is a year ahead deletes no more than the days that really ended.
func (db *DB) Retain(ctx context.Context, now time.Time) error {
	err := db.Transact(ctx, func(tx pgx.Tx) error { return checks.Retain(ctx, tx, now) })
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) && e.Code == "55P03" {
		err = nil // a build reads checks: the next run tries again
	}
	if err == nil {
		err = db.Transact(ctx, func(tx pgx.Tx) error { return checks.RetainClaims(ctx, tx, now) })
	}
	if err == nil {
		err = db.Transact(ctx, func(tx pgx.Tx) error { return ledger.Retain(ctx, tx, now) })
	}
	if err == nil {
		err = db.Transact(ctx, func(tx pgx.Tx) error { return ledger.RetainReceptions(ctx, tx) })
	}
	if err == nil {
		err = db.Transact(ctx, func(tx pgx.Tx) error { return checks.RetainTerms(ctx, tx) })
	}
	if err == nil {
		err = db.Transact(ctx, func(tx pgx.Tx) error { return inbox.RetainSenders(ctx, tx, now) })
	}
	if err != nil {
		return fmt.Errorf("delete old rows as of %s: %w", now.UTC().Format(time.DateOnly), err)
	}
	return nil
}
