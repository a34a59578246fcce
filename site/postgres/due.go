package postgres

import (
	"context"
	"fmt"
	"time"

	"tollbook/site/postgres/rows"
)

// DueServices returns the ids of up to limit services whose visit is due, the longest overdue first. It leases none.
func (db *DB) DueServices(ctx context.Context, now time.Time, limit int) ([]int64, error) {
	ids, err := rows.Column[int64](ctx, db.pool,
		`SELECT service_id FROM service_states WHERE next_check_at <= $1 ORDER BY next_check_at, service_id LIMIT $2`,
		now, limit)
	if err != nil {
		return nil, fmt.Errorf("read due services: %w", err)
	}
	return ids, nil
}

// MakeDue makes services due at now, by id. One that is due already, or is being visited, keeps its time.
func (db *DB) MakeDue(ctx context.Context, ids []int64, now time.Time) error {
	_, err := db.pool.Exec(ctx, `
		UPDATE service_states SET next_check_at = $2
		WHERE service_id = ANY ($1) AND next_check_at > $2 AND lease_ends IS DISTINCT FROM next_check_at`, ids, now)
	if err != nil {
		return fmt.Errorf("make services due: %w", err)
	}
	return nil
}

// DueSites returns the ids of up to limit services whose site is to be read, those never read first. It leases none.
func (db *DB) DueSites(ctx context.Context, now time.Time, limit int) ([]int64, error) {
	ids, err := rows.Column[int64](ctx, db.pool, `
		SELECT s.id FROM services s LEFT JOIN site_facts f ON f.service_id = s.id
		WHERE s.listing_state = 'listed' AND (f.service_id IS NULL OR f.next_at <= $1)
		ORDER BY f.next_at NULLS FIRST, s.id
		LIMIT $2`, now, limit)
	if err != nil {
		return nil, fmt.Errorf("read due sites: %w", err)
	}
	return ids, nil
}

// DueDomains returns up to limit registrable domains whose registration is to be queried. It leases none.
func (db *DB) DueDomains(ctx context.Context, now time.Time, limit int) ([]string, error) {
	names, err := rows.Column[string](ctx, db.pool, `
		SELECT domain FROM domain_facts d
		WHERE next_at <= $1 AND EXISTS (SELECT FROM site_facts s WHERE s.domain = d.domain)
		ORDER BY next_at, domain LIMIT $2`, now, limit)
	if err != nil {
		return nil, fmt.Errorf("read due domains: %w", err)
	}
	return names, nil
}

// TakeService leases one service as TakeServices does, and returns nil if it is not due: visited meanwhile, leased, or
// erased.
func (db *DB) TakeService(ctx context.Context, place string, id int64, now time.Time, lease time.Duration) (*DueService,
	error) {
	return db.takeOne(ctx, id, `
		WITH leased AS (
			UPDATE service_states SET next_check_at = $2::timestamptz + $3::interval,
				lease_ends = $2::timestamptz + $3::interval
			WHERE service_id = $1 AND next_check_at <= $2 AND (asked_of IS NULL OR asked_until <= $2 OR asked_of ? $4)
			RETURNING *
		)
		SELECT `+serviceColumns+` FROM services JOIN leased ON leased.service_id = id`, id, now, lease, place)
}

// TakeSite leases one service as TakeSites does, and returns nil if its site is not due.
func (db *DB) TakeSite(ctx context.Context, id int64, now time.Time, lease time.Duration) (*DueService, error) {
	return db.takeOne(ctx, id, `
		WITH there AS (
			SELECT id FROM services WHERE id = $1 AND listing_state = 'listed' FOR NO KEY UPDATE
		), leased AS (
			INSERT INTO site_facts (service_id, next_at) SELECT id, $2::timestamptz + $3::interval FROM there
			ON CONFLICT (service_id) DO UPDATE SET next_at = excluded.next_at WHERE site_facts.next_at <= $2
			RETURNING service_id
		)
		SELECT `+serviceColumns+` FROM `+serviceRows+` JOIN leased ON leased.service_id = id`, id, now, lease)
}

// takeOne runs a statement that leases a service, and reads what a visit needs of it. The lease is committed first, so
// that a process that stops here keeps no row locked.
func (db *DB) takeOne(ctx context.Context, id int64, sql string, args ...any) (*DueService, error) {
	taken, err := services(ctx, db.pool, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("take service %d: %w", id, err)
	}
	if len(taken) == 0 {
		return nil, nil
	}
	due, err := readForVisits(ctx, db.pool, taken)
	if err != nil {
		return nil, fmt.Errorf("take service %d: %w", id, err)
	}
	return &due[0], nil
}

// ReleaseService makes a leased service due again, for a visit that was cancelled. It changes nothing if the lease is
// not the current one.
func (db *DB) ReleaseService(ctx context.Context, id int64, lease, due time.Time) error {
	_, err := db.pool.Exec(ctx,
		`UPDATE service_states SET next_check_at = $3 WHERE service_id = $1 AND next_check_at = $2`, id, lease, due)
	if err != nil {
		return fmt.Errorf("release service %d: %w", id, err)
	}
	return nil
}

// TakeDomain leases one domain as TakeDomains does, and returns false if it is not due.
func (db *DB) TakeDomain(ctx context.Context, domain string, now time.Time, lease time.Duration) (bool, error) {
	tag, err := db.pool.Exec(ctx,
		`UPDATE domain_facts SET next_at = $2::timestamptz + $3::interval WHERE domain = $1 AND next_at <= $2`, domain,
		now, lease)
	if err != nil {
		return false, fmt.Errorf("take domain %s: %w", domain, err)
	}
	return tag.RowsAffected() > 0, nil
}

// CountUnvisited returns how many services are to be visited and never were.
func (db *DB) CountUnvisited(ctx context.Context) (n int, err error) {
	if err := db.pool.QueryRow(ctx, `
		SELECT count(*) FROM service_states JOIN services ON id = service_id
		WHERE last_checked_at IS NULL AND listing_state = 'listed'`).Scan(&n); err != nil {
		return 0, fmt.Errorf("count unvisited services: %w", err)
	}
	return n, nil
}
