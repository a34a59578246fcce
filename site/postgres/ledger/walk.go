package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Walk is how far the transactions of a settler have been read. They are read from new to old by signatures on Solana,
// and from old to new by paging tokens on Stellar and by ledgers on the XRP Ledger.
type Walk struct {
	Settler ScanSettler
	Until   string // newest transaction of the last finished walk, "" before the first
	Newest  string // newest transaction of the walk in progress, "" without one
	// oldest transaction that the walk in progress has read; "" on Stellar; on the XRP Ledger the recipients that are
	// read up to ledger Until, with spaces between them
	Before     string
	NewestSlot int64      // the chain's head when the newest walk started
	NewestTime *time.Time // of that slot
	// start of the nodes' history when the first walk ended; nil if that walk reached the settler's first day
	HistoryStart *time.Time
}

// Walks returns the walks of a network's settlers as currently listed, by address. A new settler has an empty walk.
func (db *DB) Walks(ctx context.Context, network string) ([]Walk, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT `+scanSettlerColumns+`, coalesce(w.until, ''), coalesce(w.newest, ''), coalesce(w.before, ''),
			coalesce(w.newest_slot, 0), w.newest_at, w.history_start
		FROM settlers s LEFT JOIN walks w USING (network, address) WHERE s.network = $1
			ORDER BY s.address COLLATE "C"`, network)
	if err != nil {
		return nil, fmt.Errorf("read walks on %s: %w", network, err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (w Walk, err error) {
		s := &w.Settler
		return w, row.Scan(&s.Address, &s.Facilitator, &s.Tokens, &s.Since, &s.Deprecated, &w.Until, &w.Newest,
			&w.Before, &w.NewestSlot, &w.NewestTime, &w.HistoryStart)
	})
	if err != nil {
		return nil, fmt.Errorf("read walks on %s: %w", network, err)
	}
	return list, nil
}

// CommitWalk stores settlements and moves a settler's walk from was to is, in one transaction. It returns ErrMoved if
// the stored walk is not was. fresh counts the settlements that were new.
func (db *DB) CommitWalk(ctx context.Context, network string, was, is Walk, settlements []Settlement) (fresh int64,
	err error) {
	chain, err := db.chainID(ctx, network)
	var entries []entry
	if err == nil {
		entries, err = db.entries(ctx, settlements)
	}
	for i := range entries {
		if entries[i].chain != chain {
			err = errors.New("a settlement is of another network")
		}
	}
	if err == nil {
		err = db.transact(ctx, func(tx pgx.Tx) error {
			if err := lock(ctx, tx, chain); err != nil {
				return err
			}
			if err := moveWalk(ctx, tx, network, was, is); err != nil {
				return err
			}
			fresh, err = storeEntries(ctx, tx, entries, nil, &pgx.Batch{})
			return err
		})
	}
	if err != nil {
		return 0, fmt.Errorf("commit a walk of %s on %s: %w", was.Settler.Address, network, err)
	}
	return fresh, nil
}

// moveWalk stores the walk. A finished walk has read everything that existed when it started.
func moveWalk(ctx context.Context, tx pgx.Tx, network string, was, is Walk) error {
	var w Walk
	err := tx.QueryRow(ctx, `
		SELECT coalesce(w.until, ''), coalesce(w.newest, ''), coalesce(w.before, ''), coalesce(w.newest_slot, 0),
			w.newest_at
		FROM settlers s LEFT JOIN walks w USING (network, address) WHERE s.network = $1
			AND s.address = $2 FOR KEY SHARE OF s`,
		network, was.Settler.Address).Scan(&w.Until, &w.Newest, &w.Before, &w.NewestSlot, &w.NewestTime)
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrMoved // no list names the settler any more
	}
	if err != nil {
		return err
	}
	if w.Until != was.Until || w.Newest != was.Newest || w.Before != was.Before || w.NewestSlot != was.NewestSlot ||
		!sameTime(w.NewestTime, was.NewestTime) {
		return ErrMoved
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO walks AS old (network, address, until, newest, before, newest_slot, newest_at, through,
			history_start)
		VALUES ($1, $2, $3, $4, $5, $6, $7, CASE WHEN $4 = '' THEN $7::timestamptz END, $8)
		ON CONFLICT (network, address) DO UPDATE SET until = excluded.until, newest = excluded.newest,
			before = excluded.before,
			newest_slot = excluded.newest_slot, newest_at = excluded.newest_at,
			through = coalesce(excluded.through, old.through), history_start = excluded.history_start`,
		network, was.Settler.Address, is.Until, is.Newest, is.Before, is.NewestSlot, is.NewestTime, is.HistoryStart)
	return err
}

// sameTime compares times to the microsecond, which is the precision of the database.
func sameTime(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil &&
		a.Truncate(time.Microsecond).Equal(b.Truncate(time.Microsecond))
}
