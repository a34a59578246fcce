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
	// ErrLocked is a lock that another process holds.
	ErrLocked = errors.New("another process holds the lock")
	// ErrOutrun is a row that is another by now.
	ErrConflict = errors.New("somebody else was first")
)

// Publication is what the pointer of a place says that snapshots are published to, or is about to say.
type Publication struct {
	Generation       int64 // 0 before the first
	Snapshot, Digest string
	Withdrawn        string
}

// PublicationLock keeps other publishers to one place out. It lies on a connection of its own and goes with it.
type PublicationLock struct {
	conn   *pgxpool.Conn
	target string
}

// publicationLockTimeout is how long a lock is waited for: as long as the server may need to notice that its holder was
// killed.
const publicationLockTimeout = 2 * time.Second

// LockPublication takes the lock of a place, waiting for publicationPatience at most, or answers ErrLocked.
func (db *DB) LockPublication(ctx context.Context, target string) (*PublicationLock, error) {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock publication %s: %w", target, err)
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { // the lock is the connection's and outlives the transaction
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
		(&PublicationLock{conn, target}).Release() // whatever it may hold
		return nil, fmt.Errorf("lock publication %s: %w", target, err)
	}
	return &PublicationLock{conn, target}, nil
}

// lockNotAvailable is how Postgres says that lock_timeout has passed.
const lockNotAvailable = "55P03"

// Check says whether the lock still lies on its connection.
func (l *PublicationLock) Check(ctx context.Context) error {
	if err := l.conn.Ping(ctx); err != nil {
		return fmt.Errorf("publication lock of %s: it is lost: %w", l.target, err)
	}
	return nil
}

// Release closes the connection, and so lets go of the lock whatever its state.
func (l *PublicationLock) Release() {
	conn := l.conn.Hijack()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // the server notices either way
}

// Publication reads what is known of a place, zero before its first publication.
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

// ReplacePublication writes p in place of the row with generation was, 0 for none, or answers ErrOutrun.
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

// RemovedServices are the slugs that the operator took off the directory.
func (db *DB) RemovedServices(ctx context.Context) ([]string, error) {
	rows, err := db.pool.Query(ctx, `SELECT slug FROM removed_services ORDER BY slug`)
	if err != nil {
		return nil, fmt.Errorf("read removed services: %w", err)
	}
	slugs, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read removed services: %w", err)
	}
	return slugs, nil
}
