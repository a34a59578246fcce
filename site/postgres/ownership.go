package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// OwnershipToken returns the token that an owner publishes to prove that a service is theirs, and the service's base
// address. It creates the token at the first call. It returns ErrNotFound for an unknown slug.
func (db *DB) OwnershipToken(ctx context.Context, slug string) (token, base string, err error) {
	err = db.pool.QueryRow(ctx, `
		UPDATE services SET ownership_token = coalesce(ownership_token, $2) WHERE slug = $1
		RETURNING ownership_token, base_url`, slug, "tollbook-"+rand.Text()).Scan(&token, &base)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return "", "", fmt.Errorf("ownership token of %s: %w", slug, err)
	}
	return token, base, nil
}

// Verify stores that the owner of a service proved ownership at a time.
func (db *DB) Verify(ctx context.Context, slug, actor string, now time.Time) error {
	err := db.Transact(ctx, func(tx pgx.Tx) error { return verify(ctx, tx, slug, actor, now) })
	if err != nil {
		return fmt.Errorf("verify %s: %w", slug, err)
	}
	return nil
}

func verify(ctx context.Context, tx pgx.Tx, slug, actor string, now time.Time) error {
	var id int64
	err := tx.QueryRow(ctx,
		`UPDATE services SET verified_at = greatest(verified_at, $2) WHERE slug = $1 RETURNING id`, slug,
		now).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrNotFound
	}
	if err != nil {
		return err
	}
	return auditService(ctx, tx, now, actor, "verify", id, slug)
}

// MissToken stores that a site answered without its owner's token at a time. It stores nothing if the token was not seen
// since it was last missing.
func (db *DB) MissToken(ctx context.Context, slug, actor string, now time.Time) error {
	_, err := db.pool.Exec(ctx, `
		INSERT INTO audit (at, actor, action, service_id, detail)
		SELECT $2, $3, 'miss token', s.id, s.slug FROM services s WHERE s.slug = $1 AND (
			SELECT max(at) FILTER (WHERE action = 'verify')
				> coalesce(max(at) FILTER (WHERE action = 'miss token'), '-infinity')
			FROM audit WHERE service_id = s.id)`, slug, now, actor)
	if err != nil {
		return fmt.Errorf("store the missing token of %s: %w", slug, err)
	}
	return nil
}

// ClaimedServices returns the slugs of the visited services with an ownership token, sorted. Their proof can be checked
// again.
func (db *DB) ClaimedServices(ctx context.Context) ([]string, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT slug FROM services WHERE ownership_token IS NOT NULL AND listing_state = 'listed' ORDER BY slug`)
	if err != nil {
		return nil, fmt.Errorf("read claimed services: %w", err)
	}
	slugs, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read claimed services: %w", err)
	}
	return slugs, nil
}
