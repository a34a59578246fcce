package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/consent"
	"tollbook/site/postgres/sources"
)

// Listed is what a directory lists.
type Listed struct {
	Services []DueService     // by slug, with their endpoints
	Erased   map[string]bool  // slugs of erased services, which are never given again
	Removed  []RemovedService // erased services, in the order of their erasure
	OptOuts  consent.OptOuts
	Moved    map[string]string // old host of each host that services moved to; see package moves
}

// HiddenService is a service that is not published.
type HiddenService struct {
	ID         int64
	Slug, Name string
}

// readHidden reads the hidden services by slug.
func (r *Reader) readHidden(ctx context.Context) ([]HiddenService, error) {
	list, err := collect(ctx, r.tx, pgx.RowToStructByPos[HiddenService],
		`SELECT id, slug, name FROM services WHERE listing_state = 'hidden' ORDER BY slug`)
	if err != nil {
		return nil, fmt.Errorf("read hidden services: %w", err)
	}
	return list, nil
}

// ListingChanges are changes of what a directory lists.
type ListingChanges struct {
	Add    []Listing
	Change []ListingChange
}

// ListingChange changes a listed service. Its slug stays.
type ListingChange struct {
	Listing         // the new values; Endpoints are those to add
	ID              int64
	Unverify        bool        // the proof of ownership was for another host
	RemoveEndpoints []uuid.UUID // with their responses and prices
	State           string      // the new state; "" to leave it
	Pruned          bool        // the service is retired because a file no longer names it
	Action, Detail  string      // for the audit trail
}

// Listed reads what the directory lists, hidden and retired services too.
func (db *DB) Listed(ctx context.Context) (l Listed, err error) {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, db.pool, options, func(tx pgx.Tx) error {
		l, err = readListed(ctx, tx)
		return err
	})
	if err != nil {
		return l, fmt.Errorf("read the directory: %w", err)
	}
	return l, nil
}

func readListed(ctx context.Context, tx pgx.Tx) (l Listed, err error) {
	list, err := services(ctx, tx, `SELECT `+serviceColumns+` FROM `+serviceRows+` ORDER BY slug COLLATE "C"`)
	if err != nil {
		return l, err
	}
	if l.Services, err = withEndpoints(ctx, tx, list); err != nil {
		return l, err
	}
	if l.Removed, err = readRemoved(ctx, tx); err != nil {
		return l, err
	}
	if l.OptOuts, err = consent.Read(ctx, tx); err != nil {
		return l, err
	}
	if l.Moved, err = sources.ReadMoves(ctx, tx); err != nil {
		return l, err
	}
	l.Erased = make(map[string]bool, len(l.Removed))
	for _, r := range l.Removed {
		l.Erased[r.Slug] = true
	}
	return l, nil
}

// ChangeListings writes the changes that plan returns for what the directory lists, in one transaction, with a line of
// the audit trail for each. Two calls wait for each other. A visit that runs meanwhile is dropped and repeated.
func (db *DB) ChangeListings(ctx context.Context, actor string, now time.Time,
	plan func(Listed) (ListingChanges, error)) error {
	return db.Transact(ctx, func(tx pgx.Tx) error {
		if err := lockSlugs(ctx, tx); err != nil {
			return err
		}
		l, err := readListed(ctx, tx)
		if err != nil {
			return fmt.Errorf("read the directory: %w", err)
		}
		changes, err := plan(l)
		if err != nil {
			return err
		}
		ids := make([]int64, len(changes.Change))
		for i, c := range changes.Change {
			ids[i] = c.ID
		}
		if there, err := lockServices(ctx, tx, ids); err != nil {
			return err
		} else if len(there) < len(ids) {
			return errors.New("a service was erased meanwhile; try again")
		}
		for _, l := range changes.Add {
			id, err := AddListing(ctx, tx, l)
			if err != nil {
				return fmt.Errorf("list %s: %w", l.Slug, err)
			}
			if err := auditService(ctx, tx, now, actor, "list", id, l.Slug); err != nil {
				return err
			}
		}
		for _, c := range changes.Change {
			if err := changeListing(ctx, tx, c, actor, now); err != nil {
				return fmt.Errorf("change %s: %w", c.Slug, err)
			}
		}
		return nil
	})
}

// lockSlugs lets one transaction at a time choose slugs.
func lockSlugs(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('tollbook slugs'))`)
	return err
}

func auditService(ctx context.Context, tx pgx.Tx, now time.Time, actor, action string, id int64, detail string) error {
	_, err := tx.Exec(ctx, `INSERT INTO audit (at, actor, action, service_id, detail) VALUES ($1, $2, $3, $4, $5)`,
		now, actor, action, id, detail)
	return err
}

func changeListing(ctx context.Context, tx pgx.Tx, c ListingChange, actor string, now time.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE services SET name = $2, description = $3, base_url = $4, website_url = $5, category = $6, source = $7,
			verified_at = CASE WHEN $8 THEN NULL ELSE verified_at END, pruned = $9,
			listing_state_at = CASE WHEN $10 IN ('', listing_state) THEN listing_state_at ELSE $11 END,
			listing_state = coalesce(nullif($10, ''), listing_state),
			state_before_opt_out = CASE WHEN $10 = '' THEN state_before_opt_out END
		WHERE id = $1`, c.ID, c.Name, c.Description, c.BaseURL, c.WebsiteURL, c.Category, c.Source, c.Unverify,
		c.Pruned, c.State, now)
	if violatedConstraint(err) != "" {
		return ErrListed
	}
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	// also ends the lease of a visit that runs, which would store what was asked before the change
	batch.Queue(`
		UPDATE service_states SET next_check_at = CASE WHEN listing_state = 'listed' THEN $2 ELSE $3::timestamptz END
		FROM services WHERE id = $1 AND service_id = id`, c.ID, now, consent.NeverDue)
	batch.Queue(`UPDATE site_facts SET next_at = $2 WHERE service_id = $1`, c.ID, now)
	batch.Queue(`DELETE FROM endpoints WHERE service_id = $1 AND id = ANY($2::uuid[])`, c.ID, c.RemoveEndpoints)
	queueEndpoints(batch, c.ID, c.Slug, now, c.Endpoints)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	return auditService(ctx, tx, now, actor, c.Action, c.ID, c.Detail)
}
