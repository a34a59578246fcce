package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// HourRetention is how long roll-ups of settlements by hour are kept; those by day stay for good.
const HourRetention = 8 * 24 * time.Hour

// startLogs begins the numbering before the oldest of the first checks ever, if nobody else did meanwhile, and answers where it
// begins. What was rolled up before has its numbers too, though its rows are not kept.
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
	if err := startPlaces(ctx, tx); err != nil {
		return nil, err
	}
	return through, nil
}

// sealHours is how many hours are sealed in one transaction at most, within a UTC day: visits wait for it.
const sealHours = 6

// SealLogs packs the checks of every hour that ended at least delay ago by service, numbers them and the changes of these hours, gives
// each block that they fill its place, and sums days that are over.
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
	err = tx.QueryRow(ctx, `SELECT min(hour), max(hour) FROM check_batches`).Scan(&oldest, &newest)
	if err != nil || newest == nil {
		return false, err
	}
	if end := newest.Add(time.Hour); end.Before(upTo) {
		upTo = end
	}
	if end := oldest.UTC().Truncate(sealHours * time.Hour).Add(sealHours * time.Hour); end.Before(upTo) {
		upTo, more = end, true
	}
	if err := packHours(ctx, tx, *oldest, upTo); err != nil {
		return false, err
	}
	if day, end := through.UTC().Truncate(24*time.Hour), upTo.Truncate(24*time.Hour); day.Before(end) {
		if err := closeDays(ctx, tx, day, end); err != nil {
			return false, err
		}
	}
	if err := sealChanges(ctx, tx, through, upTo); err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, `UPDATE log_seal SET through = $1`, upTo)
	return more, err
}

// Retain drops the checks of days more than site.LogDays ago, by whole partitions, the roll-ups of settlements by hour that are older than
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
		table := pgx.Identifier{packPartition(day)}.Sanitize()
		_, err := tx.Exec(ctx, `UPDATE log_seal SET first_kept = first_kept + (SELECT coalesce(sum(length(checks) / $1), 0) FROM `+table+`)`, packedSize)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DROP TABLE `+table); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `DELETE FROM log_blocks WHERE hour < $1`, keep)
	return err
}

// daysWithChecks are the UTC days up to today that have packs or checks of open hours, the newest first.
func daysWithChecks(ctx context.Context, tx pgx.Tx, today time.Time) ([]time.Time, error) {
	rows, err := tx.Query(ctx, `
		SELECT day FROM (
			SELECT to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') AS day FROM pg_inherits WHERE inhparent = 'check_packs'::regclass
			UNION SELECT (hour AT TIME ZONE 'UTC')::date FROM check_batches
		) AS p
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
