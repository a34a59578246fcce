package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// batchChecks bounds the checks of a row of check_batches.
const batchChecks = 5000

// recordChecks keeps those checks that were not there yet, and answers which. It takes the list.
func recordChecks(ctx context.Context, tx pgx.Tx, checks []*Check) (fresh []bool, err error) {
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
	checks, fresh = unknown(checks, known)
	catchUp(checks, *sealed)
	b = &pgx.Batch{}
	if err := queueChecks(b, checks); err != nil {
		return nil, err
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("keep checks: %w", err)
	}
	return fresh, nil
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

// unknown are the checks that are not known yet, each once, and which of the list those are. It takes the list.
func unknown(checks []*Check, known map[uuid.UUID]bool) ([]*Check, []bool) {
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
	return kept, fresh
}

// queueChecks keeps checks of open hours, a row for each hour; it sorts them.
func queueChecks(b *pgx.Batch, checks []*Check) error {
	if !slices.IsSortedFunc(checks, compareChecks) {
		slices.SortStableFunc(checks, compareChecks)
	}
	list, err := packs(checks, batchChecks)
	if err != nil {
		return fmt.Errorf("pack checks: %w", err)
	}
	for _, p := range list {
		b.Queue(`INSERT INTO check_batches (hour, services, checks, texts) VALUES ($1, $2, $3, $4)`, p.hour, p.services, p.checks, p.texts)
	}
	return nil
}

// catchUp gives checks of hours that are sealed the first time that is not: they came hours late, or the clock went back after
// it was ahead. Their hours take no more rows, and what was seen is not lost.
func catchUp(checks []*Check, sealed time.Time) {
	for i, c := range checks {
		if c.CheckedAt.Before(sealed) {
			late := *c
			late.CheckedAt = sealed
			checks[i] = &late
		}
	}
}

// queueSuspects asks which services have a check that is as late as the first of them in the list, or later: hardly any.
func queueSuspects(b *pgx.Batch, checks []*Check) (answer func() []int64) {
	ids, of := servicesOf(len(checks), func(i int) int64 { return checks[i].ServiceID })
	first := make([]time.Time, len(ids))
	for i := range checks {
		if n, at := of[i], checks[i].CheckedAt; first[n].IsZero() || at.Before(first[n]) {
			first[n] = at
		}
	}
	var suspect []int64
	b.Queue(`
		SELECT s.service_id FROM unnest($1::bigint[], $2::timestamptz[]) AS new (service_id, first) JOIN service_states s USING (service_id)
		WHERE s.newest_check_at >= new.first`, ids, first).Query(func(rows pgx.Rows) (err error) {
		suspect, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	return func() []int64 { return suspect }
}

// knownChecks finds which of the checks are kept already, among those of suspect services: a visitor that was cut off after its
// commit tells them again. They lie in their hours, or in a later one where they came late.
func knownChecks(ctx context.Context, tx pgx.Tx, checks []*Check, of []int64) (map[uuid.UUID]bool, error) {
	known := map[uuid.UUID]bool{}
	if len(of) == 0 {
		return known, nil
	}
	slices.Sort(of)
	asked := map[uuid.UUID]bool{}
	var since time.Time
	for _, c := range checks {
		if _, ok := slices.BinarySearch(of, c.ServiceID); ok {
			if asked[c.ID] = true; since.IsZero() || c.CheckedAt.Before(since) {
				since = c.CheckedAt
			}
		}
	}
	look := func(p *checkPack) error {
		for i := range p.len() {
			if id := p.at(i).id(); asked[id] {
				known[id] = true
			}
		}
		return nil
	}
	err := batches(ctx, tx, `WHERE services && $1 AND hour >= $2`, look, of, hourOf(since))
	if err == nil {
		err = servicePacks(ctx, tx, `SELECT service_id, hour, checks, texts FROM check_packs WHERE service_id = ANY($1) AND hour >= $2`, look, of, hourOf(since))
	}
	if err != nil {
		return nil, fmt.Errorf("find known checks: %w", err)
	}
	return known, nil
}

// packPartition names the partition of a UTC day's packs.
func packPartition(day time.Time) string { return "check_packs_" + day.UTC().Format("20060102") }

// makePartition makes the partition of a UTC day's packs where it is missing.
func makePartition(ctx context.Context, tx pgx.Tx, day time.Time) error {
	_, err := tx.Exec(ctx, fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s PARTITION OF check_packs FOR VALUES FROM ('%s') TO ('%s')`,
		pgx.Identifier{packPartition(day)}.Sanitize(), day.UTC().Format(time.RFC3339), day.UTC().Add(24*time.Hour).Format(time.RFC3339)))
	if err != nil {
		return fmt.Errorf("make partition %s: %w", packPartition(day), err)
	}
	return nil
}
