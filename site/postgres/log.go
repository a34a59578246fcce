package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tollbook/site"
	"tollbook/site/postgres/ledger"
)

// startLogs begins the numbering before the oldest of the first checks ever, if nobody else did meanwhile, and returns
// where it begins. Checks that were summed before have their numbers too, though their rows are not kept.
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
	if _, err := tx.Exec(ctx, startPositions); err != nil {
		return nil, fmt.Errorf("start logs: %w", err)
	}
	return through, nil
}

// startPositions numbers the checks that were summed before the logs began.
const startPositions = `
	INSERT INTO log_positions (service_id, rows)
	SELECT service_id, sum(checks) FROM check_days GROUP BY service_id
	UNION ALL SELECT 0, sum(checks) FROM check_days HAVING count(*) > 0`

// sealHours is how many hours are sealed in one transaction at most, within a UTC day: visits wait for it.
const sealHours = 6

// SealLogs seals every hour that ended at least delay ago: its checks and changes get their numbers, each block that
// they fill gets the hour of its pack, and its checks are added to the sums by hour and day. Hours are sealed a few in
// one transaction: after a crash, sealing goes on from there.
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

// sealHoursOf seals the first of the open hours before upTo, and returns whether there may be more of them.
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
	if err := sumChecks(ctx, tx, from, upTo); err != nil {
		return false, err
	}
	if err := sealChanges(ctx, tx, through, upTo); err != nil {
		return false, err
	}
	if err := makeDay(ctx, tx, upTo.Truncate(24*time.Hour)); err != nil { // checks that come late go there
		return false, err
	}
	_, err = tx.Exec(ctx, `UPDATE log_seal SET through = $1`, upTo)
	return more, err
}

// hourOf returns the UTC hour of a time.
func hourOf(t time.Time) time.Time { return t.UTC().Truncate(time.Hour) }

// numberChecks numbers the checks of hours in the log of all services and in that of each. A block belongs into the
// pack of the hour of its last row.
func numberChecks(ctx context.Context, tx pgx.Tx, from, to time.Time) error {
	_, err := tx.Exec(ctx, `
		WITH fresh AS MATERIALIZED (
			SELECT service_id, checked_at, id,
				coalesce((SELECT rows FROM log_positions WHERE service_id = 0), 0) - 1 + row_number() OVER (ORDER BY checked_at, id) AS number,
				coalesce(p.rows, 0) - 1 + row_number() OVER (PARTITION BY service_id ORDER BY checked_at, id) AS service_number
			FROM checks LEFT JOIN log_positions p USING (service_id) WHERE checked_at >= $1 AND checked_at < $2
		), numbered AS (
			UPDATE checks c SET number = f.number, service_number = f.service_number FROM fresh f
			WHERE c.checked_at >= $1 AND c.checked_at < $2 AND c.service_id = f.service_id AND c.checked_at = f.checked_at AND c.id = f.id
		), filled AS (
			INSERT INTO log_blocks (service_id, block, hour)
			SELECT 0, number / $3, date_trunc('hour', checked_at, 'UTC') FROM fresh WHERE number % $3 = $3 - 1
			UNION ALL SELECT service_id, service_number / $3, date_trunc('hour', checked_at, 'UTC') FROM fresh WHERE service_number % $3 = $3 - 1
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

// Retain drops the checks of days more than site.LogDays ago with their sums by hour, the sums of settlements by hour
// that are older than ledger.HourRetention, and those by day of which only the last 30 are read when they are more than
// 90 days old. All other sums by day stay. Checks go once a day.
//
// A clock alone drops nothing: what goes is followed by as many days that have checks, or by settlements as much later,
// so that one that is a year ahead takes no more than the days that it really saw end.
func (db *DB) Retain(ctx context.Context, now time.Time) error {
	err := db.transact(ctx, func(tx pgx.Tx) error { return retainChecks(ctx, tx, now) })
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) && e.Code == "55P03" {
		err = nil // a build reads checks: another time
	}
	if err == nil {
		err = db.transact(ctx, func(tx pgx.Tx) error { return ledger.Retain(ctx, tx, now) })
	}
	if err != nil {
		return fmt.Errorf("drop what is old on %s: %w", now.UTC().Format(time.DateOnly), err)
	}
	return nil
}

func retainChecks(ctx context.Context, tx pgx.Tx, now time.Time) error {
	today := now.UTC().Truncate(24 * time.Hour)
	days, filled, err := daysOfChecks(ctx, tx, today)
	if err != nil || len(filled) <= site.LogDays {
		return err
	}
	var through time.Time
	if err := tx.QueryRow(ctx, `SELECT through FROM log_seal`).Scan(&through); err != nil {
		return fmt.Errorf("read the seal: %w", err)
	}
	keep := earlier(today.AddDate(0, 0, -site.LogDays), filled[site.LogDays])
	keep = earlier(keep, through.UTC().Truncate(24*time.Hour)) // checks that are not summed yet stay
	tag, err := tx.Exec(ctx, `
		UPDATE log_seal SET kept_since = $1, first_kept = coalesce((SELECT max(number) + 1 FROM checks WHERE checked_at < $1), first_kept)
		WHERE kept_since < $1`, keep)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '2s'`); err != nil { // visits wait meanwhile
		return err
	}
	for _, day := range days {
		if day.Before(keep) {
			if _, err := tx.Exec(ctx, `DROP TABLE `+pgx.Identifier{partition(day)}.Sanitize()); err != nil {
				return err
			}
		}
	}
	for _, table := range []string{"log_blocks", "check_hours"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE hour < $1`, keep); err != nil {
			return err
		}
	}
	return nil
}

// daysOfChecks returns the UTC days up to today that have a partition, and those that have checks, the newest first.
func daysOfChecks(ctx context.Context, tx pgx.Tx, today time.Time) (days, filled []time.Time, err error) {
	rows, err := tx.Query(ctx, `
		SELECT day, EXISTS (SELECT FROM checks WHERE checked_at >= day::timestamptz AND checked_at < (day + 1)::timestamptz)
		FROM (SELECT to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') AS day FROM pg_inherits WHERE inhparent = 'checks'::regclass) AS p
		WHERE day <= $1 ORDER BY day DESC`, today)
	if err != nil {
		return nil, nil, fmt.Errorf("list days with checks: %w", err)
	}
	var day time.Time
	var some bool
	_, err = pgx.ForEachRow(rows, []any{&day, &some}, func() error {
		days = append(days, day)
		if some {
			filled = append(filled, day)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list days with checks: %w", err)
	}
	return days, filled, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
