package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

var checkColumns = []string{"service_id", "checked_at", "id", "counted", "status", "is_up", "status_code",
	"response_time_ms", "endpoints_found", "error_message", "consecutive_failures"}

// recordChecks copies checks into their days' partitions and rolls up those that were not there yet, which it answers.
func recordChecks(ctx context.Context, tx pgx.Tx, checks []Check) (fresh map[uuid.UUID]bool, err error) {
	if len(checks) == 0 {
		return nil, nil
	}
	// The lock keeps a seal from passing over an hour while its checks are on their way.
	var sealed time.Time
	err = tx.QueryRow(ctx, `SELECT through FROM log_seal FOR SHARE`).Scan(&sealed)
	if err == pgx.ErrNoRows {
		if err := startLogs(ctx, tx, checks); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, fmt.Errorf("read log seal: %w", err)
	}
	known, err := knownChecks(ctx, tx, checks)
	if err != nil {
		return nil, err
	}
	if checks, err = catchUp(ctx, tx, checks, sealed, known); err != nil {
		return nil, err
	}
	if err := makePartitions(ctx, tx, checks); err != nil {
		return nil, err
	}
	fresh = make(map[uuid.UUID]bool, len(checks))
	kept := make([]Check, 0, len(checks))
	for _, c := range checks {
		if known[c.ID] || fresh[c.ID] {
			continue
		}
		fresh[c.ID] = true
		kept = append(kept, c)
	}
	_, err = tx.CopyFrom(ctx, pgx.Identifier{"checks"}, checkColumns, pgx.CopyFromSlice(len(kept), func(i int) ([]any, error) {
		c := kept[i]
		return []any{c.ServiceID, c.CheckedAt, [16]byte(c.ID), c.Counted, c.Status, c.IsUp, c.StatusCode, c.ResponseTimeMS,
			c.EndpointsFound, c.ErrorMessage, c.ConsecutiveFailures}, nil
	}))
	if err != nil {
		return nil, fmt.Errorf("copy checks: %w", err)
	}
	if err := addRollups(ctx, tx, hourRollups, rollUp(kept, time.Hour)); err != nil {
		return nil, err
	}
	return fresh, addRollups(ctx, tx, dayRollups, rollUp(kept, 24*time.Hour))
}

// catchUp gives checks of hours that are sealed the first time that is not: they came hours late, or the clock went back after
// it was ahead. Their hours take no more rows, and what was seen is not lost. What is known of them, under a later time, it adds.
func catchUp(ctx context.Context, tx pgx.Tx, checks []Check, sealed time.Time, known map[uuid.UUID]bool) ([]Check, error) {
	var ids []uuid.UUID
	var services []int64
	oldest := sealed
	checks = slices.Clone(checks)
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
		return checks, nil
	}
	again, err := column[uuid.UUID](ctx, tx, `SELECT id FROM checks WHERE service_id = ANY($1) AND id = ANY($2) AND checked_at >= $3`, services, ids, oldest)
	if err != nil {
		return nil, fmt.Errorf("find known checks: %w", err)
	}
	for _, id := range again {
		known[id] = true
	}
	return checks, nil
}

// knownChecks finds which of the checks are kept already: a visitor that was cut off after its commit tells them again.
func knownChecks(ctx context.Context, tx pgx.Tx, checks []Check) (map[uuid.UUID]bool, error) {
	ids, services := make([][16]byte, len(checks)), make([]int64, len(checks)) // pgx would write a uuid.UUID as text
	times := make([]time.Time, len(checks))
	for i, c := range checks {
		ids[i], services[i], times[i] = c.ID, c.ServiceID, c.CheckedAt
	}
	rows, err := tx.Query(ctx, `
		SELECT c.id FROM unnest($1::bigint[], $2::timestamptz[], $3::uuid[]) AS new (service_id, checked_at, id)
		JOIN checks c ON c.service_id = new.service_id AND c.checked_at = new.checked_at AND c.id = new.id
		WHERE c.checked_at BETWEEN $4 AND $5`, services, times, ids, slices.MinFunc(times, time.Time.Compare), slices.MaxFunc(times, time.Time.Compare))
	if err != nil {
		return nil, fmt.Errorf("find known checks: %w", err)
	}
	known := map[uuid.UUID]bool{}
	found, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	for _, id := range found {
		known[id] = true
	}
	return known, err
}

