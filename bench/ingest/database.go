package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres"
)

// template is the database that each run begins with a copy of.
const template = "prepared"

// prepare lists the services and makes the partitions.
func (b *bench) prepare(ctx context.Context) error {
	err := b.on(ctx, "postgres", func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `CREATE DATABASE `+template)
		return err
	})
	if err != nil {
		return err
	}
	db, err := postgres.Open(ctx, b.server.DSNFor(template))
	if err != nil {
		return err
	}
	defer db.Close()
	listings := make([]postgres.Listing, b.services)
	for i := range listings {
		name := fmt.Sprintf("service-%06d", i)
		listings[i] = postgres.Listing{
			Slug: name, Name: name, Description: "The last price of a share.", BaseURL: "https://" + name + ".bench.test", Category: "Finance", Source: "submitted",
			CreatedAt: start.Add(-time.Hour), Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/quote"}},
		}
	}
	if err := db.AddListings(ctx, listings); err != nil {
		return err
	}
	return b.on(ctx, template, func(conn *pgx.Conn) error {
		for day := start; day.Before(start.Add(time.Duration(b.rounds) * period)); day = day.AddDate(0, 0, 1) {
			_, err := conn.Exec(ctx, fmt.Sprintf(`CREATE TABLE checks_%s PARTITION OF checks FOR VALUES FROM ('%s') TO ('%s')`,
				day.Format("20060102"), day.Format(time.RFC3339), day.AddDate(0, 0, 1).Format(time.RFC3339)))
			if err != nil {
				return err
			}
		}
		rows, err := conn.Query(ctx, `SELECT id FROM services ORDER BY slug`)
		if err != nil {
			return err
		}
		if b.ids, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil {
			return err
		}
		_, err = conn.Exec(ctx, `VACUUM ANALYZE`)
		return err
	})
}

// database makes a copy of the template.
func (b *bench) database(ctx context.Context, name string) error {
	return b.on(ctx, "postgres", func(conn *pgx.Conn) error {
		for _, sql := range []string{`DROP DATABASE IF EXISTS ` + name + ` WITH (FORCE)`, `CREATE DATABASE ` + name + ` TEMPLATE ` + template, `CHECKPOINT`} {
			if _, err := conn.Exec(ctx, sql); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		return nil
	})
}

// same holds the rows of a database to those of all before.
func (b *bench) same(ctx context.Context, name string) error {
	return b.on(ctx, name, func(conn *pgx.Conn) error {
		var rows string
		err := conn.QueryRow(ctx, `SELECT format('%s rows, sum of hashes %s', count(*), sum(hashtextextended(c::text, 402)::numeric)) FROM checks c`).Scan(&rows)
		if err != nil {
			return err
		}
		if b.rows == "" {
			b.rows = rows
		}
		if want := fmt.Sprintf("%d rows,", b.services*b.rounds); rows != b.rows || rows[:len(want)] != want {
			return fmt.Errorf("%s, want %s %s", rows, want, b.rows)
		}
		return nil
	})
}

// rollups holds hours, days and services to what SQL makes of the rows.
func (b *bench) rollups(ctx context.Context, name string) error {
	limits := make([]int32, site.HistogramBuckets) // the least time of each bucket; of those that no whole millisecond falls into, the next one's
	for bucket, ms := 0, 0; bucket < site.HistogramBuckets; bucket++ {
		for site.HistogramBucket(ms) < bucket {
			ms++
		}
		limits[bucket] = int32(ms)
	}
	sums := func(period string) string {
		return `SELECT service_id, date_trunc('` + period + `', checked_at) AS at, count(*) AS checks, count(*) FILTER (WHERE counted) AS counted, count(*) FILTER (WHERE counted AND is_up) AS up,
			count(response_time_ms) FILTER (WHERE counted) AS timed, coalesce(sum(response_time_ms) FILTER (WHERE counted), 0)::bigint AS response_ms FROM checks GROUP BY 1, 2`
	}
	return b.on(ctx, name, func(conn *pgx.Conn) error {
		for _, differ := range []struct {
			what, sql string
			args      []any
		}{
			{"hours", `SELECT count(*) FROM (` + sums("hour") + `) want FULL JOIN check_hours got ON want.service_id = got.service_id AND at = hour
				WHERE (want.checks, want.counted, want.up, want.timed, want.response_ms) IS DISTINCT FROM (got.checks, got.counted, got.up, got.timed, got.response_ms)`, nil},
			{"days", `SELECT count(*) FROM (` + sums("day") + `) want FULL JOIN check_days got ON want.service_id = got.service_id AND at = day
				WHERE (want.checks, want.counted, want.up, want.timed, want.response_ms) IS DISTINCT FROM (got.checks, got.counted, got.up, got.timed, got.response_ms)`, nil},
			{"buckets of days", `WITH got AS (
					SELECT service_id, day, n - 1 AS bucket, x::bigint AS count FROM check_days, unnest(histogram) WITH ORDINALITY AS h (x, n) WHERE x <> 0
				), want AS (
					SELECT service_id, checked_at::date AS day, greatest(width_bucket(response_time_ms, $1::int[]) - 1, 0)::bigint AS bucket, count(*) AS count
					FROM checks WHERE counted AND response_time_ms IS NOT NULL GROUP BY 1, 2, 3
				) SELECT count(*) FROM got FULL JOIN want USING (service_id, day, bucket) WHERE got.count IS DISTINCT FROM want.count`, []any{limits}},
			{"services", `SELECT count(*) FROM (SELECT DISTINCT ON (service_id) * FROM checks ORDER BY service_id, checked_at DESC) c FULL JOIN service_states s ON s.service_id = c.service_id
				WHERE (s.last_checked_at, s.consecutive_failures, s.next_check_at) IS DISTINCT FROM (c.checked_at, c.consecutive_failures, c.checked_at + interval '15 minutes')
					OR s.last_status IS DISTINCT FROM (SELECT status FROM checks l WHERE l.service_id = s.service_id AND counted ORDER BY checked_at DESC LIMIT 1)`, nil},
		} {
			var n int
			if err := conn.QueryRow(ctx, differ.sql, differ.args...).Scan(&n); err != nil {
				return fmt.Errorf("compare %s: %w", differ.what, err)
			}
			if n != 0 {
				return fmt.Errorf("%d %s are not what the rows say", n, differ.what)
			}
		}
		return nil
	})
}

// forget begins to count statements anew.
func (b *bench) forget(ctx context.Context) error {
	return b.on(ctx, "postgres", func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `CREATE EXTENSION IF NOT EXISTS pg_stat_statements; SELECT pg_stat_statements_reset()`)
		return err
	})
}

// tell prints how long the server took for the statements of a database, by check; those that triggers run are in others too.
func (b *bench) tell(ctx context.Context, database string, checks int) error {
	return b.on(ctx, "postgres", func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `
			SELECT round((1000 * total_exec_time / $2)::numeric, 2)::text || E' µs\t' || calls || E'\t' || left(regexp_replace(query, '\s+', ' ', 'g'), 100)
			FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1) ORDER BY total_exec_time DESC LIMIT 12`, database, checks)
		if err != nil {
			return err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, line := range lines {
			log.Printf("        %s", line)
		}
		return err
	})
}
