package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// clockTolerance is how far in the future a time may be that was written as of now. Clocks of machines differ by less.
// jobTolerance is the same for jobs, which River may delay for a few minutes.
const (
	clockTolerance = time.Minute
	jobTolerance   = 10 * time.Minute
)

// RestartLateDelays shortens delays, once, after a clock was set back. A delay that started at a time that is now in the
// future starts again now. Otherwise it changes nothing. Services and steps follow the program's clock, hosts and jobs the
// database's.
//
// The lease of a service that is being visited changes. That visit is dropped, and the service is visited again.
func (db *DB) RestartLateDelays(ctx context.Context, now time.Time) error {
	b := &pgx.Batch{}
	b.Queue(`
		WITH late AS (
			SELECT service_id FROM service_states WHERE last_checked_at > $1::timestamptz + $2::interval
				AND next_check_at > last_checked_at
			ORDER BY service_id FOR NO KEY UPDATE
		)
		UPDATE service_states s SET next_check_at = $1::timestamptz + (next_check_at - last_checked_at) FROM late
			WHERE late.service_id = s.service_id`, now, clockTolerance)
	b.Queue(`
		UPDATE steps SET began_at = least(began_at, $1), ended_at = least(ended_at, $1)
		WHERE greatest(began_at, ended_at) > $1::timestamptz + $2::interval`, now, clockTolerance)
	b.Queue(`
		DELETE FROM hosts WHERE host IN (
			SELECT host FROM hosts WHERE greatest(next_at, held_until) > clock_timestamp() + $1::interval
				FOR UPDATE SKIP LOCKED
		)`, jobTolerance)
	b.Queue(`
		UPDATE river_job SET scheduled_at = now() WHERE id IN (
			SELECT id FROM river_job
			WHERE state IN ('available', 'retryable', 'scheduled') AND scheduled_at > now() + $1::interval
				FOR UPDATE SKIP LOCKED
		)`, jobTolerance)
	b.Queue(`DELETE FROM river_leader WHERE expires_at > now() + $1::interval`, jobTolerance)
	if err := db.pool.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("follow the clock: %w", err)
	}
	return nil
}

// NewestFact returns the newest time after now, and at most within after it, at which a service was visited, listed or
// changed: the clock was set back since, or another machine's is ahead. It is zero if there is none.
func (db *DB) NewestFact(ctx context.Context, now time.Time, within time.Duration) (newest time.Time, err error) {
	var at *time.Time
	err = db.pool.QueryRow(ctx, `
		SELECT greatest(
			(SELECT max(last_checked_at) FROM service_states WHERE last_checked_at BETWEEN $1 AND $2),
			(SELECT max(created_at) FROM services WHERE created_at BETWEEN $1 AND $2),
			(SELECT max(observed_at) FROM changes WHERE number IS NULL AND observed_at BETWEEN $1 AND $2))`,
		now, now.Add(within)).Scan(&at)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the time of the newest fact: %w", err)
	}
	if at != nil {
		newest = *at
	}
	return newest, nil
}

// clockStep is how much a clock may deviate from the time that passed before it counts as set. Corrections of a running
// clock are smaller.
const clockStep = time.Minute

// Clocks contains the clocks of a process and of the database as last read.
type Clocks struct {
	at            time.Time // monotonic
	own, database time.Time
}

// Update stores the current times of both clocks, and reports whether one of them was set since the last call. Then
// RestartLateDelays must run.
func (c *Clocks) Update(own, database time.Time) bool {
	before := *c
	*c = Clocks{time.Now(), own.Round(0), database.Round(0)}
	if before.at.IsZero() {
		return false
	}
	passed := c.at.Sub(before.at)
	return (c.own.Sub(before.own)-passed).Abs() > clockStep ||
		(c.database.Sub(before.database)-passed).Abs() > clockStep
}
