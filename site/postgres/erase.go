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
	err := db.transact(ctx, func(tx pgx.Tx) error {
		// Nobody seals meanwhile, who would sum its checks up again; the row that visits and looks hold is held before any that they write.
		if _, err := tx.Exec(ctx, `SELECT FROM log_seal FOR SHARE`); err != nil {
			return err
		}
		var id int64
		err := tx.QueryRow(ctx, `SELECT service_id FROM service_states WHERE service_id = (SELECT id FROM services WHERE slug = $1) FOR UPDATE`, slug).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := eraseErrors(ctx, tx, id); err != nil {
			return err
		}
		for _, statement := range []string{
			`UPDATE changes SET summary = '{}', old_snapshot = '[]', new_snapshot = '[]' WHERE service_id = $1`,
			`DELETE FROM check_days WHERE service_id = $1`,
			`DELETE FROM services WHERE id = $1`,          // and with it all that refers to it
			`DELETE FROM day_packs WHERE service_id = $1`, // last, as whoever packs holds the service before
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

// eraseErrors takes what went wrong out of the checks of a service.
func eraseErrors(ctx context.Context, tx pgx.Tx, service int64) error {
	b := &pgx.Batch{}
	err := servicePacks(ctx, tx, `SELECT service_id, hour, checks, texts FROM check_packs WHERE service_id = $1 AND texts IS NOT NULL`, func(p *checkPack) error {
		is, err := p.withoutErrors(service)
		b.Queue(`UPDATE check_packs SET checks = $3, texts = $4 WHERE service_id = $1 AND hour = $2`, service, p.hour, is.checks, is.texts)
		return err
	}, service)
	if err == nil { // in one order, for two erasures may be in one batch
		err = batches(ctx, tx, `WHERE services @> ARRAY[$1::bigint] AND texts IS NOT NULL ORDER BY hour, id FOR UPDATE`, func(p *checkPack) error {
			is, err := p.withoutErrors(service)
			b.Queue(`UPDATE check_batches SET checks = $3, texts = $4 WHERE hour = $1 AND id = $2`, p.hour, p.id, is.checks, is.texts)
			return err
		}, service)
	}
	if err != nil {
		return fmt.Errorf("read packed checks: %w", err)
	}
	return tx.SendBatch(ctx, b).Close()
}

// withoutErrors is the pack without the errors of a service, and without texts that no other check has.
func (p *checkPack) withoutErrors(service int64) (*checkPack, error) {
	is := &checkPack{hour: p.hour, services: p.services, service: p.service}
	u, known := unpacker{once{}}, map[string]int{}
	for i := range p.len() {
		c, err := u.check(p, i)
		if err != nil {
			return is, err
		}
		if c.ServiceID == service {
			c.ErrorMessage = nil
		}
		if err := is.add(&c, known); err != nil {
			return is, err
		}
	}
	return is, nil
}

// Removed are the services that were erased, in order.
func (r *Reader) Removed(ctx context.Context) ([]RemovedService, error) {
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

// holdServices answers which services are there, in order, and keeps them until the transaction ends: an erasure under way is
// waited for, one that comes waits. So does whoever else writes what is known of them, a visit or a look: two that changed
// the same endpoints in another order would wait for each other for good.
func holdServices(ctx context.Context, tx pgx.Tx, ids []int64) ([]int64, error) {
	rows, err := tx.Query(ctx, `SELECT service_id FROM service_states WHERE service_id = ANY($1) ORDER BY service_id FOR NO KEY UPDATE`, ids)
	if err != nil {
		return nil, fmt.Errorf("hold services: %w", err)
	}
	there, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("hold services: %w", err)
	}
	return there, nil
}
