package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// HourRetention is how long roll-ups by hour are kept; those by day stay for good.
const HourRetention = 8 * 24 * time.Hour

// startLogs begins the numbering before the oldest of the first checks ever, if nobody else did meanwhile, and answers where it
// begins. What was rolled up before has its numbers too, though its rows are not kept.
func startLogs(ctx context.Context, tx pgx.Tx, checks []Check) (through *time.Time, err error) {
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
		INSERT INTO log_seal (through, kept_since, first_kept)
		VALUES ($1, $2::timestamptz, (SELECT coalesce(sum(checks), 0) FROM check_days WHERE day < $2::timestamptz)) ON CONFLICT DO NOTHING`,
		oldest.UTC().Truncate(time.Hour), oldest.UTC().Truncate(24*time.Hour))
	if err != nil {
		return nil, fmt.Errorf("start logs: %w", err)
	}
	if err := tx.QueryRow(ctx, `SELECT through FROM log_seal FOR SHARE`).Scan(&through); err != nil {
		return nil, fmt.Errorf("start logs: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return through, nil // another writer was first
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO log_positions (service_id, rows)
		SELECT coalesce(service_id, 0), sum(checks) FROM check_days GROUP BY GROUPING SETS ((service_id), ()) HAVING count(*) > 0`)
	if err != nil {
		return nil, fmt.Errorf("start log positions: %w", err)
	}
	return through, nil
}

// sealHours is how many hours are sealed in one transaction at most, within a UTC day: visits wait for it.
const sealHours = 6

// SealLogs sums the checks of every hour that ended at least delay ago, numbers them and the changes of these hours, and gives
// each block that they fill its place.
// A crash leaves what was: hours are sealed a few in one transaction, and sealing again goes on from there.
func (db *DB) SealLogs(ctx context.Context, now time.Time, delay time.Duration) error {
	upTo := now.Add(-delay).UTC().Truncate(time.Hour)
	for more := true; more; {
		err := db.transact(ctx, func(tx pgx.Tx) (err error) {
			more, err = sealHoursOf(ctx, tx, upTo)
			return err
		})
		if err != nil {
			return fmt.Errorf("seal logs up to %s: %w", upTo.Format(time.RFC3339), err)
		}
	}
	return nil
}

// sealHoursOf seals the first of the open hours before upTo, and says whether there may be more of them.
func sealHoursOf(ctx context.Context, tx pgx.Tx, upTo time.Time) (more bool, err error) {
	var through time.Time
	err = tx.QueryRow(ctx, `SELECT through FROM log_seal FOR UPDATE`).Scan(&through)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !through.Before(upTo) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// Not further than there are checks: a clock that is far ahead does not number what is still to come.
	var oldest, newest *time.Time
	err = tx.QueryRow(ctx, `SELECT min(checked_at), max(checked_at) FROM checks WHERE checked_at >= $1`, through).Scan(&oldest, &newest)
	if err != nil || newest == nil {
		return false, err
	}
	if end := newest.UTC().Truncate(time.Hour).Add(time.Hour); end.Before(upTo) {
		upTo = end
	}
	if end := oldest.UTC().Truncate(sealHours * time.Hour).Add(sealHours * time.Hour); end.Before(upTo) {
		upTo, more = end, true
	}
	if err := rollUpOpen(ctx, tx, through, upTo); err != nil {
		return false, err
	}
	return more, number(ctx, tx, through, upTo)
}

