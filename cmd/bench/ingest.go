package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/crawl"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// ingestStage measures how fast checks are stored, beside psql's \copy of the same rows.
//
// Ours calls postgres.RecordVisits with the batches of a busy crawler. It stores each check as a row and updates the
// state of its service. Then postgres.SealLogs numbers the checks and adds them to the sums by hour and day.
//
// The peer copies a CSV file of the same rows into a table with the same columns, except the numbers. The table has
// indexes by time and by service, and partitions by day. Both sides set synchronous_commit to off. The peer does
// nothing else. Each run begins with a copy of one database with the services and that table. The rows must be equal on
// both sides, and hours, days, numbers and services must match them.
//
// Rows come in two orders. "As crawled" is round by round with each service once a round, so no two checks of a batch
// share a roll-up. "In arrears" is service by service, as an import or a backlog sends them.
var ingestStage = stage{"ingest", "measure storing checks, beside psql's copy",
	func(flags *flag.FlagSet) func(context.Context, *report) error {
		var b ingest
		flags.IntVar(&b.services, "services", 20_000, "services")
		flags.IntVar(&b.rounds, "rounds", 50, "checks of each, a quarter of an hour apart")
		flags.IntVar(&b.batch, "batch", 5000, "visits stored in one transaction")
		flags.IntVar(&b.runs, "runs", 5, "runs of each side and order")
		flags.StringVar(&b.profile, "profile", "", "file for a CPU profile of our last run")
		return func(ctx context.Context, r *report) error {
			defer debug.SetGCPercent(debug.SetGCPercent(crawl.GCPercent))
			return b.measure(ctx, r)
		}
	}}

// ingest is the state that both sides share.
type ingest struct {
	services, rounds, batch, runs int
	profile                       string

	dir    string
	server *database
	ids    []int64 // of the services
	rows   string  // what the rows add up to; "" before the first run
}

func (b *ingest) measure(ctx context.Context, r *report) (err error) {
	if err := install(ctx, "psql.sh"); err != nil {
		return err
	}
	if b.dir, err = temporary(); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.server, err = startPostgres(ctx, filepath.Join(b.dir, "postgres"), false); err != nil {
		return err
	}
	defer b.server.end()
	if err := b.prepare(ctx); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	for _, o := range []checkOrder{{name: "as crawled", row: b.crawled},
		{name: "in arrears", row: b.inArrears, late: true}} {
		if err := b.write(o); err != nil {
			return err
		}
		results, err := alternate(ctx, b.runs, b.ours(o), b.peer(o))
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		r.compare(fmt.Sprintf("checks with roll-ups, %s, %d at once", o.name, b.batch), `psql \copy`, "checks/s",
			results[0], results[1], limit{})
		r.add("the same, rate", "checks/s", atLeast(5000), results[0]...)
	}
	return nil
}

// prepared is the database that each run copies.
const prepared = "prepared"

