package checks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// startLogs starts the numbering before the oldest of the first checks ever, unless another writer did so, and returns
// where it starts. Checks that were stored as sums only have numbers too.
func startLogs(ctx context.Context, tx pgx.Tx, checks []*Check) (through *time.Time, err error) {
	if len(checks) == 0 {
		return nil, nil
	}
	oldest := checks[0].CheckedAt
	for _, c := range checks {
		if c.CheckedAt.Before(oldest) {
			oldest = c.CheckedAt
		}
	}
	tag, err := tx.Exec(ctx, `
		INSERT INTO log_seal (through, retained_since, first_retained)
		VALUES ($1, $2::timestamptz, (SELECT coalesce(sum(checks), 0) FROM check_days WHERE day < $2::timestamptz))
			ON CONFLICT DO NOTHING`,
		oldest.UTC().Truncate(time.Hour), oldest.UTC().Truncate(24*time.Hour))
	if err != nil {
		return nil, fmt.Errorf("start logs: %w", err)
	}
	if err := tx.QueryRow(ctx, `SELECT through FROM log_seal FOR SHARE`).Scan(&through); err != nil {
		return nil, fmt.Errorf("start logs: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return through, nil // another writer started the logs
	}
	for _, statement := range []string{startPositions, startRuns} {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return nil, fmt.Errorf("start logs: %w", err)
		}
	}
	return through, nil
}

// startPositions numbers the checks that were summed before the logs started.
const startPositions = `
	INSERT INTO log_positions (service_id, rows)
	SELECT service_id, sum(checks) FROM check_days GROUP BY service_id
	UNION ALL SELECT 0, sum(checks) FROM check_days HAVING count(*) > 0`

// sealHours is how many hours, within a UTC day, one transaction seals at most. Visits wait for it.
const sealHours = 6

// SealLogs seals every hour that ended at least delay ago. Its checks and changes get their numbers, each block that
// they fill gets the hour of its pack, and its checks are added to the sums by hour and day. A crash here leaves the
// hours sealed so far; the next run seals the rest.
func (st *Store) SealLogs(ctx context.Context, now time.Time, delay time.Duration) error {
	upTo := now.Add(-delay).UTC().Truncate(time.Hour)
	for more := true; more; {
		err := st.transact(ctx, func(tx pgx.Tx) (err error) {
			more, err = sealHoursOf(ctx, tx, upTo)
			return err
		})
		if err != nil {
			return fmt.Errorf("seal logs up to %s: %w", upTo.Format(time.RFC3339), err)
		}
	}
	return nil
}

// sealHoursOf seals the first open hours before upTo, and reports whether there may be more.
func sealHoursOf(ctx context.Context, tx pgx.Tx, upTo time.Time) (more bool, err error) {
	var through time.Time
	err = tx.QueryRow(ctx, `SELECT through FROM log_seal FOR UPDATE`).Scan(&through)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !through.Before(upTo) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// Seal no hours after the last check: a clock that is ahead must not seal hours in which checks will come.
	var oldest, newest *time.Time
	err = tx.QueryRow(ctx, `SELECT min(checked_at), max(checked_at) FROM checks WHERE checked_at >= $1`,
		through).Scan(&oldest, &newest)
	if err != nil || newest == nil {
		return false, err
	}
	if end := hourOf(*newest).Add(time.Hour); end.Before(upTo) {
		upTo = end
	}
	from := hourOf(*oldest)
	if end := from.Truncate(sealHours * time.Hour).Add(sealHours * time.Hour); end.Before(upTo) {
		upTo, more = end, true
	}
	if err := numberChecks(ctx, tx, from, upTo); err != nil {
		return false, err
	}
	if err := sumChecks(ctx, tx, through, from, upTo); err != nil {
		return false, err
	}
	if err := recordRuns(ctx, tx, from, upTo); err != nil {
		return false, err
	}
	if err := sealStates(ctx, tx, from, upTo); err != nil {
		return false, err
	}
	if err := sealChanges(ctx, tx, through, upTo); err != nil {
		return false, err
	}
	if err := makeDay(ctx, tx, upTo.Truncate(24*time.Hour)); err != nil { // late checks are moved there
		return false, err
	}
	_, err = tx.Exec(ctx, `UPDATE log_seal SET through = $1`, upTo)
	return more, err
}

// hourOf returns the UTC hour that contains t.
func hourOf(t time.Time) time.Time { return t.UTC().Truncate(time.Hour) }

// numberChecks numbers the checks of hours in the log of all services and in the log of each service. A block belongs
// to the pack of the hour of its last row.
func numberChecks(ctx context.Context, tx pgx.Tx, from, to time.Time) error {
	_, err := tx.Exec(ctx, `
		WITH fresh AS MATERIALIZED (
			SELECT service_id, checked_at, id,
				coalesce((SELECT rows FROM log_positions WHERE service_id = 0),
				0) - 1 + row_number() OVER (ORDER BY checked_at, id) AS number,
				coalesce(p.rows, 0) - 1 + row_number() OVER (PARTITION BY service_id
				ORDER BY checked_at, id) AS service_number
			FROM checks LEFT JOIN log_positions p USING (service_id) WHERE checked_at >= $1 AND checked_at < $2
		), numbered AS (
			UPDATE checks c SET number = f.number, service_number = f.service_number FROM fresh f
			WHERE c.checked_at >= $1 AND c.checked_at < $2 AND c.service_id = f.service_id
				AND c.checked_at = f.checked_at AND c.id = f.id
		), filled AS (
			INSERT INTO log_blocks (service_id, block, hour)
			SELECT 0, number / $3, date_trunc('hour', checked_at, 'UTC') FROM fresh WHERE number % $3 = $3 - 1
			UNION ALL SELECT service_id, service_number / $3, date_trunc('hour', checked_at, 'UTC') FROM fresh
				WHERE service_number % $3 = $3 - 1
		)
		INSERT INTO log_positions (service_id, rows)
		SELECT 0, max(number) + 1 FROM fresh HAVING count(*) > 0
		UNION ALL SELECT service_id, max(service_number) + 1 FROM fresh GROUP BY service_id
		ON CONFLICT (service_id) DO UPDATE SET rows = excluded.rows`, from, to, int64(site.BlockSize))
	if err != nil {
		return fmt.Errorf("number checks: %w", err)
	}
	return nil
}
