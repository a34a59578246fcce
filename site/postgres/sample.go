package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// AddSample lists services together with a past that was made up for them, all of it or none, and says in settings that
// this directory holds such data. The logs begin at the oldest check.
func (db *DB) AddSample(ctx context.Context, source string, listings []Listing, histories []History) error {
	var checks []*Check
	for _, h := range histories {
		for i := range h.Checks {
			checks = append(checks, &h.Checks[i])
		}
	}
	err := db.makeDays(ctx, checks)
	if err == nil {
		err = db.transact(ctx, func(tx pgx.Tx) error { return addSample(ctx, tx, source, listings, histories) })
	}
	if err != nil {
		return fmt.Errorf("add sample: %w", err)
	}
	return nil
}

func addSample(ctx context.Context, tx pgx.Tx, source string, listings []Listing, histories []History) error {
	for _, l := range listings {
		if err := addListing(ctx, tx, l); err != nil {
			return fmt.Errorf("list %s: %w", l.Slug, err)
		}
	}
	var checks []*Check
	ids := map[string]int64{}
	for _, h := range histories {
		var id int64
		if err := tx.QueryRow(ctx, `SELECT id FROM services WHERE slug = $1`, h.Slug).Scan(&id); err != nil {
			return fmt.Errorf("find %s: %w", h.Slug, err)
		}
		ids[h.Slug] = id
		if err := addCheckDays(ctx, tx, id, h.Days); err != nil {
			return err
		}
		for _, c := range h.Checks {
			c.ServiceID = id
			checks = append(checks, &c)
		}
	}
	slices.SortFunc(checks, func(a, b *Check) int { return a.CheckedAt.Compare(b.CheckedAt) })
	if _, err := startLogs(ctx, tx, checks); err != nil {
		return err
	}
	if _, err := recordChecks(ctx, tx, checks); err != nil {
		return err
	}
	for _, h := range histories {
		if err := addHistory(ctx, tx, ids[h.Slug], h); err != nil {
			return fmt.Errorf("write history of %s: %w", h.Slug, err)
		}
	}
	_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES ('source', $1)`, source)
	return err
}

// addCheckDays adds days of a service to those that are stored.
func addCheckDays(ctx context.Context, tx pgx.Tx, service int64, days []Rollup) error {
	b := &pgx.Batch{}
	for _, d := range days {
		b.Queue(`INSERT INTO check_days AS old (service_id, day, `+sumColumns+`, histogram) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`+addToDay,
			service, d.Start, d.Checks, d.Counted, d.Up, d.Timed, d.ResponseMS, d.Histogram)
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("add to days: %w", err)
	}
	return nil
}

func addHistory(ctx context.Context, tx pgx.Tx, id int64, h History) error {
	b := &pgx.Batch{}
	for _, e := range h.Endpoints {
		b.Queue(`
			UPDATE endpoints SET first_seen_at = $2, last_paid_at = $3, last_probed_at = $3, fingerprint = $4,
				verdict = CASE WHEN $3::timestamptz IS NULL THEN NULL ELSE 'paid' END, verdict_at = $3
			WHERE id = $1`,
			EndpointID(h.Slug, e.Method, e.Path), e.FirstSeenAt, e.LastPaidAt, e.Fingerprint)
	}
	queuePrices(b, h.Prices)
	for _, c := range h.Changes { // oldest first: each leaves the mark of its type
		queueChange(b, id, c)
	}
	if n := len(h.Checks); n > 0 {
		last, since := h.Checks[n-1], failingSince(h.Checks)
		longer := since != nil && since.Equal(h.Checks[0].CheckedAt) // it failed before the first of these checks
		b.Queue(`
			UPDATE service_states SET last_checked_at = $2, newest_check_at = $2, last_status = $3, consecutive_failures = $4, last_success_at = paid.at,
				failing_since = least($5, CASE WHEN $6 THEN paid.at END)
			FROM (SELECT max(last_paid_at) AS at FROM endpoints WHERE service_id = $1) paid
			WHERE service_id = $1`, id, last.CheckedAt, last.Status, last.ConsecutiveFailures, since, longer)
	}
	return tx.SendBatch(ctx, b).Close()
}

// failingSince is the time of the first of the offline visits that checks end with, nil when they end otherwise.
func failingSince(checks []Check) *time.Time {
	var since *time.Time
	for _, c := range slices.Backward(checks) {
		if c.ConsecutiveFailures == 0 {
			break
		}
		since = &c.CheckedAt
	}
	return since
}
