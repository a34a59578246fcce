package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ahead is how far in the future a time that was written as of now may lie because the clocks of machines differ, and
// what is put off by less than a pause of River's may be.
const (
	clockTolerance = time.Minute
	jobTolerance   = 10 * time.Minute
)

// FollowClock sees to it that nothing waits until a clock that went back is where it was: what was put off by a clock
// that was ahead is put off for as long from now on. While clocks go on it changes nothing. Services and steps go by
// the clocks of programs, hosts and jobs by the database's.
//
// Of a service that somebody visits just now the lease is another afterwards: that visit is dropped, and made again.
func (db *DB) FollowClock(ctx context.Context, now time.Time) error {
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

// clockStep is by how much a clock may differ from how time went on before it counts as set: clocks are corrected by
// less.
const clockStep = time.Minute

// Clocks are those of a process and of the database, as they were last looked at.
type Clocks struct {
	at            time.Time // by the clock that nobody sets
	own, database time.Time
}

// Update looks at the clocks, and answers whether one of them was set since the last look: then FollowClock can't wait.
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
