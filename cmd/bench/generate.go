package main

import (
	"context"
	"encoding/json"
	"errors"
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
var generateStage = stage{"generate", "fill a database with a made-up directory of any size",
	func(flags *flag.FlagSet) func(context.Context, *report) error {
		o := crowd.Options{Moment: crowd.Moment}
		dsn := flags.String("database", os.Getenv("DATABASE_URL"), "`URL` of the database; default DATABASE_URL")
		flags.IntVar(&o.Services, "services", 20_000, "number of `services`, up to a million")
		flags.Uint64Var(&o.Seed, "seed", 1, "another `number` generates another directory")
		flags.IntVar(&o.Days, "days", 90, "UTC `days` of history, the last one included")
		flags.IntVar(&o.Raw, "checks", 0, "`days` before the last one whose checks are kept one by one; at most 30")
		flags.Func("moment", "`time` at which everything ends, as 2026-11-20T12:30:00Z; default that one",
			func(s string) (err error) {
				o.Moment, err = time.Parse(time.RFC3339, s)
				return err
			})
		asJSON := flags.Bool("json", false, "print what was written as JSON")
		return func(ctx context.Context, _ *report) error { return generate(ctx, *dsn, o, *asJSON) }
	}}

func generate(ctx context.Context, dsn string, o crowd.Options, asJSON bool) error {
	switch {
	case dsn == "":
		return fmt.Errorf("%w: -database is missing, and DATABASE_URL is not set", errUsage)
	case o.Services < 1 || o.Services > 1_000_000:
		return fmt.Errorf("%w: -services %d is not 1 to 1000000", errUsage, o.Services)
	case o.Days < 1 || o.Days > 3650:
		return fmt.Errorf("%w: -days %d is not 1 to 3650", errUsage, o.Days)
	case o.Raw < 0 || o.Raw > 30:
		return fmt.Errorf("%w: -checks %d is not 0 to 30", errUsage, o.Raw)
	}
	db, err := postgres.OpenFor(ctx, dsn, postgres.Options{Connections: crowd.Connections()})
	if err != nil {
		return err
	}
	defer db.Close()
	bar := progressbar.Default(int64(o.Services), "written") // on stderr
	o.Progress = func(done, _ int) { _ = bar.Set(done) }     // an error of drawing the bar is ignored
	report, err := crowd.Load(ctx, db, o)
	_ = bar.Exit()
	switch {
	case errors.Is(err, postgres.ErrNotEmpty):
		return fmt.Errorf("nothing was written: %w; give another database", err)
	case err != nil && ctx.Err() != nil:
		return errors.New("the database contains a part of a directory; drop it")
	case err != nil:
		return err
	}
	rate := float64(report.Rows) / report.Took.Seconds()
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(struct {
			crowd.Report
			Seconds float64 `json:"seconds"`
			Rate    float64 `json:"rows_per_second"`
		}{report, report.Took.Seconds(), rate})
	}
	fmt.Printf("%d services, %d rows in %.1f s: %.0f rows/s\n", report.Services, report.Rows, report.Took.Seconds(),
		rate)
	return nil
}
