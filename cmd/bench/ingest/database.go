package ingest

import (
	"context"
	"fmt"
	"log"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres"
)

// template is the database that each run copies.
const template = "prepared"

// prepare lists the services and creates the peer's table.
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
			Slug: name, Name: name, Description: "The last price of a share.",
			BaseURL: "https://" + name + ".bench.test", Category: "Finance", Source: "submitted",
			CreatedAt: start.Add(-time.Hour), Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/quote"}},
		}
	}
	if err := db.AddListings(ctx, listings); err != nil {
		return err
	}
	return b.on(ctx, template, func(conn *pgx.Conn) error {
		if err := b.plain(ctx, conn); err != nil {
			return err
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

// plain creates a table with a row a check and with indexes by service and by time. It has our columns without the
// numbers.
func (b *bench) plain(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `
		CREATE TABLE plain_checks (
			service_id       bigint NOT NULL,
			checked_at       timestamptz NOT NULL,
			id               uuid NOT NULL,
			counted          boolean NOT NULL,
			status           text,
			is_up            boolean NOT NULL,
			status_code      integer,
			response_time_ms integer,
			endpoints_found  integer NOT NULL,
			error_message    text,
			consecutive_failures integer NOT NULL,
			uncounted_reason text
		) PARTITION BY RANGE (checked_at);
		CREATE INDEX ON plain_checks USING brin (checked_at) WITH (pages_per_range = 16);
		CREATE INDEX ON plain_checks (service_id, checked_at)`)
	for day := start; err == nil && day.Before(start.Add(time.Duration(b.rounds)*period)); day = day.AddDate(0, 0, 1) {
		_, err = conn.Exec(ctx,
			fmt.Sprintf(`CREATE TABLE plain_checks_%s PARTITION OF plain_checks FOR VALUES FROM ('%s') TO ('%s')`,
				day.Format("20060102"), day.Format(time.RFC3339), day.AddDate(0, 0, 1).Format(time.RFC3339)))
	}
	return err
}

// database creates a copy of the template.
func (b *bench) database(ctx context.Context, name string) error {
	return b.on(ctx, "postgres", func(conn *pgx.Conn) error {
		for _, sql := range []string{`DROP DATABASE IF EXISTS ` + name + ` WITH (FORCE)`,
			`CREATE DATABASE ` + name + ` TEMPLATE ` + template, `CHECKPOINT`} {
			if _, err := conn.Exec(ctx, sql); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		return nil
	})
}

// same checks that the rows of a database equal those of all previous runs.
func (b *bench) same(ctx context.Context, name, table string) error {
	return b.on(ctx, name, func(conn *pgx.Conn) error {
		var rows string
		err := conn.QueryRow(ctx,
			`SELECT format('%s rows, sum of hashes %s', count(*), sum(hashtextextended(c::text, 402)::numeric)) FROM (
			SELECT service_id, checked_at, id, counted, status, is_up, status_code, response_time_ms,
				endpoints_found, error_message, consecutive_failures, uncounted_reason FROM `+table+`) c`).Scan(&rows)
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

// rollups compares hours and services with what SQL computes from the rows, and days as a build reads them.
func (b *bench) rollups(ctx context.Context, name string) error {
	err := b.on(ctx, name, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, `CREATE TEMP TABLE rows AS SELECT * FROM checks`); err != nil {
			return err
		}
		for _, differ := range []struct{ what, sql string }{
			{"hours", `SELECT count(*) FROM (
					SELECT service_id, date_trunc('hour', checked_at) AS at, count(*) AS checks,
						count(*) FILTER (WHERE counted) AS counted, count(*) FILTER (WHERE counted AND is_up) AS up,
						count(response_time_ms) FILTER (WHERE counted) AS timed,
							coalesce(sum(response_time_ms) FILTER (WHERE counted), 0)::bigint AS response_ms
								FROM rows GROUP BY 1, 2
				) want FULL JOIN check_hours got ON want.service_id = got.service_id AND at = hour
				WHERE (want.checks, want.counted, want.up, want.timed, want.response_ms)
					IS DISTINCT FROM (got.checks, got.counted, got.up, got.timed, got.response_ms)`},
			{"numbers of logs",
				`SELECT count(*) FROM (SELECT coalesce(service_id, 0) AS service_id, count(*) AS n FROM rows
					GROUP BY GROUPING SETS ((service_id), ())) want
				FULL JOIN log_positions got USING (service_id) WHERE n IS DISTINCT FROM got.rows`},
			{"services",
				`SELECT count(*) FROM (SELECT DISTINCT ON (service_id) * FROM rows ORDER BY service_id,
					checked_at DESC) c FULL JOIN service_states s ON s.service_id = c.service_id
				WHERE (s.last_checked_at, s.consecutive_failures, s.next_check_at) 
					IS DISTINCT FROM (c.checked_at, c.consecutive_failures, c.checked_at + interval '15 minutes')
					OR s.last_status IS DISTINCT FROM (SELECT DISTINCT ON (service_id) status FROM rows l
						WHERE l.service_id = s.service_id AND counted ORDER BY service_id, checked_at DESC)`},
		} {
			if differ.what == "services" {
				if _, err := conn.Exec(ctx, `CREATE INDEX ON rows (service_id, checked_at)`); err != nil {
					return err
				}
			}
			var n int
			if err := conn.QueryRow(ctx, differ.sql).Scan(&n); err != nil {
				return fmt.Errorf("compare %s: %w", differ.what, err)
			}
			if n != 0 {
				return fmt.Errorf("%d %s do not match the rows", n, differ.what)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.days(ctx, name)
}

// days compares the days of each service, as a build reads them, with its rows.
func (b *bench) days(ctx context.Context, name string) error {
	type day struct {
		service int64
		start   string
	}
	want := map[day]*postgres.Rollup{}
	for service := range b.services {
		for round := range b.rounds {
			c := b.check(service, round)
			k := day{c.ServiceID, c.CheckedAt.Format(time.DateOnly)}
			if want[k] == nil {
				want[k] = &postgres.Rollup{ServiceID: c.ServiceID, Start: c.CheckedAt.Truncate(24 * time.Hour),
					Histogram: make([]int64, site.HistogramBuckets)}
			}
			want[k].Add(c)
		}
	}
	db, err := postgres.Open(ctx, b.server.DSNFor(name))
	if err != nil {
		return err
	}
	defer db.Close()
	now := start.Add(time.Duration(b.rounds) * period)
	return db.Read(ctx, func(r *postgres.Reader) error {
		f, err := r.Directory(ctx, now, 0)
		if err != nil {
			return err
		}
		for services := range slices.Chunk(f.Services, 100) {
			if err := r.Details(ctx, now, 0, services); err != nil {
				return err
			}
			for _, s := range services {
				for _, got := range s.Days {
					k := day{s.ID, got.Start.Format(time.DateOnly)}
					got.Start = got.Start.UTC()
					if w := want[k]; w == nil || !reflect.DeepEqual(*w, got) {
						return fmt.Errorf("%s of %s is %+v, want %+v of its rows", k.start, s.Slug, got, w)
					}
					delete(want, k)
				}
			}
			clear(services)
		}
		if len(want) > 0 {
			return fmt.Errorf("%d days of services are missing", len(want))
		}
		return nil
	})
}

// forget resets the statistics of statements.
func (b *bench) forget(ctx context.Context) error {
	return b.on(ctx, "postgres", func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `CREATE EXTENSION IF NOT EXISTS pg_stat_statements; SELECT pg_stat_statements_reset()`)
		return err
	})
}

// tell logs the server's time for the statements of a database, by check. Statements of triggers are included in
// others.
func (b *bench) tell(ctx context.Context, database string, checks int) error {
	return b.on(ctx, "postgres", func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `
			SELECT round((1000 * total_exec_time / $2)::numeric, 2)::text || E' µs\t' || calls || E'\t'
				|| left(regexp_replace(query, '\s+', ' ', 'g'), 100)
			FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1)
			ORDER BY total_exec_time DESC LIMIT 12`, database, checks)
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
