package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// Jobs is the database as River, which spreads jobs over processes, sees it.
func (db *DB) Jobs() riverdriver.Driver[pgx.Tx] { return riverpgxv5.New(db.pool) }

// migrateJobs brings the tables of River to its newest schema.
func migrateJobs(ctx context.Context, pool *pgxpool.Pool, conn *pgx.Conn) error {
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("prepare migrations of jobs: %w", err)
	}
	have, err := m.ExistingVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version of jobs: %w", err)
	}
	if all := m.AllVersions(); len(have) >= len(all) {
		if len(have) > len(all) {
			return fmt.Errorf("%w (its jobs have version %d, this program %d): use a newer tollbook", ErrNewerSchema,
				len(have), len(all))
		}
		return nil
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtext('tollbook jobs'))`); err != nil {
		return fmt.Errorf("lock migrations of jobs: %w", err)
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil) // what another process has done meanwhile is not done again
	if _, unlock := conn.Exec(context.WithoutCancel(ctx),
		`SELECT pg_advisory_unlock(hashtext('tollbook jobs'))`); err == nil {
		err = unlock
	}
	if err != nil {
		return fmt.Errorf("migrate jobs: %w", err)
	}
	return nil
}

// workerLockClass is the first half of the keys of the locks that processes at work hold.
const workerLockClass = 0x746f6c6c // "toll"

// WorkerLock is the sign of a process at work: a lock that goes with its connection, and so with the process, however
// that ends.
type WorkerLock struct{ conn *pgxpool.Conn }

// LockWorker takes the lock of a worker's id.
func (db *DB) LockWorker(ctx context.Context, id string) (*WorkerLock, error) {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("appear as %s: %w", id, err)
	}
	// a machine that is gone says nothing
	_, err = conn.Exec(ctx,
		`SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3`)
	if err == nil {
		_, err = conn.Exec(ctx, `SELECT pg_advisory_lock($1, hashtext($2))`, workerLockClass, id)
	}
	if err != nil {
		(&WorkerLock{conn}).Release()
		return nil, fmt.Errorf("appear as %s: %w", id, err)
	}
	return &WorkerLock{conn}, nil
}

// Check answers the database's clock, or an error when the lock is lost.
func (p *WorkerLock) Check(ctx context.Context) (now time.Time, err error) {
	if err := p.conn.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return now, fmt.Errorf("the sign of this worker is lost: %w", err)
	}
	return now, nil
}

// Release closes the connection, and so lets go of the lock whatever its state.
func (p *WorkerLock) Release() {
	conn := p.conn.Hijack()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // the server notices either way
}

// RescueJobs gives the jobs of processes that are gone to others, and answers how many: those that run and whose worker
// holds no lock, after a grace in which one that lost its connection takes it again (or before, by a clock that went
// back). Jobs of a process that hangs are River's to rescue, when they have taken too long.
func (db *DB) RescueJobs(ctx context.Context, grace time.Duration) (int64, error) {
	tag, err := db.pool.Exec(ctx, `
		UPDATE river_job SET state = 'available', scheduled_at = now()
		WHERE id IN (
			SELECT id FROM river_job
			WHERE state = 'running' AND (attempted_at < now() - $2::interval OR attempted_at > now() + $2::interval)
				AND NOT EXISTS (
				SELECT FROM pg_locks
				WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database
					WHERE datname = current_database())
					AND classid::bigint = $1 AND objid::bigint = hashtext(attempted_by[array_length(attempted_by,
						1)])::bigint & 4294967295
					AND objsubid = 2 AND granted
			)
			FOR UPDATE SKIP LOCKED
		) AND state = 'running'`, workerLockClass, grace)
	if err != nil {
		return 0, fmt.Errorf("rescue jobs: %w", err)
	}
	return tag.RowsAffected(), nil
}

// JobFigures say how a queue stands.
type JobFigures struct {
	Queue                      string
	Waiting, Running, Retrying int64
	OldestDue                  time.Duration // how long the oldest job that waits has been due
}

// JobFigures reads how the queues stand, by name. Finished jobs are not looked at.
func (db *DB) JobFigures(ctx context.Context) ([]JobFigures, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT queue, count(*) FILTER (WHERE state = 'available'), count(*) FILTER (WHERE state = 'running'),
			count(*) FILTER (WHERE state IN ('retryable', 'scheduled', 'pending')),
			greatest(now() - min(scheduled_at) FILTER (WHERE state = 'available'), interval '0')
		FROM river_job WHERE state IN ('available', 'running', 'retryable', 'scheduled', 'pending')
		GROUP BY queue ORDER BY queue`)
	if err != nil {
		return nil, fmt.Errorf("read figures of jobs: %w", err)
	}
	figures, err := pgx.CollectRows(rows, pgx.RowToStructByPos[JobFigures])
	if err != nil {
		return nil, fmt.Errorf("read figures of jobs: %w", err)
	}
	return figures, nil
}

// WaitingJobs is how many jobs of a queue nobody has begun.
func (db *DB) WaitingJobs(ctx context.Context, queue string) (n int, err error) {
	if err := db.pool.QueryRow(ctx, `SELECT count(*) FROM river_job WHERE state = 'available' AND queue = $1`,
		queue).Scan(&n); err != nil {
		return 0, fmt.Errorf("count jobs that wait in %s: %w", queue, err)
	}
	return n, nil
}