// prepare lists the services and creates the peer's table.
func (b *ingest) prepare(ctx context.Context) error {
	if err := b.server.create(ctx, prepared, ""); err != nil {
		return err
	}
	db, err := postgres.Open(ctx, b.server.DSNFor(prepared))
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.AddListings(ctx, numberedListings(b.services, firstRound.Add(-time.Hour))); err != nil {
		return err
	}
	return b.server.on(ctx, prepared, func(conn *pgx.Conn) error {
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

// numberedListings returns services with an endpoint each.
func numberedListings(n int, created time.Time) []postgres.Listing {
	listings := make([]postgres.Listing, n)
	for i := range listings {
		name := fmt.Sprintf("service-%06d", i)
		listings[i] = postgres.Listing{
			Slug: name, Name: name, Description: "The last price of a share.",
			BaseURL: "https://" + name + "." + probeDomain, Category: "Finance", Source: "submitted",
			CreatedAt: created, Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/quote"}},
		}
	}
	return listings
}

// plain creates a table with a row a check and with indexes by service and by time. It has our columns without the
// numbers.
func (b *ingest) plain(ctx context.Context, conn *pgx.Conn) error {
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
	end := firstRound.Add(time.Duration(b.rounds) * checkPeriod)
	for day := firstRound; err == nil && day.Before(end); day = day.AddDate(0, 0, 1) {
		_, err = conn.Exec(ctx,
			fmt.Sprintf(`CREATE TABLE plain_checks_%s PARTITION OF plain_checks FOR VALUES FROM ('%s') TO ('%s')`,
				day.Format("20060102"), day.Format(time.RFC3339), day.AddDate(0, 0, 1).Format(time.RFC3339)))
	}
	return err
}

// ours records all checks as visits, batch by batch.
func (b *ingest) ours(o checkOrder) side {
	return func(ctx context.Context) (float64, error) {
		const name = "ours"
		if err := b.server.create(ctx, name, prepared); err != nil {
			return 0, err
		}
		db, err := postgres.Open(ctx, b.server.DSNFor(name))
		if err != nil {
			return 0, err
		}
		defer db.Close()
		stop, err := profile(b.profile)
		if err != nil {
			return 0, err
		}
		defer stop()
		n := b.services * b.rounds
		var took, used float64
		idle, sealed := b.server.cpu(), firstRound
		visits := make([]checks.Visit, b.batch)
		for first := 0; first < n; first += b.batch {
			visits = visits[:min(b.batch, n-first)]
			for i := range visits {
				visits[i] = b.visit(o, first+i)
			}
			began, before := time.Now(), selfCPU() // visits are ready in memory, as the peer's file is on disk
			if err := db.RecordVisits(ctx, visits); err != nil {
				return 0, err
			}
			if err := o.seal(ctx, db, &sealed, visits[len(visits)-1].Check.CheckedAt,
				first+len(visits) == n); err != nil {
				return 0, err
			}
			took, used = took+time.Since(began).Seconds(), used+selfCPU()-before
		}
		log.Printf("    ours: %.2f s, CPU %.2f s of the client and %.2f s of the server", took, used,
			b.server.cpu()-idle)
		if err := b.same(ctx, name, "checks"); err != nil {
			return 0, fmt.Errorf("ours: %w", err)
		}
		return float64(n) / took, b.rollups(ctx, name)
	}
}

// seal sums finished hours, as a build does: during the run as crawled, at the end in arrears. Its time is part of
// ours.
func (o checkOrder) seal(ctx context.Context, db *postgres.DB, sealed *time.Time, now time.Time, last bool) error {
	switch {
	case last:
		now = now.Add(time.Hour)
	case o.late || now.Before(sealed.Add(time.Hour)):
		return nil
	}
	*sealed = now.Truncate(time.Hour)
	return db.SealLogs(ctx, now, 0)
}

// peer copies the same rows.
func (b *ingest) peer(o checkOrder) side {
	return func(ctx context.Context) (float64, error) {
		const name = "theirs"
		if err := b.server.create(ctx, name, prepared); err != nil {
			return 0, err
		}
		cmd := peer(ctx, nil, "psql.sh", b.server.DSNFor(name), "-c", "SET synchronous_commit = off", "-c",
			fmt.Sprintf(`\copy plain_checks (%s) FROM '%s' (FORMAT csv)`, checkColumns, b.file(o)))
		idle := b.server.cpu()
		_, took, err := run(cmd)
		if err != nil {
			return 0, err
		}
		seconds, _ := used(cmd)
		log.Printf("    psql: %.2f s, CPU %.2f s of the client and %.2f s of the server", took, seconds,
			b.server.cpu()-idle)
		if err := b.same(ctx, name, "plain_checks"); err != nil {
			return 0, fmt.Errorf("psql: %w", err)
		}
		return float64(b.services*b.rounds) / took, nil
	}
}

// same checks that the rows of a database equal those of all previous runs.
func (b *ingest) same(ctx context.Context, name, table string) error {
	return b.server.on(ctx, name, func(conn *pgx.Conn) error {
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
func (b *ingest) rollups(ctx context.Context, name string) error {
	err := b.server.on(ctx, name, func(conn *pgx.Conn) error {
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
func (b *ingest) days(ctx context.Context, name string) error {
	type day struct {
		service int64
		start   string
	}
	want := map[day]*checks.Rollup{}
	for service := range b.services {
		for round := range b.rounds {
			c := b.check(service, round)
			k := day{c.ServiceID, c.CheckedAt.Format(time.DateOnly)}
			if want[k] == nil {
				want[k] = &checks.Rollup{ServiceID: c.ServiceID, Start: c.CheckedAt.Truncate(24 * time.Hour),
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
	now := firstRound.Add(time.Duration(b.rounds) * checkPeriod)
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
