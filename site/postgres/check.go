package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// checkColumns are the columns of checks in the order of Check's fields.
const checkColumns = `service_id, checked_at, id, counted, status, is_up, status_code, response_time_ms, endpoints_found, error_message, consecutive_failures`

// recordChecks copies those checks into their days' partitions that were not there yet, and answers which. It
// takes the list: those that come too late get another time, and then it is sorted.
func recordChecks(ctx context.Context, tx pgx.Tx, checks []Check) (fresh []bool, err error) {
	if len(checks) == 0 {
		return nil, nil
	}
	b := &pgx.Batch{}
	through := queueSealed(b)
	suspect := queueSuspects(b, checks)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("read log seal, and services with checks of the time: %w", err)
	}
	sealed := through()
	if sealed == nil {
		if sealed, err = startLogs(ctx, tx, checks); err != nil {
			return nil, err
		}
	}
	known, err := knownChecks(ctx, tx, checks, suspect())
	if err != nil {
		return nil, err
	}
	if err := catchUp(ctx, tx, checks, *sealed, known); err != nil {
		return nil, err
	}
	if err := makePartitions(ctx, tx, checks); err != nil {
		return nil, err
	}
	checks, fresh = unknown(checks, known)
	return fresh, copyChecks(ctx, tx, checks)
}

// queueSealed asks up to when hours are sealed, nil before the first check. From here no seal passes over an hour while its checks
// are on their way.
func queueSealed(b *pgx.Batch) (answer func() *time.Time) {
	var sealed *time.Time
	b.Queue(`SELECT through FROM log_seal FOR SHARE`).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&sealed}, func() error { return nil })
		return err
	})
	return func() *time.Time { return sealed }
}

// unknown are the checks that are not known yet, each once, sorted, and which of the list those are.
func unknown(checks []Check, known map[uuid.UUID]bool) ([]Check, []bool) {
	fresh := make([]bool, len(checks))
	told := make(map[uuid.UUID]bool, len(checks))
	kept := checks[:0]
	for i, c := range checks {
		if known[c.ID] || told[c.ID] {
			continue
		}
		told[c.ID], fresh[i] = true, true
		kept = append(kept, c)
	}
	if !slices.IsSortedFunc(kept, compareChecks) {
		slices.SortStableFunc(kept, compareChecks)
	}
	return kept, fresh
}

func copyChecks(ctx context.Context, tx pgx.Tx, checks []Check) error {
	return copyBinary(ctx, tx, "checks", checkColumns, len(checks), func(w *binaryRow, i int) {
		c := &checks[i]
		w.bigint(c.ServiceID)
		w.timestamptz(c.CheckedAt)
		w.uuid(c.ID)
		w.boolean(c.Counted)
		w.maybeText(c.Status)
		w.boolean(c.IsUp)
		w.maybeInteger(c.StatusCode)
		w.maybeInteger(c.ResponseTimeMS)
		w.integer(c.EndpointsFound)
		w.maybeText(c.ErrorMessage)
		w.integer(c.ConsecutiveFailures)
	})
}

// catchUp gives checks of hours that are sealed the first time that is not: they came hours late, or the clock went back after
// it was ahead. Their hours take no more rows, and what was seen is not lost. What is known of them, under a later time, it adds.
func catchUp(ctx context.Context, tx pgx.Tx, checks []Check, sealed time.Time, known map[uuid.UUID]bool) error {
	var ids []uuid.UUID
	var services []int64
	oldest := sealed
	for i := range checks {
		if c := &checks[i]; c.CheckedAt.Before(sealed) && !known[c.ID] {
			ids, services = append(ids, c.ID), append(services, c.ServiceID)
			if c.CheckedAt.Before(oldest) {
				oldest = c.CheckedAt
			}
			c.CheckedAt = sealed
		}
	}
	if len(ids) == 0 {
		return nil
	}
	again, err := column[uuid.UUID](ctx, tx, `SELECT id FROM checks WHERE service_id = ANY($1) AND id = ANY($2) AND checked_at >= $3`, services, ids, oldest)
	if err != nil {
		return fmt.Errorf("find known checks: %w", err)
	}
	for _, id := range again {
		known[id] = true
	}
	return nil
}

