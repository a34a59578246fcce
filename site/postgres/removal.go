package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site/listing"
	"tollbook/site/postgres/rows"
	"tollbook/site/postgres/sources"
)

// RemovedService is a service that the operator erased. Nothing is listed at its addresses until somebody allows it.
type RemovedService struct {
	ID        int64     `json:"-"` // grows with each erasure
	Slug      string    `json:"slug"`
	RemovedAt time.Time `json:"removed_at"`
	// Addresses that the service had, in normal form: a host with the path of a base URL. None if a version before
	// schema 8 removed the service.
	Addresses     []string   `json:"addresses,omitempty"`
	Actor         string     `json:"actor,omitempty"`
	Reason        string     `json:"reason,omitempty"`
	ListedAt      *time.Time `json:"listed_at,omitempty"`      // no earlier snapshot contains it; nil if unknown
	CleanSnapshot string     `json:"clean_snapshot,omitempty"` // first snapshot without it, "" before it is built
	DropSnapshots bool       `json:"drop_snapshots,omitempty"` // whether earlier snapshots with it are deleted
	AllowedAt     *time.Time `json:"allowed_at,omitempty"`     // when it was allowed to be listed again
	AllowedBy     *string    `json:"allowed_by,omitempty"`
}

const removedColumns = `id, slug, removed_at, addresses, actor, reason, listed_at, clean_snapshot, drop_snapshots,
	allowed_at, allowed_by`

// Facts says in words when the service was removed, by whom and why.
func (r *RemovedService) Facts() string {
	text := "removed on " + r.RemovedAt.UTC().Format(time.DateOnly)
	if r.Actor != "" {
		text += " by " + r.Actor
	}
	if r.Reason != "" {
		text += " (" + r.Reason + ")"
	}
	return text
}

// String says in words that the service stays removed.
func (r *RemovedService) String() string {
	return r.Facts() + ": stays removed; tollbook services allow " + r.Slug + " lets it be listed again"
}

// Covers reports whether the removal keeps a service from being listed at a base URL: nobody allowed it, and the base
// URL is at, below or above an address that the service had.
func (r *RemovedService) Covers(base string) bool {
	address := removalAddress(base) + "/"
	return r.AllowedAt == nil && slices.ContainsFunc(r.Addresses, func(a string) bool {
		for _, a := range []string{a, removalAddress("https://" + a)} { // earlier versions stored another form
			if strings.HasPrefix(address, a+"/") || strings.HasPrefix(a+"/", address) {
				return true
			}
		}
		return false
	})
}

// RemovedError is the error of listing a service that was removed.
type RemovedError struct{ Service RemovedService }

func (e *RemovedError) Error() string { return "the service was " + e.Service.String() }

// FindRemoved returns the newest removal that covers a base URL, nil if there is none.
func (l *Listed) FindRemoved(base string) *RemovedService {
	for i := range slices.Backward(l.Removed) {
		if l.Removed[i].Covers(base) {
			return &l.Removed[i]
		}
	}
	return nil
}

// removalAddress returns a base URL in the form that removals are compared in: the host and path of its normal form,
// without "www." and without a slash at the end.
func removalAddress(base string) string {
	if normal, err := listing.NormalURL(base); err == nil {
		base = normal
	}
	_, rest, _ := strings.Cut(base, "://")
	host, path, _ := strings.Cut(rest, "/")
	host = strings.TrimPrefix(strings.ToLower(host), "www.")
	return strings.TrimRight(host+"/"+path, "/")
}

// readAddresses returns the addresses of a listed service: its base URL, and where its endpoints moved.
func readAddresses(ctx context.Context, tx pgx.Tx, id int64, base string) ([]string, error) {
	moved, err := rows.Column[string](ctx, tx, `SELECT host || path FROM `+sources.MovesTable+` WHERE moves.id = $1`, id)
	if err != nil {
		return nil, err
	}
	addresses := []string{removalAddress(base)}
	for _, to := range moved {
		addresses = append(addresses, removalAddress("https://"+to))
	}
	slices.Sort(addresses)
	return slices.Compact(addresses), nil
}

