package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// EraseService deletes a service with all its facts, or returns ErrNotFound. Its rows in the logs of all services keep
// their numbers and lose their content. Its slug is never given again, and nothing is listed at its addresses until
// AllowService. The actor and the reason are stored with both.
func (db *DB) EraseService(ctx context.Context, slug, actor, reason string, now time.Time) error {
	err := db.Transact(ctx, func(tx pgx.Tx) error {
		// Keep SealLogs from summing its checks again. Visits and site readings lock the service's row before any
		// other, so this does too.
		if _, err := tx.Exec(ctx, `SELECT FROM log_seal FOR SHARE`); err != nil {
			return err
		}
		var id int64
		err := tx.QueryRow(ctx,
			`SELECT service_id FROM service_states WHERE service_id = (SELECT id FROM services WHERE slug = $1)
				FOR UPDATE`, slug).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		var base string
		var listed time.Time
		if err := tx.QueryRow(ctx, `SELECT base_url, created_at FROM services WHERE id = $1`, id).Scan(&base,
			&listed); err != nil {
			return err
		}
		addresses, err := readAddresses(ctx, tx, id, base)
		if err != nil {
			return err
		}
		for _, statement := range []string{
			`UPDATE changes SET summary = '{}', old_snapshot = '[]', new_snapshot = '[]' WHERE service_id = $1`,
			`UPDATE checks SET error_message = NULL, uncounted_reason = NULL
				WHERE service_id = $1 AND (error_message IS NOT NULL OR uncounted_reason IS NOT NULL)`,
			`DELETE FROM check_hours WHERE service_id = $1`,
			`DELETE FROM check_days WHERE service_id = $1`,
			`DELETE FROM services WHERE id = $1`, // and by cascade all rows that refer to it
		} {
			if _, err := tx.Exec(ctx, statement, id); err != nil {
				return err
			}
		}
		return insertRemoved(ctx, tx, []RemovedService{{Slug: slug, RemovedAt: now, Addresses: addresses, Actor: actor,
			Reason: reason, ListedAt: &listed, DropSnapshots: true}})
	})
	if err != nil {
		return fmt.Errorf("erase service %s: %w", slug, err)
	}
	return nil
}

// StoredCounts says how much is stored about a service.
type StoredCounts struct {
	Endpoints int `json:"endpoints"`
	Checks    int `json:"checks"`
	Prices    int `json:"prices"` // current and former
	Days      int `json:"days"`   // with a check
	Changes   int `json:"changes"`
}

// CountStored counts what EraseService would erase of a service, or returns ErrNotFound.
func (db *DB) CountStored(ctx context.Context, slug string) (c StoredCounts, err error) {
	err = db.pool.QueryRow(ctx, `
		SELECT
			(SELECT count(*) FROM endpoints e WHERE e.service_id = s.id),
			(SELECT count(*) FROM checks c WHERE c.service_id = s.id),
			(SELECT count(*) FROM prices p JOIN endpoints e ON e.id = p.endpoint_id WHERE e.service_id = s.id),
			(SELECT count(*) FROM check_days d WHERE d.service_id = s.id),
			(SELECT count(*) FROM changes c WHERE c.service_id = s.id)
		FROM services s WHERE s.slug = $1`, slug).Scan(&c.Endpoints, &c.Checks, &c.Prices, &c.Days, &c.Changes)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return c, fmt.Errorf("count what is stored about %s: %w", slug, err)
	}
	return c, nil
}

// lockServices locks the rows of services until the transaction ends, and returns the ids of those that exist, sorted.
// Every transaction that writes facts of services locks these rows first, in this order; otherwise two that update the
// same endpoints could deadlock.
func lockServices(ctx context.Context, tx pgx.Tx, ids []int64) ([]int64, error) {
	rows, err := tx.Query(ctx,
		`SELECT service_id FROM service_states WHERE service_id = ANY($1) ORDER BY service_id FOR NO KEY UPDATE`, ids)
	if err != nil {
		return nil, fmt.Errorf("hold services: %w", err)
	}
	there, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("hold services: %w", err)
	}
	return there, nil
}
