package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Step is a task for the whole directory that one process at a time repeats, such as build.
type Step struct {
	Name    string
	Period  time.Duration // from one start to the next
	Follows string        // step that must have ended since this one started; "" for none
	BeganAt *time.Time    // of the last run that succeeded, nil before the first
	EndedAt *time.Time
}

// offerLifetime is how long an offer of a step is valid. A process that can run a step offers it every minute.
const offerLifetime = 3 * time.Minute

// OfferSteps says that this process can run steps, and how often each is to be run.
func (db *DB) OfferSteps(ctx context.Context, steps []Step, now time.Time) error {
	b := &pgx.Batch{}
	for _, s := range steps {
		b.Queue(`
			INSERT INTO steps (name, period, follows, offered_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name) DO UPDATE SET period = excluded.period, follows = excluded.follows,
				offered_at = excluded.offered_at`,
			s.Name, s.Period, s.Follows, now)
	}
	if err := db.pool.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("offer steps: %w", err)
	}
	return nil
}

// DueSteps returns the names of the offered steps that are due, sorted.
func (db *DB) DueSteps(ctx context.Context, now time.Time) ([]string, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT s.name FROM steps s LEFT JOIN steps f ON f.name = s.follows
		WHERE s.offered_at > $1::timestamptz - $2::interval AND (s.began_at IS NULL OR s.began_at + s.period <= $1)
			AND (s.follows = '' OR f.ended_at IS NOT NULL AND (s.began_at IS NULL OR f.ended_at > s.began_at))
		ORDER BY s.name`, now, offerLifetime)
	if err != nil {
		return nil, fmt.Errorf("read due steps: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read due steps: %w", err)
	}
	return names, nil
}

// FinishStep stores that a step ran. Of two runs the one that started later counts.
func (db *DB) FinishStep(ctx context.Context, name string, began, ended time.Time) error {
	_, err := db.pool.Exec(ctx, `
		UPDATE steps SET began_at = $2, ended_at = $3 WHERE name = $1
			AND (began_at IS NULL OR began_at < $2)`, name, began, ended)
	if err != nil {
		return fmt.Errorf("store the end of step %s: %w", name, err)
	}
	return nil
}

// Steps reads all steps, sorted by name.
func (db *DB) Steps(ctx context.Context) ([]Step, error) {
	rows, err := db.pool.Query(ctx, `SELECT name, period, follows, began_at, ended_at FROM steps ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("read steps: %w", err)
	}
	steps, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Step])
	if err != nil {
		return nil, fmt.Errorf("read steps: %w", err)
	}
	return steps, nil
}
