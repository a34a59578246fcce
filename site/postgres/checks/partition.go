package checks

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// partitions remembers the UTC days whose partition of checks this process created or found. Retain never drops a day
// that still receives checks.
type partitions struct {
	mu   sync.Mutex
	seen map[time.Time]bool
}

// CreateDayPartitions creates the missing partitions of the days of checks. It runs in transactions of its own, which lock nothing
// else, so that it cannot cause a deadlock.
func (st *Store) CreateDayPartitions(ctx context.Context, checks []*Check) error {
	st.days.mu.Lock()
	defer st.days.mu.Unlock()
	for _, c := range checks {
		day := c.CheckedAt.UTC().Truncate(24 * time.Hour)
		if st.days.seen[day] {
			continue
		}
		if err := st.transact(ctx, func(tx pgx.Tx) error { return makeDay(ctx, tx, day) }); err != nil {
			return err
		}
		if st.days.seen == nil {
			st.days.seen = map[time.Time]bool{}
		}
		st.days.seen[day] = true
	}
	return nil
}

// partition returns the name of the partition of a UTC day.
func partition(day time.Time) string { return "checks_" + day.UTC().Format("20060102") }

// makeDay creates the partition of a UTC day if it is missing. ATTACH PARTITION does not block readers and writers of
// other days.
func makeDay(ctx context.Context, tx pgx.Tx, day time.Time) error {
	name := partition(day)
	there, err := hasTable(ctx, tx, name)
	if err == nil && there {
		return nil
	}
	if err == nil {
		_, err = tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('tollbook checks'))`)
	}
	if err == nil {
		there, err = hasTable(ctx, tx, name) // another transaction may have created it
	}
	if err == nil && !there {
		table := pgx.Identifier{name}.Sanitize()
		_, err = tx.Exec(ctx, fmt.Sprintf(`
			CREATE TABLE %[1]s (LIKE checks INCLUDING ALL);
			ALTER TABLE checks ATTACH PARTITION %[1]s FOR VALUES FROM ('%[2]s') TO ('%[3]s')`,
			table, day.UTC().Format(time.RFC3339), day.UTC().Add(24*time.Hour).Format(time.RFC3339)))
	}
	if err != nil {
		return fmt.Errorf("make partition %s: %w", name, err)
	}
	return nil
}

// hasTable reports whether a table of this name is committed. It reads pg_class, because to_regclass answers from a
// cache of the session, which an advisory lock does not refresh.
func hasTable(ctx context.Context, tx pgx.Tx, name string) (exists bool, err error) {
	err = tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM pg_class WHERE relname = $1 AND relnamespace = current_schema()::regnamespace)`,
		name).Scan(&exists)
	return exists, err
}
