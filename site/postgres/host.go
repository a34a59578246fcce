package postgres

import (
	"context"
	"fmt"
	"time"

	"tollbook/site/postgres/rows"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// HostRules says how often a host may be asked.
type HostRules struct {
	Gap    time.Duration // from the end of a request to the next
	Refill time.Duration // time in which one request is added to the hour's allowance; 0 for no allowance
	Burst  time.Duration // unused allowance that may accumulate
	// length of a lease, longer than any request; 0 to ask without one
	Hold time.Duration
}

// busyPoll is the longest wait before a busy host is tried again, because the end of a request cannot be predicted.
const busyPoll = 250 * time.Millisecond

// TakeHost leases a host to a holder if the host may be asked now. Until ReleaseHosts, nobody else may ask it.
// Otherwise it returns how long to wait before the next try, more than 0. The clock is the database's, so that the
// clocks of machines need not agree.
//
// This and the following methods are single statements, so that a process that stops keeps no row locked. They do not
// wait for the disk: a crash of the server loses at most a second of pauses.
func (db *DB) TakeHost(ctx context.Context, host string, holder uuid.UUID, r HostRules) (wait time.Duration,
	err error) {
	waits, err := db.TakeHosts(ctx, []string{host}, holder, r)
	if err != nil {
		return 0, err
	}
	return waits[0], nil
}

// TakeHosts is TakeHost for several hosts in one statement. It returns the wait for each. Of two processes that take a
// host the first gets it.
func (db *DB) TakeHosts(ctx context.Context, hosts []string, holder uuid.UUID, r HostRules) (waits []time.Duration,
	err error) {
	// The second of two processes waits for the row lock of the first and then sees its values. Rows are locked in the
	// order of their names, which prevents deadlocks.
	taken, err := rows.Column[string](ctx, db.pool, `
		INSERT INTO hosts AS h (host, next_at, refilled_at, held_by, held_until)
		SELECT DISTINCT asked, now + $3::interval, now + $4::interval, $2::uuid, now + $6::interval
		FROM unnest($1::text[]) AS asked, clock_timestamp() AS now, set_config('synchronous_commit', 'off', true)
		ORDER BY asked
		ON CONFLICT (host) DO UPDATE SET next_at = clock_timestamp() + $3::interval,
			refilled_at = greatest(h.refilled_at, clock_timestamp()) + $4::interval,
			held_by = $2, held_until = clock_timestamp() + $6::interval
		WHERE h.next_at <= clock_timestamp() AND h.refilled_at <= clock_timestamp() + $5::interval
			AND (h.held_by IS NULL OR h.held_by = $2 OR h.held_until <= clock_timestamp())
		RETURNING host`,
		hosts, holder, r.Gap, r.Refill, max(r.Burst, 0), r.Hold)
	if err != nil {
		return nil, fmt.Errorf("take %d hosts: %w", len(hosts), err)
	}
	waits = make([]time.Duration, len(hosts))
	if len(taken) == len(hosts) {
		return waits, nil
	}
	mine, left := make(map[string]bool, len(taken)), map[string]time.Duration{}
	for _, host := range taken {
		mine[host] = true
	}
	rows, err := db.pool.Query(ctx, `
		SELECT host, greatest(next_at, refilled_at - $3::interval) - clock_timestamp(), coalesce(held_by <> $2, false)
			AND held_until > clock_timestamp()
		FROM hosts WHERE host = ANY($1)`, hosts, holder, max(r.Burst, 0))
	if err != nil {
		return nil, fmt.Errorf("wait for hosts: %w", err)
	}
	var host string
	var ready time.Duration
	var held bool
	_, err = pgx.ForEachRow(rows, []any{&host, &ready, &held}, func() error {
		if held {
			ready = max(ready, min(r.Gap/4, busyPoll))
		}
		left[host] = ready
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("wait for hosts: %w", err)
	}
	for i, host := range hosts {
		if !mine[host] {
			waits[i] = max(left[host], time.Millisecond) // a host that was deleted meanwhile is free
		}
		mine[host] = false
	}
	return waits, nil
}

// DelayHost says that a request has ended. The holder keeps its lease and asks again after the gap.
func (db *DB) DelayHost(ctx context.Context, host string, holder uuid.UUID, gap time.Duration) error {
	_, err := db.pool.Exec(ctx, `
		UPDATE hosts SET next_at = clock_timestamp() + $3::interval FROM set_config('synchronous_commit', 'off', true)
		WHERE host = $1 AND held_by = $2`, host, holder, gap)
	if err != nil {
		return fmt.Errorf("delay host %s: %w", host, err)
	}
	return nil
}

// ReleaseHosts ends the leases of hosts. Others may ask them after the gap. Hosts that another holder has leased
// meanwhile are unchanged.
func (db *DB) ReleaseHosts(ctx context.Context, hosts []string, holder uuid.UUID, gap time.Duration) error {
	_, err := db.pool.Exec(ctx, `
		WITH mine AS MATERIALIZED (SELECT host FROM hosts WHERE host = ANY($1) AND held_by = $2 ORDER BY host
			FOR NO KEY UPDATE)
		UPDATE hosts h SET next_at = clock_timestamp() + $3::interval, held_by = NULL
			FROM mine, set_config('synchronous_commit', 'off', true)
		WHERE h.host = mine.host`, hosts, holder, gap)
	if err != nil {
		return fmt.Errorf("release %d hosts: %w", len(hosts), err)
	}
	return nil
}

// DeleteIdleHosts deletes hosts that may be asked at once and have their whole allowance.
func (db *DB) DeleteIdleHosts(ctx context.Context) error {
	_, err := db.pool.Exec(ctx, `
		DELETE FROM hosts WHERE host IN (
			SELECT host FROM hosts WHERE greatest(next_at, refilled_at,
				held_until) < clock_timestamp() - interval '1 hour' FOR UPDATE SKIP LOCKED
		)`)
	if err != nil {
		return fmt.Errorf("delete idle hosts: %w", err)
	}
	return nil
}