// readRemoved reads the erased services in the order of their erasure.
func readRemoved(ctx context.Context, q rows.Querier) ([]RemovedService, error) {
	result, err := q.Query(ctx, `SELECT `+removedColumns+` FROM removed_services ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("read removed_services: %w", err)
	}
	removed, err := pgx.CollectRows(result, pgx.RowToStructByPos[RemovedService])
	if err != nil {
		return nil, fmt.Errorf("read removed_services: %w", err)
	}
	return removed, nil
}

// RemovedServices reads the erased services in the order of their erasure.
func (r *Reader) RemovedServices(ctx context.Context) ([]RemovedService, error) {
	return readRemoved(ctx, r.tx)
}

// erasures is an expression of SQL for the sequence that numbers removals and changes of voids.
const erasures = `pg_get_serial_sequence('removed_services', 'id')::regclass`

// LastErasure returns the number of the last removal or change of a void, 0 for none.
func (r *Reader) LastErasure(ctx context.Context) (last int64, err error) {
	err = r.tx.QueryRow(ctx, `SELECT coalesce(pg_sequence_last_value(`+erasures+`), 0)`).Scan(&last)
	if err != nil {
		return 0, fmt.Errorf("read the number of the last erasure: %w", err)
	}
	return last, nil
}

// SkipErasures gives the next removal or change of a void a number above one that readers know already.
func (db *DB) SkipErasures(ctx context.Context, upTo int64) error {
	_, err := db.pool.Exec(ctx, `SELECT setval(`+erasures+`, $1)
		WHERE coalesce(pg_sequence_last_value(`+erasures+`), 0) < $1`, upTo)
	if err != nil {
		return fmt.Errorf("skip numbers of erasures: %w", err)
	}
	return nil
}

// Removals reads the erased services in the order of their erasure.
func (db *DB) Removals(ctx context.Context) ([]RemovedService, error) {
	return readRemoved(ctx, db.pool)
}

// checkRemoved returns a *RemovedError if a removal covers a base URL.
func checkRemoved(ctx context.Context, q rows.Querier, base string) error {
	result, err := q.Query(ctx, `
		SELECT `+removedColumns+` FROM removed_services
		WHERE allowed_at IS NULL AND EXISTS (SELECT FROM unnest(addresses) a
			WHERE starts_with($1 || '/', a || '/') OR starts_with(a || '/', $1 || '/'))
		ORDER BY id DESC LIMIT 1`, removalAddress(base))
	if err != nil {
		return fmt.Errorf("read removed_services: %w", err)
	}
	r, err := pgx.CollectExactlyOneRow(result, pgx.RowToStructByPos[RemovedService])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read removed_services: %w", err)
	}
	return &RemovedError{r}
}

// StoreCleanSnapshot stores that a snapshot is the first one without the services that were erased up to an ID.
func (db *DB) StoreCleanSnapshot(ctx context.Context, snapshot string, upTo int64) error {
	_, err := db.pool.Exec(ctx,
		`UPDATE removed_services SET clean_snapshot = $1 WHERE clean_snapshot = '' AND id <= $2`, snapshot, upTo)
	if err != nil {
		return fmt.Errorf("store the first snapshot without removed services: %w", err)
	}
	return nil
}

// AllowService lets an erased service be listed again, and returns its removal. It returns ErrNotFound for a slug that
// no erased service had. allowed is false if somebody allowed it before.
func (db *DB) AllowService(ctx context.Context, slug, actor string, now time.Time) (r RemovedService, allowed bool,
	err error) {
	err = db.Transact(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE removed_services SET allowed_at = $2, allowed_by = $3 WHERE slug = $1 AND allowed_at IS NULL`, slug,
			now, actor)
		if err != nil {
			return err
		}
		allowed = tag.RowsAffected() > 0
		result, err := tx.Query(ctx, `SELECT `+removedColumns+` FROM removed_services WHERE slug = $1`, slug)
		if err != nil {
			return err
		}
		r, err = pgx.CollectExactlyOneRow(result, pgx.RowToStructByPos[RemovedService])
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNotFound
		}
		return err
	})
	if err != nil {
		return r, false, fmt.Errorf("allow service %s: %w", slug, err)
	}
	return r, allowed, nil
}

// DropSnapshots makes the next build and publication delete the snapshots that may contain a service which a version
// before schema 8 removed. It reports whether that was not decided before.
func (db *DB) DropSnapshots(ctx context.Context, slug string) (bool, error) {
	tag, err := db.pool.Exec(ctx,
		`UPDATE removed_services SET drop_snapshots = true WHERE slug = $1 AND NOT drop_snapshots`, slug)
	if err != nil {
		return false, fmt.Errorf("drop the snapshots of %s: %w", slug, err)
	}
	return tag.RowsAffected() > 0, nil
}

// insertRemoved stores erased services in the order of their erasure.
func insertRemoved(ctx context.Context, tx pgx.Tx, list []RemovedService) error {
	batch := &pgx.Batch{}
	for _, r := range list {
		if r.Addresses == nil {
			r.Addresses = []string{}
		}
		batch.Queue(`
			INSERT INTO removed_services (slug, removed_at, addresses, actor, reason, listed_at, clean_snapshot,
				drop_snapshots, allowed_at, allowed_by)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, r.Slug, r.RemovedAt, r.Addresses, r.Actor, r.Reason,
			r.ListedAt, r.CleanSnapshot, r.DropSnapshots, r.AllowedAt, r.AllowedBy)
	}
	return tx.SendBatch(ctx, batch).Close()
}
