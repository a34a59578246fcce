package checks

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// PrepareLoad starts the logs of an empty database at since, and creates the partitions of the days from since to now.
func PrepareLoad(ctx context.Context, tx pgx.Tx, since, now time.Time) error {
	for day := since; !day.After(now); day = day.AddDate(0, 0, 1) {
		if err := makeDay(ctx, tx, day); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `INSERT INTO log_seal (through, retained_since) VALUES ($1, $1)`, since)
	return err
}

// QueueNumbers gives numbers to the checks that were loaded as sums of days, before any other check, and finds their
// runs of failed checks.
func QueueNumbers(b *pgx.Batch) {
	b.Queue(`UPDATE log_seal SET first_retained = (SELECT coalesce(sum(checks), 0) FROM check_days)`)
	b.Queue(startPositions)
	b.Queue(startRuns)
}
