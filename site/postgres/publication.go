package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	// ErrLocked says that another process has the lock.
	ErrLocked = errors.New("another process holds the lock")
	// ErrConflict says that another process changed the row.
	ErrConflict = errors.New("another process changed it; try again")
)

// Publication is the content of the pointer of a publication target, or the content that is about to be written.
type Publication struct {
	Generation       int64 // 0 before the first
	Snapshot, Digest string
	Withdrawn        string
}

// PublicationLock excludes other publishers to one target. It ends with its connection.
type PublicationLock struct {
	conn   *pgxpool.Conn
	target string
}

// publicationLockTimeout is how long LockPublication waits. The server may need as long to notice that a process was
// killed.
const publicationLockTimeout = 2 * time.Second

// LockPublication takes the lock of a target. It waits for publicationLockTimeout at most, then returns ErrLocked.
func (db *DB) LockPublication(ctx context.Context, target string) (*PublicationLock, error) {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock publication %s: %w", target, err)
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// the lock belongs to the connection and outlives the transaction
		if _, err := tx.Exec(ctx, `SELECT set_config('lock_timeout', $1, true)`,
			fmt.Sprint(publicationLockTimeout.Milliseconds())); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `SELECT pg_advisory_lock(hashtextextended('publication ' || $1, 0))`, target)
		return err
	})
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == lockNotAvailable {
		err = ErrLocked
	}
	if err != nil {
		(&PublicationLock{conn, target}).Release() // the connection may have the lock
		return nil, fmt.Errorf("lock publication %s: %w", target, err)
	}
	return &PublicationLock{conn, target}, nil
}

// lockNotAvailable is the SQLSTATE of an expired lock_timeout.
const lockNotAvailable = "55P03"

// Check returns an error if the lock was lost with its connection.
func (l *PublicationLock) Check(ctx context.Context) error {
	if err := l.conn.Ping(ctx); err != nil {
		return fmt.Errorf("publication lock of %s: it is lost: %w", l.target, err)
	}
	return nil
}

// Release closes the connection, which releases the lock in any state.
func (l *PublicationLock) Release() {
	conn := l.conn.Hijack()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // the server notices the end of the connection anyway
}

// Publication reads the publication of a target; it is zero before the first.
func (db *DB) Publication(ctx context.Context, target string) (Publication, error) {
	var p Publication
	err := db.pool.QueryRow(ctx, `
		SELECT generation, snapshot, digest, withdrawn FROM publications WHERE target = $1`, target,
	).Scan(&p.Generation, &p.Snapshot, &p.Digest, &p.Withdrawn)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return p, fmt.Errorf("read publication %s: %w", target, err)
	}
	return p, nil
}

// ReplacePublication writes p in place of the row with generation was (0 for none), or returns ErrConflict.
func (db *DB) ReplacePublication(ctx context.Context, target string, was int64, p Publication, now time.Time) error {
	tag, err := db.pool.Exec(ctx, `
		INSERT INTO publications AS old (target, generation, snapshot, digest, withdrawn, moved_at)
		SELECT $1, $3, $4, $5, $6, $7
		WHERE $2 = 0 OR EXISTS (SELECT FROM publications WHERE target = $1)
		ON CONFLICT (target) DO UPDATE
			SET generation = excluded.generation, snapshot = excluded.snapshot, digest = excluded.digest,
				withdrawn = excluded.withdrawn, moved_at = excluded.moved_at
			WHERE old.generation = $2`,
		target, was, p.Generation, p.Snapshot, p.Digest, p.Withdrawn, now)
	if err == nil && tag.RowsAffected() == 0 {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("replace publication %s: %w", target, err)
	}
	return nil
}

// RemovedServices returns the slugs of the services that the operator erased or hid, sorted.
func (db *DB) RemovedServices(ctx context.Context) ([]string, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT slug FROM removed_services UNION SELECT slug FROM services WHERE listing_state = 'hidden' ORDER BY slug`)
	if err != nil {
		return nil, fmt.Errorf("read removed_services: %w", err)
	}
	slugs, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read removed_services: %w", err)
	}
	return slugs, nil
}
