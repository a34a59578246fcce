package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// Jobs returns the database as a driver for River, which distributes jobs to processes.
func (db *DB) Jobs() riverdriver.Driver[pgx.Tx] { return riverpgxv5.New(db.pool) }

// workerLockClass is the first half of the keys of worker locks.
const workerLockClass = 0x746f6c6c // "toll"

// WorkerLock shows that a worker process is alive. It is an advisory lock that ends with its connection, and so with
// the process.
type WorkerLock struct{ conn *pgxpool.Conn }

// LockWorker takes the lock of a worker's id.
func (db *DB) LockWorker(ctx context.Context, id string) (*WorkerLock, error) {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock worker %s: %w", id, err)
	}
	// notice a machine that disappeared
	_, err = conn.Exec(ctx,
		`SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3`)
	if err == nil {
		_, err = conn.Exec(ctx, `SELECT pg_advisory_lock($1, hashtext($2))`, workerLockClass, id)
	}
	if err != nil {
		(&WorkerLock{conn}).Release()
		return nil, fmt.Errorf("lock worker %s: %w", id, err)
	}
	return &WorkerLock{conn}, nil
}

// Check returns the time of the database's clock, or an error if the lock is lost.
func (p *WorkerLock) Check(ctx context.Context) (now time.Time, err error) {
	if err := p.conn.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return now, fmt.Errorf("this worker lost its lock: %w", err)
	}
	return now, nil
}

// Release closes the connection, which releases the lock in any state.
func (p *WorkerLock) Release() {
	conn := p.conn.Hijack()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // the server notices the end of the connection anyway
}

// RescueJobs makes running jobs available again whose worker has no lock, and returns how many. It leaves jobs that
// started less than grace ago, so that a worker that lost its connection can take its lock again. River itself rescues
// the jobs of processes that hang.
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

// JobFigures counts the jobs of a queue.
type JobFigures struct {
	Queue                      string
	Waiting, Running, Retrying int64
	OldestDue                  time.Duration // since when the oldest waiting job has been due
}

// JobFigures counts the unfinished jobs of each queue, sorted by queue.
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

// WaitingJobs returns how many jobs of a queue have not started.
func (db *DB) WaitingJobs(ctx context.Context, queue string) (n int, err error) {
	if err := db.pool.QueryRow(ctx, `SELECT count(*) FROM river_job WHERE state = 'available' AND queue = $1`,
		queue).Scan(&n); err != nil {
		return 0, fmt.Errorf("count waiting jobs of queue %s: %w", queue, err)
	}
	return n, nil
}
