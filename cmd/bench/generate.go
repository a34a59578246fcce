package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"

	"tollbook/cmd/bench/crowd"
	"tollbook/site/postgres"
)

// generateStage fills an empty database with a made-up directory of any size, for measuring or for trying Tollbook. It
// migrates the database and writes to its tables by COPY, on all cores. Its memory does not grow with the size of the
// directory. The same seed and moment give the same directory, and a service does not depend on the number of other
// services. It rejects a database that contains a directory. After Ctrl-C, drop the database and begin again.
var generateStage = stage{name: "generate", short: "fill a database with a made-up directory of any size",
	services: 20_000,
	flags: func(flags *flag.FlagSet) func(*bench) {
		o := crowd.Options{Moment: crowd.Moment}
		dsn := flags.String("database", os.Getenv("DATABASE_URL"), "`URL` of the database; default DATABASE_URL")
		flags.Uint64Var(&o.Seed, "seed", 1, "another `number` generates another directory")
		flags.IntVar(&o.Days, "days", 90, "UTC `days` of history, the last one included")
		flags.IntVar(&o.Raw, "checks", 0, "`days` before the last one whose checks are kept one by one; at most 30")
		flags.Func("moment", "`time` at which everything ends, as 2026-11-20T12:30:00Z; default that one",
			func(s string) (err error) {
				o.Moment, err = time.Parse(time.RFC3339, s)
				return err
			})
		return func(b *bench) {
			o.Services = b.services
			b.generate(*dsn, o)
		}
	}}

func (b *bench) generate(dsn string, o crowd.Options) {
	switch {
	case dsn == "":
		failf("%w: -database is missing, and DATABASE_URL is not set", errUsage)
	case o.Services > 1_000_000:
		failf("%w: -services %d is more than 1000000", errUsage, o.Services)
	case o.Days < 1 || o.Days > 3650:
		failf("%w: -days %d is not 1 to 3650", errUsage, o.Days)
	case o.Raw < 0 || o.Raw > 30:
		failf("%w: -checks %d is not 0 to 30", errUsage, o.Raw)
	}
	db := must(postgres.OpenFor(b.ctx, dsn, postgres.Options{Connections: crowd.Connections()}))
	defer db.Close()
	bar := progressbar.Default(int64(o.Services), "written") // on stderr
	o.Progress = func(done, _ int) { _ = bar.Set(done) }     // an error of drawing the bar is ignored
	report, err := crowd.Load(b.ctx, db, o)
	_ = bar.Exit()
	if err != nil {
		failf("fill the database: %w; drop it, or name an empty one", err)
	}
	fmt.Printf("%d services, %d rows in %.1f s: %.0f rows/s\n", report.Services, report.Rows, report.Took.Seconds(),
		float64(report.Rows)/report.Took.Seconds())
}
