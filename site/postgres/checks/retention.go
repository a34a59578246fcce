package checks

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// Retain deletes the checks of days more than site.LogDays ago, with their sums by hour. It deletes a day only if
// site.LogDays later days have checks, so that a clock that is a year ahead deletes nothing.
func Retain(ctx context.Context, tx pgx.Tx, now time.Time) error {
	today := now.UTC().Truncate(24 * time.Hour)
	days, filled, err := daysOfChecks(ctx, tx, today)
	if err != nil || len(filled) <= site.LogDays {
		return err
	}
	var through time.Time
	if err := tx.QueryRow(ctx, `SELECT through FROM log_seal`).Scan(&through); err != nil {
		return fmt.Errorf("read the seal: %w", err)
	}
	keep := earliest(today.AddDate(0, 0, -site.LogDays), filled[site.LogDays])
	keep = earliest(keep, through.UTC().Truncate(24*time.Hour)) // checks that are not summed yet must stay
	tag, err := tx.Exec(ctx, `
		UPDATE log_seal SET retained_since = $1, first_retained = coalesce((SELECT max(number) + 1 FROM checks
			WHERE checked_at < $1), first_retained)
		WHERE retained_since < $1`, keep)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '2s'`); err != nil { // visits wait for the DROP
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

// daysOfChecks returns the UTC days up to today that have a partition, and those of them that have checks, newest
// first.
func daysOfChecks(ctx context.Context, tx pgx.Tx, today time.Time) (days, filled []time.Time, err error) {
	rows, err := tx.Query(ctx, `
		SELECT day, EXISTS (SELECT FROM checks WHERE checked_at >= day::timestamptz
			AND checked_at < (day + 1)::timestamptz)
		FROM (SELECT to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') AS day FROM pg_inherits
			WHERE inhparent = 'checks'::regclass) AS p
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

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
