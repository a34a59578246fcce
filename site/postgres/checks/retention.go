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

// Limits of the former terms of one service: rows of prices, and sets of offers over other protocols. They are those of
// a service that changes 100 prices a day for more than a year. A service that exceeds them loses the oldest.
const (
	maxFormer      = 50_000
	maxFormerBytes = 16 << 20
)

// RetainTerms deletes the oldest former prices and offers of each service that has more than a service may have. It
// deletes all rows of an endpoint that ended at one time, because a set of prices is compared as a whole. Current terms
// stay.
func RetainTerms(ctx context.Context, tx pgx.Tx) error {
	for _, t := range []struct {
		table string
		few   int // rows that never have maxFormerBytes. Only services with more are measured; others need an index.
		bytes string
	}{
		{"prices", 1500, `octet_length(t.scheme) + octet_length(t.network) + coalesce(octet_length(t.network_caip2), 0) +
			octet_length(t.asset) + octet_length(t.pay_to) + coalesce(octet_length(t.extra), 0) + 100`},
		{"offer_sets", 300, `pg_column_size(t.offers) + 100`},
	} {
		_, err := tx.Exec(ctx, `
			WITH many AS (
				SELECT e.service_id FROM `+t.table+` t JOIN endpoints e ON e.id = t.endpoint_id
				GROUP BY 1 HAVING count(*) > $1
			), former AS (
				SELECT e.service_id, t.until, count(*) OVER newest AS rows, sum(`+t.bytes+`) OVER newest AS bytes
				FROM many JOIN endpoints e USING (service_id) JOIN `+t.table+` t ON t.endpoint_id = e.id
				WHERE t.until IS NOT NULL
				WINDOW newest AS (PARTITION BY e.service_id ORDER BY t.until DESC)
			), oldest AS (
				SELECT service_id, max(until) AS until FROM former WHERE rows > $2 OR bytes > $3 GROUP BY 1
			)
			DELETE FROM `+t.table+` t USING oldest o JOIN endpoints e USING (service_id)
			WHERE t.endpoint_id = e.id AND t.until <= o.until`, t.few, maxFormer, maxFormerBytes)
		if err != nil {
			return fmt.Errorf("delete the oldest %s: %w", t.table, err)
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
