package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// HostRules are how a host is asked.
type HostRules struct {
	Gap    time.Duration // from the end of a request to the next
	Regain time.Duration // after which one request of the hour's allowance comes back; 0 for no allowance
	Burst  time.Duration // what the unused allowance may be ahead by
	Hold   time.Duration // after which whoever holds a host is believed dead: longer than any request; 0 to ask without holding it
}

// heldPoll is how often at most a host is looked at while somebody asks it: when he will be done nobody knows.
const heldPoll = 250 * time.Millisecond

// TakeHost takes a host for a holder if its turn has come: from now on nobody else may ask it, until LeaveHost. Else it
// answers how long to wait before trying again, more than nothing. Time is the database's, so that the clocks of machines
// need not agree.
//
// This and what follows are single statements, so that a process that is stopped in between keeps no row locked. They do
// not wait for the disk: a crash of the server itself loses a second of pauses.
func (db *DB) TakeHost(ctx context.Context, host string, holder uuid.UUID, r HostRules) (wait time.Duration, err error) {
	// Of two who come at once, one waits for the other's row and judges what it says then.
	tag, err := db.pool.Exec(ctx, `
		INSERT INTO hosts AS h (host, next_at, regained_at, held_by, held_until)
		SELECT $1, now + $3::interval, now + $4::interval, $2, now + $6::interval
		FROM clock_timestamp() AS now, set_config('synchronous_commit', 'off', true)
		ON CONFLICT (host) DO UPDATE SET next_at = clock_timestamp() + $3::interval,
			regained_at = greatest(h.regained_at, clock_timestamp()) + $4::interval,
			held_by = $2, held_until = clock_timestamp() + $6::interval
		WHERE h.next_at <= clock_timestamp() AND h.regained_at <= clock_timestamp() + $5::interval
			AND (h.held_by IS NULL OR h.held_by = $2 OR h.held_until <= clock_timestamp())`,
		host, holder, r.Gap, r.Regain, max(r.Burst, 0), r.Hold)
	if err != nil {
		return 0, fmt.Errorf("take host %s: %w", host, err)
	}
	if tag.RowsAffected() > 0 {
		return 0, nil
	}
	var ready time.Duration
	var held bool
	err = db.pool.QueryRow(ctx, `
		SELECT greatest(next_at, regained_at - $3::interval) - clock_timestamp(), coalesce(held_by <> $2, false) AND held_until > clock_timestamp()
		FROM hosts WHERE host = $1`, host, holder, max(r.Burst, 0)).Scan(&ready, &held)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("wait for host %s: %w", host, err)
	}
	if held {
		ready = max(ready, min(r.Gap/4, heldPoll))
	}
	return max(ready, time.Millisecond), nil
}

// PaceHost says that the request under way has ended, and that its holder, who keeps the host, asks again after the gap.
func (db *DB) PaceHost(ctx context.Context, host string, holder uuid.UUID, gap time.Duration) error {
	_, err := db.pool.Exec(ctx, `
		UPDATE hosts SET next_at = clock_timestamp() + $3::interval FROM set_config('synchronous_commit', 'off', true)
		WHERE host = $1 AND held_by = $2`, host, holder, gap)
	if err != nil {
		return fmt.Errorf("pace host %s: %w", host, err)
	}
	return nil
}

// LeaveHost lets others have a host, a gap from now. What somebody else took meanwhile stays his.
func (db *DB) LeaveHost(ctx context.Context, host string, holder uuid.UUID, gap time.Duration) error {
	_, err := db.pool.Exec(ctx, `
		UPDATE hosts SET next_at = clock_timestamp() + $3::interval, held_by = NULL FROM set_config('synchronous_commit', 'off', true)
		WHERE host = $1 AND held_by = $2`, host, holder, gap)
	if err != nil {
		return fmt.Errorf("leave host %s: %w", host, err)
	}
	return nil
}

// ForgetHosts forgets hosts that may be asked at once and have their whole allowance.
func (db *DB) ForgetHosts(ctx context.Context) error {
	_, err := db.pool.Exec(ctx, `
		DELETE FROM hosts WHERE host IN (
			SELECT host FROM hosts WHERE greatest(next_at, regained_at, held_until) < clock_timestamp() - interval '1 hour' FOR UPDATE SKIP LOCKED
		)`)
	if err != nil {
		return fmt.Errorf("forget hosts: %w", err)
	}
	return nil
}
