package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// RemovedService is a slug that the operator took off the directory.
type RemovedService struct {
	ID   int64 // grows with each removal
	Slug string
}

// EraseService takes a service off the directory, with all that it said and all that was measured of it, or answers
// ErrNotFound. Rows of the common logs keep their places without content. Listed again it is another service.
func (db *DB) EraseService(ctx context.Context, slug string, now time.Time) error {
	err := db.Transact(ctx, func(tx pgx.Tx) error {
		// Nobody seals meanwhile, who would sum its checks up again; the row that visits and looks hold is held before
		// any that they write.
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
		for _, statement := range []string{
			`UPDATE changes SET summary = '{}', old_snapshot = '[]', new_snapshot = '[]' WHERE service_id = $1`,
			`UPDATE checks SET error_message = NULL WHERE service_id = $1 AND error_message IS NOT NULL`,
			`DELETE FROM check_hours WHERE service_id = $1`,
			`DELETE FROM check_days WHERE service_id = $1`,
			`DELETE FROM services WHERE id = $1`, // and with it all that refers to it
		} {
			if _, err := tx.Exec(ctx, statement, id); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `DELETE FROM removed_services WHERE slug = $1`, slug)
		if err == nil {
			_, err = tx.Exec(ctx, `INSERT INTO removed_services (slug, removed_at) VALUES ($1, $2)`, slug, now)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("erase service %s: %w", slug, err)
	}
	return nil
}

// RemovedServices are the services that were erased, in order.
func (r *Reader) RemovedServices(ctx context.Context) ([]RemovedService, error) {
	rows, err := r.tx.Query(ctx, `SELECT id, slug FROM removed_services ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("read removed services: %w", err)
	}
	removed, err := pgx.CollectRows(rows, pgx.RowToStructByPos[RemovedService])
	if err != nil {
		return nil, fmt.Errorf("read removed services: %w", err)
	}
	return removed, nil
}

// lockServices answers which services are there, in order, and keeps them until the transaction ends: an erasure under
// way is waited for, one that comes waits. So does whoever else writes what is known of them, a visit or a look: two
// that changed the same endpoints in another order would wait for each other for good.
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
