// Package ingest measures how fast checks are stored, beside psql's \copy of the same rows:
//
//	go run ./cmd/bench ingest -services 20000 -rounds 50 -runs 5
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
package ingest

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/cmd/bench/harness"
	"tollbook/cmd/bench/usage"
	"tollbook/crawl"
	"tollbook/site/postgres"
	"tollbook/site/postgres/private"
)

// Command is the bench.
var Command = harness.Command{Name: "ingest", Short: "measure storing checks, beside psql's copy",
	Flags: func(flags *flag.FlagSet) func(context.Context) error {
		var b bench
		flags.IntVar(&b.services, "services", 20_000, "services")
		flags.IntVar(&b.rounds, "rounds", 50, "checks of each, a quarter of an hour apart")
		flags.IntVar(&b.batch, "batch", 5000, "visits stored in one transaction")
		flags.IntVar(&b.runs, "runs", 5, "runs of each side and order")
		flags.StringVar(&b.profile, "profile", "", "file for a CPU profile of our last run")
		flags.BoolVar(&b.statements, "statements", false,
			"tell how long the server takes for each statement of ours, with pg_stat_statements")
		return func(ctx context.Context) error {
			debug.SetGCPercent(crawl.GCPercent)
			return b.run(ctx)
		}
	}}

// bench is the state that both sides share.
type bench struct {
	services, rounds, batch, runs int
	profile                       string
	statements                    bool

	dir        string
	server     *private.Server
	postmaster int     // the process of the server
	ids        []int64 // of the services
	rows       string  // what the rows add up to; "" before the first run
}

func (b *bench) run(ctx context.Context) (err error) {
	if err := harness.Install(ctx, harness.Peer{Program: "psql", Package: "postgresql-client"}); err != nil {
		return err
	}
	if b.dir, err = harness.Folder(); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	options := private.Options{Dir: filepath.Join(b.dir, "postgres")}
	if b.statements {
		options.Settings = []string{"shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track=all"}
	}
	if b.server, err = private.Start(ctx, options); err != nil {
		return err
	}
	defer b.server.Stop(context.WithoutCancel(ctx))
	if b.postmaster, err = usage.Postmaster(options.Dir); err != nil {
		return err
	}
	if err := b.prepare(ctx); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	report := harness.NewReport(b.runs)
	for _, o := range []order{{name: "as crawled", row: b.crawled},
		{name: "in arrears", row: b.inArrears, late: true}} {
		if err := b.write(o); err != nil {
			return err
		}
		results, err := harness.Alternate(ctx, b.runs, b.ours(o), b.peer(o))
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		report.Compare(fmt.Sprintf("checks with roll-ups, %s, %d at once", o.name, b.batch), `psql \copy`, "checks/s",
			results[0], results[1], harness.Bound{})
		report.AddBounded("rate of ours", "checks/s", harness.Bound{Target: 20_000, Hoped: 50_000}, results[0]...)
	}
	return report.Print()
}

// ours records all checks as visits, batch by batch.
func (b *bench) ours(o order) harness.Side {
	return func(ctx context.Context) (float64, error) {
		const name = "ours"
		if err := b.database(ctx, name); err != nil {
			return 0, err
		}
		db, err := postgres.Open(ctx, b.server.DSNFor(name))
		if err != nil {
			return 0, err
		}
		defer db.Close()
		stop, err := harness.Profile(b.profile)
		if err != nil {
			return 0, err
		}
		defer stop()
		if b.statements {
			if err := b.forget(ctx); err != nil {
				return 0, err
			}
		}
		n := b.services * b.rounds
		var took, used float64
		idle, err := usage.CPU(b.postmaster)
		if err != nil {
			return 0, err
		}
		sealed := start
		visits := make([]postgres.Visit, b.batch)
		for first := 0; first < n; first += b.batch {
			visits = visits[:min(b.batch, n-first)]
			for i := range visits {
				visits[i] = b.visit(o, first+i)
			}
			began, before := time.Now(), usage.Self() // visits are ready in memory, as the peer's file is on disk
			if err := db.RecordVisits(ctx, visits); err != nil {
				return 0, err
			}
			if err := o.seal(ctx, db, &sealed, visits[len(visits)-1].Check.CheckedAt,
				first+len(visits) == n); err != nil {
				return 0, err
			}
			took, used = took+time.Since(began).Seconds(), used+usage.Self()-before
		}
		log.Printf("    ours: %.2f s, CPU %.2f s of the client and %.2f s of the server", took, used,
			b.serverSince(idle))
		if b.statements {
			if err := b.tell(ctx, name, n); err != nil {
				return 0, err
			}
		}
		if err := b.same(ctx, name, "checks"); err != nil {
			return 0, fmt.Errorf("ours: %w", err)
		}
		return float64(n) / took, b.rollups(ctx, name)
	}
}

// seal sums finished hours, as a build does: during the run as crawled, at the end in arrears. Its time is part of
// ours.
func (o order) seal(ctx context.Context, db *postgres.DB, sealed *time.Time, now time.Time, last bool) error {
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
func (b *bench) peer(o order) harness.Side {
	return func(ctx context.Context) (float64, error) {
		const name = "theirs"
		if err := b.database(ctx, name); err != nil {
			return 0, err
		}
		cmd := exec.CommandContext(ctx, "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", b.server.DSNFor(name), "-c",
			"SET synchronous_commit = off",
			"-c", fmt.Sprintf(`\copy plain_checks (%s) FROM '%s' (FORMAT csv)`, columns, b.file(o)))
		idle, err := usage.CPU(b.postmaster)
		if err != nil {
			return 0, err
		}
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("psql: %w\n%s", err, out)
		}
		took := time.Since(began).Seconds()
		log.Printf("    psql: %.2f s, CPU %.2f s of the client and %.2f s of the server", took,
			(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), b.serverSince(idle))
		if err := b.same(ctx, name, "plain_checks"); err != nil {
			return 0, fmt.Errorf("psql: %w", err)
		}
		return float64(b.services*b.rounds) / took, nil
	}
}

// serverSince returns the processor time of Postgres since a moment, in seconds; 0 if it cannot be read.
func (b *bench) serverSince(before float64) float64 {
	now, err := usage.CPU(b.postmaster)
	if err != nil {
		return 0
	}
	return now - before
}

// on runs f with a connection to a database.
func (b *bench) on(ctx context.Context, database string, f func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, b.server.DSNFor(database))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return f(conn)
}