// makePartitions makes the partitions of the checks' UTC days where they are missing.
func makePartitions(ctx context.Context, tx pgx.Tx, checks []Check) error {
	days := map[time.Time]bool{}
	for _, c := range checks {
		days[c.CheckedAt.UTC().Truncate(24*time.Hour)] = true
	}
	for day := range days {
		name := "checks_" + day.Format("20060102")
		var exists bool
		if err := tx.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, name).Scan(&exists); err != nil {
			return fmt.Errorf("look for partition %s: %w", name, err)
		}
		if exists {
			continue
		}
		_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('tollbook partition'))`)
		if err == nil {
			_, err = tx.Exec(ctx, fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s PARTITION OF checks FOR VALUES FROM ('%s') TO ('%s')`,
				pgx.Identifier{name}.Sanitize(), day.Format(time.RFC3339), day.Add(24*time.Hour).Format(time.RFC3339)))
		}
		if err != nil {
			return fmt.Errorf("make partition %s: %w", name, err)
		}
	}
	return nil
}

// rollUp sums checks by service and period, in the order of service and start.
func rollUp(checks []Check, period time.Duration) []Rollup {
	type key struct {
		service int64
		start   time.Time
	}
	sums := map[key]*Rollup{}
	for _, c := range checks {
		k := key{c.ServiceID, c.CheckedAt.UTC().Truncate(period)}
		r := sums[k]
		if r == nil {
			r = &Rollup{ServiceID: k.service, Start: k.start, Histogram: make([]int64, site.HistogramBuckets)}
			sums[k] = r
		}
		r.add(c)
	}
	out := make([]Rollup, 0, len(sums))
	for _, r := range sums {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Rollup) int {
		return cmp.Or(cmp.Compare(a.ServiceID, b.ServiceID), a.Start.Compare(b.Start))
	})
	return out
}

func (r *Rollup) add(c Check) {
	r.Checks++
	if !c.Counted {
		return
	}
	r.Counted++
	if c.IsUp {
		r.Up++
	}
	if c.ResponseTimeMS != nil {
		r.Timed++
		r.ResponseMS += int64(*c.ResponseTimeMS)
		r.Histogram[site.HistogramBucket(*c.ResponseTimeMS)]++
	}
}

// rollupTable is one of the two tables of roll-ups, with the column that says when a row's period starts. Of hours nobody wants
// to know how response times spread.
type rollupTable struct {
	name, start string
	histogram   bool
}

var (
	hourRollups = rollupTable{"check_hours", "hour", false}
	dayRollups  = rollupTable{"check_days", "day", true}
)

// addRollups adds sums to those that are kept, in one statement. Its rows come sorted, so that two writers lock them in
// the same order.
func addRollups(ctx context.Context, tx pgx.Tx, t rollupTable, sums []Rollup) error {
	if len(sums) == 0 {
		return nil
	}
	n := len(sums)
	services, starts := make([]int64, n), make([]time.Time, n)
	checks, counted, up, timed, response := make([]int, n), make([]int, n), make([]int, n), make([]int, n), make([]int64, n)
	for i, s := range sums {
		services[i], starts[i] = s.ServiceID, s.Start
		checks[i], counted[i], up[i], timed[i], response[i] = s.Checks, s.Counted, s.Up, s.Timed, s.ResponseMS
	}
	args := []any{services, starts, checks, counted, up, timed, response}
	column, param, value, add, name := "", "", "", "", ""
	if t.histogram {
		histograms := make([]string, n)
		for i, s := range sums {
			histograms[i] = arrayText(s.Histogram)
		}
		args = append(args, histograms)
		column, param, name, value = ", histogram", ", $8::text[]", ", h", ", h::integer[]"
		add = ", histogram = histogram_add(old.histogram, excluded.histogram)"
	}
	_, err := tx.Exec(ctx, fmt.Sprintf(`
		INSERT INTO %[1]s AS old (service_id, %[2]s, checks, counted, up, timed, response_ms%[3]s)
		SELECT s, t, c, n, u, m, r%[4]s
		FROM unnest($1::bigint[], $2::timestamptz[], $3::int[], $4::int[], $5::int[], $6::int[], $7::bigint[]%[5]s) AS new (s, t, c, n, u, m, r%[7]s)
		ON CONFLICT (service_id, %[2]s) DO UPDATE SET checks = old.checks + excluded.checks,
			counted = old.counted + excluded.counted, up = old.up + excluded.up, timed = old.timed + excluded.timed,
			response_ms = old.response_ms + excluded.response_ms%[6]s`, t.name, t.start, column, value, param, add, name), args...)
	if err != nil {
		return fmt.Errorf("add to %s: %w", t.name, err)
	}
	return nil
}

// arrayText writes counts as Postgres reads an array: unnest would flatten an array of arrays.
func arrayText(counts []int64) string {
	b := []byte{'{'}
	for i, n := range counts {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(append(b, '}'))
}
