// Package rechecks makes services due before their time when somebody asks for it, within limits.
//
// It owns the table rechecks. It must never visit a service, or know how a request is sent.
package rechecks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tollbook/site"
)

// lockClient is the class of the advisory locks of clients, after those of package suggestions.
const lockClient = 402_005

// day is the time in which re-checks of a service are counted.
const day = 24 * time.Hour

// Store stores which services were to be checked again.
type Store struct{ pool *pgxpool.Pool }

// New returns the store of the database that a pool is connected to.
func New(pool *pgxpool.Pool) *Store { return &Store{pool} }

// Request makes a service due at once for a client, whose name is a keyed hash. A visit that runs is not disturbed: its
// result is the one that was asked for. Besides errors of the database it returns site.ErrNotFound,
// *site.UnvisitedError and *site.SubmissionLimitError. Requests of one client, and requests for one service, are
// processed one after the other until the commit, so parallel requests cannot exceed a limit.
func (s *Store) Request(ctx context.Context, client []byte, r site.IncomingRecheck) (site.RecheckResult, error) {
	r.At = r.At.Truncate(time.Millisecond) // as the response has it
	var result site.RecheckResult
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1::integer, hashtext(encode($2, 'hex')))`, lockClient,
			client); err != nil {
			return err
		}
		service, err := lockService(ctx, tx, r.Slug)
		if err != nil {
			return err
		}
		if err := service.check(r.At); err != nil {
			return err
		}
		if err := checkLimits(ctx, tx, service.id, client, r.At); err != nil {
			return err
		}
		result, err = service.request(ctx, tx, client, r)
		return err
	})
	if err != nil {
		return site.RecheckResult{}, fmt.Errorf("request a re-check of %s: %w", r.Slug, err)
	}
	return result, nil
}

// service is what a re-check needs of a service.
type service struct {
	id      int64
	state   string
	checked *time.Time
}

// lockService reads a service and locks the row that says when it is due.
func lockService(ctx context.Context, tx pgx.Tx, slug string) (s service, err error) {
	err = tx.QueryRow(ctx, `
		SELECT id, listing_state, last_checked_at FROM services JOIN service_states ON service_id = id
		WHERE slug = $1 AND listing_state <> 'hidden' FOR NO KEY UPDATE OF service_states`, slug).
		Scan(&s.id, &s.state, &s.checked)
	if errors.Is(err, pgx.ErrNoRows) {
		err = site.ErrNotFound
	}
	return s, err
}

// check refuses a service that is not visited, and one that was visited a moment ago.
func (s service) check(now time.Time) error {
	switch s.state {
	case "paused":
		return &site.UnvisitedError{Message: "checks of this service are paused"}
	case "retired":
		return &site.UnvisitedError{Message: "this service is delisted; its checks have ended"}
	}
	if s.checked == nil {
		return nil
	}
	// A check in the future was recorded while a clock was ahead.
	if ago := now.Sub(*s.checked); ago.Abs() < site.RecheckAfter {
		return newLimitError(site.RecheckAfter-max(ago, 0), "this service was checked within the last minute")
	}
	return nil
}

// newLimitError returns the refusal of a re-check that may be requested again after a time. People read its message on
// a page, so it contains that time.
func newLimitError(after time.Duration, format string, args ...any) error {
	unit := time.Second
	for _, longer := range []time.Duration{time.Minute, time.Hour} {
		if after > 2*longer {
			unit = longer
		}
	}
	n := (after + unit - 1) / unit
	name := map[time.Duration]string{time.Second: "second", time.Minute: "minute", time.Hour: "hour"}[unit]
	if n != 1 {
		name += "s"
	}
	return &site.SubmissionLimitError{
		Message: fmt.Sprintf(format, args...) + fmt.Sprintf("; ask again in %d %s", n, name), RetryAfter: after,
	}
}

// checkLimits deletes requests that no limit counts any more. It refuses a service for which a re-check was requested a
// moment ago or the maximum number of times in a day, and a client that sent the maximum number in an hour.
func checkLimits(ctx context.Context, tx pgx.Tx, service int64, client []byte, now time.Time) error {
	var newest, first, sent *time.Time // first and sent: of the newest ones that reach the limit
	var ofService, ofClient int
	if _, err := tx.Exec(ctx, `
		DELETE FROM rechecks WHERE ctid = ANY (ARRAY (
			SELECT ctid FROM rechecks WHERE requested_at <= $1 FOR UPDATE SKIP LOCKED))`, now.Add(-day)); err != nil {
		return err
	}
	err := tx.QueryRow(ctx, `
		SELECT max(requested_at), min(requested_at), count(*) FROM (
			SELECT requested_at FROM rechecks WHERE service_id = $1 AND requested_at > $2
			ORDER BY requested_at DESC LIMIT $3) AS recent`,
		service, now.Add(-day), site.RechecksPerDay).Scan(&newest, &first, &ofService)
	if err != nil {
		return err
	}
	err = tx.QueryRow(ctx, `
		SELECT min(requested_at), count(*) FROM (
			SELECT requested_at FROM rechecks WHERE client = $1 AND requested_at > $2
			ORDER BY requested_at DESC LIMIT $3) AS recent`,
		client, now.Add(-time.Hour), site.RechecksPerHour).Scan(&sent, &ofClient)
	switch {
	case err != nil:
		return err
	case ofClient >= site.RechecksPerHour:
		return newLimitError(sent.Add(time.Hour).Sub(now), "%d re-checks an hour are taken from one address",
			site.RechecksPerHour)
	case ofService >= site.RechecksPerDay:
		return newLimitError(first.Add(day).Sub(now), "%d re-checks a day are made of one service", site.RechecksPerDay)
	case newest != nil && now.Sub(*newest) < site.RecheckGap:
		return newLimitError(newest.Add(site.RecheckGap).Sub(now),
			"a re-check of this service was requested within the last %d minutes", int(site.RecheckGap.Minutes()))
	}
	return nil
}

// request stores the request and makes the service due. A service that is due already, or that a worker visits, keeps
// its time.
func (s service) request(ctx context.Context, tx pgx.Tx, client []byte, r site.IncomingRecheck) (site.RecheckResult,
	error) {
	result := site.RecheckResult{Slug: r.Slug, NextCheckAt: site.NewTime(r.At)}
	if s.checked != nil {
		result.LastCheckedAt = site.TimeOrNull(*s.checked)
	}
	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO rechecks (service_id, requested_at, client) VALUES ($1, $2, $3)`, s.id, r.At, client)
	batch.Queue(`
		UPDATE service_states SET next_check_at = $2
		WHERE service_id = $1 AND next_check_at > $2 AND lease_ends IS DISTINCT FROM next_check_at`, s.id, r.At)
	return result, tx.SendBatch(ctx, batch).Close()
}