// queueSuspects asks which services have checks between the first and the last of them in the list: hardly any. It is a look for
// each service, not for each check.
func queueSuspects(b *pgx.Batch, checks []Check) (answer func() []int64) {
	ids, of := servicesOf(len(checks), func(i int) int64 { return checks[i].ServiceID })
	first, last := make([]time.Time, len(ids)), make([]time.Time, len(ids))
	for i := range checks {
		n, at := of[i], checks[i].CheckedAt
		if first[n].IsZero() || at.Before(first[n]) {
			first[n] = at
		}
		if at.After(last[n]) {
			last[n] = at
		}
	}
	var suspect []int64
	b.Queue(`
		SELECT service_id FROM unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[]) AS new (service_id, first, last) WHERE EXISTS (
			SELECT FROM checks c WHERE c.service_id = new.service_id AND c.checked_at BETWEEN new.first AND new.last AND c.checked_at BETWEEN $4 AND $5
		)`, ids, first, last, slices.MinFunc(first, time.Time.Compare), slices.MaxFunc(last, time.Time.Compare)).Query(func(rows pgx.Rows) (err error) {
		suspect, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	return func() []int64 { return suspect }
}

// knownChecks finds which of the checks are kept already, among those of suspect services: a visitor that was cut off after its
// commit tells them again.
func knownChecks(ctx context.Context, tx pgx.Tx, checks []Check, of []int64) (map[uuid.UUID]bool, error) {
	known := map[uuid.UUID]bool{}
	if len(of) == 0 {
		return known, nil
	}
	slices.Sort(of)
	var ids [][16]byte // pgx would write a uuid.UUID as text
	var services []int64
	var times []time.Time
	for i := range checks {
		c := &checks[i]
		if _, ok := slices.BinarySearch(of, c.ServiceID); ok {
			ids, services, times = append(ids, c.ID), append(services, c.ServiceID), append(times, c.CheckedAt)
		}
	}
	found, err := column[uuid.UUID](ctx, tx, `
		SELECT c.id FROM unnest($1::bigint[], $2::timestamptz[], $3::uuid[]) AS new (service_id, checked_at, id)
		JOIN checks c ON c.service_id = new.service_id AND c.checked_at = new.checked_at AND c.id = new.id
		WHERE c.checked_at BETWEEN $4 AND $5`, services, times, ids, slices.MinFunc(times, time.Time.Compare), slices.MaxFunc(times, time.Time.Compare))
	if err != nil {
		return nil, fmt.Errorf("find known checks: %w", err)
	}
	for _, id := range found {
		known[id] = true
	}
	return known, nil
}

// queueMissingDays asks for which UTC days of checks there is no partition yet.
func queueMissingDays(b *pgx.Batch, checks []Check) (answer func() []time.Time) {
	var days []time.Time
	var last time.Time // most come after one of their day
	for i := range checks {
		if day := checks[i].CheckedAt.UTC().Truncate(24 * time.Hour); !day.Equal(last) && !slices.ContainsFunc(days, day.Equal) {
			days, last = append(days, day), day
		}
	}
	names := make([]string, len(days))
	for i, day := range days {
		names[i] = checkPartition(day)
	}
	var missing []time.Time
	b.Queue(`SELECT day FROM unnest($1::text[], $2::timestamptz[]) AS p (name, day) WHERE to_regclass(name) IS NULL`, names, days).Query(func(rows pgx.Rows) (err error) {
		missing, err = pgx.CollectRows(rows, pgx.RowTo[time.Time])
		return err
	})
	return func() []time.Time { return missing }
}

// checkPartition names the partition of a UTC day's checks.
func checkPartition(day time.Time) string { return "checks_" + day.UTC().Format("20060102") }

// makePartitions makes the partitions of the checks' UTC days where they are missing.
func makePartitions(ctx context.Context, tx pgx.Tx, checks []Check) error {
	b := &pgx.Batch{}
	missing := queueMissingDays(b, checks)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("look for partitions: %w", err)
	}
	return makeDays(ctx, tx, missing())
}

// makeDays makes the partitions of UTC days.
func makeDays(ctx context.Context, tx pgx.Tx, days []time.Time) error {
	for _, day := range days {
		_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('tollbook partition'))`)
		if err == nil {
			_, err = tx.Exec(ctx, fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s PARTITION OF checks FOR VALUES FROM ('%s') TO ('%s')`,
				pgx.Identifier{checkPartition(day)}.Sanitize(), day.UTC().Format(time.RFC3339), day.UTC().Add(24*time.Hour).Format(time.RFC3339)))
		}
		if err != nil {
			return fmt.Errorf("make partition %s: %w", checkPartition(day), err)
		}
	}
	return nil
}