// number gives the rows of hours whose checks are summed their numbers, and seals these hours.
func number(ctx context.Context, tx pgx.Tx, through, upTo time.Time) error {
	_, err := tx.Exec(ctx, `
		WITH hours AS (
			SELECT service_id, hour, checks FROM check_hours WHERE hour >= $1 AND hour < $2
			UNION ALL
			SELECT 0, hour, sum(checks) FROM check_hours WHERE hour >= $1 AND hour < $2 GROUP BY hour
		), ends AS (
			SELECT service_id, hour, checks,
				coalesce(p.rows, 0) + sum(checks) OVER (PARTITION BY service_id ORDER BY hour) AS rows
			FROM hours LEFT JOIN log_positions p USING (service_id)
		), filled AS (
			INSERT INTO log_blocks (service_id, block, hour, rows_after)
			SELECT service_id, block, hour, rows - (block + 1) * $3
			FROM ends, generate_series(div(rows - checks, $3)::bigint, div(rows, $3)::bigint - 1) AS block
		)
		INSERT INTO log_positions (service_id, rows)
		SELECT service_id, max(rows) FROM ends GROUP BY service_id
		ON CONFLICT (service_id) DO UPDATE SET rows = excluded.rows`, through, upTo, site.BlockSize)
	if err != nil {
		return err
	}
	if err := sealChanges(ctx, tx, through, upTo); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE log_seal SET through = $1`, upTo)
	return err
}

// Retain drops the checks of days more than site.LogDays ago, by whole partitions, the roll-ups by hour that are older than
// HourRetention, and those by day of which only the last 30 are read when they are more than 90 days old. All others by day
// stay. Checks go once a day.
//
// A clock alone drops nothing: what goes is followed by as many days that have checks, or by settlements as much later, so that one
// that is a year ahead takes no more than the days that it really saw end.
func (db *DB) Retain(ctx context.Context, now time.Time) error {
	err := db.transact(ctx, func(tx pgx.Tx) error {
		if err := retainChecks(ctx, tx, now); err != nil {
			return err
		}
		return retainSettled(ctx, tx, now) // last: indexers wait from here on
	})
	if err != nil {
		return fmt.Errorf("drop what is old on %s: %w", now.UTC().Format(time.DateOnly), err)
	}
	return nil
}

func retainChecks(ctx context.Context, tx pgx.Tx, now time.Time) error {
	today := now.UTC().Truncate(24 * time.Hour)
	days, err := daysWithChecks(ctx, tx, today)
	if err != nil || len(days) <= site.LogDays {
		return err
	}
	var through time.Time
	if err := tx.QueryRow(ctx, `SELECT through FROM log_seal`).Scan(&through); err != nil {
		return fmt.Errorf("read the seal: %w", err)
	}
	keep := earlier(today.AddDate(0, 0, -site.LogDays), days[site.LogDays])
	keep = earlier(keep, through.UTC().Truncate(24*time.Hour)) // what is not summed yet stays
	tag, err := tx.Exec(ctx, `UPDATE log_seal SET kept_since = $1 WHERE kept_since < $1`, keep)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	for _, day := range days {
		if !day.Before(keep) {
			continue
		}
		table := pgx.Identifier{checkPartition(day)}.Sanitize()
		if _, err := tx.Exec(ctx, `UPDATE log_seal SET first_kept = first_kept + (SELECT count(*) FROM `+table+`)`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DROP TABLE `+table); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, `DELETE FROM log_blocks WHERE hour < $1`, keep); err != nil {
		return err
	}
	hours := earlier(now.Add(-HourRetention), days[HourRetention/(24*time.Hour)].AddDate(0, 0, 1))
	_, err = tx.Exec(ctx, `DELETE FROM check_hours WHERE hour < $1 AND hour < (SELECT through FROM log_seal)`, hours)
	return err
}

// daysWithChecks are the UTC days up to today that have a partition, the newest first.
func daysWithChecks(ctx context.Context, tx pgx.Tx, today time.Time) ([]time.Time, error) {
	rows, err := tx.Query(ctx, `
		SELECT day FROM (SELECT to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') AS day FROM pg_inherits WHERE inhparent = 'checks'::regclass) AS p
		WHERE day <= $1 ORDER BY day DESC`, today)
	if err != nil {
		return nil, fmt.Errorf("list days with checks: %w", err)
	}
	days, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil {
		return nil, fmt.Errorf("list days with checks: %w", err)
	}
	return days, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
