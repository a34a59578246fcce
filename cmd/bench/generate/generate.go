// Package generate fills an empty database with a made-up directory of any size, for measuring or for trying Tollbook:
//
//	go run ./cmd/bench generate -services 20000 -database postgres://…
//
// It migrates the database and writes to its tables by COPY, on all cores. Its memory does not grow with the size of
// the directory. The same seed and moment give the same directory, and a service does not depend on the number of other
// services. It rejects a database that contains a directory. After Ctrl-C, drop the database and begin again.
package generate

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"tollbook/cmd/bench/crowd"
	"tollbook/cmd/bench/harness"
	"tollbook/site/postgres"
)

type options struct {
	database string
	json     bool
	crowd    crowd.Options
}

// Command is the bench.
var Command = harness.Command{Name: "generate", Short: "fill a database with a made-up directory of any size",
	Flags: func(flags *flag.FlagSet) func(context.Context) error {
		o := options{crowd: crowd.Options{Moment: crowd.Moment}}
		flags.StringVar(&o.database, "database", os.Getenv("DATABASE_URL"),
			"`URL` of the database; default DATABASE_URL")
		flags.IntVar(&o.crowd.Services, "services", 20_000, "number of `services`, up to a million")
		flags.Uint64Var(&o.crowd.Seed, "seed", 1, "another `number` generates another directory")
		flags.IntVar(&o.crowd.Days, "days", 90, "UTC `days` of history, the last one included")
		flags.IntVar(&o.crowd.Raw, "checks", 0,
			"`days` before the last one whose checks are kept one by one, too; at most 30")
		flags.Func("moment", "`time` at which everything ends, as 2026-11-20T12:30:00Z; default that one",
			func(s string) (err error) {
				o.crowd.Moment, err = time.Parse(time.RFC3339, s)
				return err
			})
		flags.BoolVar(&o.json, "json", false, "print what was written as JSON")
		return func(ctx context.Context) error {
			if err := o.check(); err != nil {
				return fmt.Errorf("%w: %w", harness.ErrUsage, err)
			}
			err := run(ctx, o)
			if err != nil && ctx.Err() != nil {
				err = errors.New("the database contains a part of a directory; drop it")
			}
			return err
		}
	}}

func (o *options) check() error {
	switch {
	case o.database == "":
		return errors.New("-database is missing, and DATABASE_URL is not set")
	case o.crowd.Services < 1 || o.crowd.Services > 1_000_000:
		return fmt.Errorf("-services %d is not 1 to 1000000", o.crowd.Services)
	case o.crowd.Days < 1 || o.crowd.Days > 3650:
		return fmt.Errorf("-days %d is not 1 to 3650", o.crowd.Days)
	case o.crowd.Raw < 0 || o.crowd.Raw > 30:
		return fmt.Errorf("-checks %d is not 0 to 30", o.crowd.Raw)
	}
	return nil
}

func run(ctx context.Context, o options) error {
	db, err := postgres.OpenFor(ctx, o.database, postgres.Options{Connections: crowd.Connections()})
	if err != nil {
		return err
	}
	defer db.Close()
	p := newProgress(o.crowd.Services)
	o.crowd.Progress = p.set
	report, err := crowd.Load(ctx, db, o.crowd)
	p.finish()
	if errors.Is(err, postgres.ErrNotEmpty) {
		return fmt.Errorf("nothing was written: %w; give another database", err)
	}
	if err != nil {
		return err
	}
	perSecond := float64(report.Rows) / report.Took.Seconds()
	if o.json {
		return json.NewEncoder(os.Stdout).Encode(struct {
			crowd.Report
			Seconds float64 `json:"seconds"`
			Rate    float64 `json:"rows_per_second"`
		}{report, report.Took.Seconds(), perSecond})
	}
	fmt.Printf("%d services, %d rows in %.1f s: %.0f rows/s\n", report.Services, report.Rows, report.Took.Seconds(),
		perSecond)
	return nil
}

// progress shows a bar on a terminal, and otherwise logs a line now and then.
type progress struct {
	bar *progressbar.ProgressBar

	mu         sync.Mutex
	lastReport time.Time
}

func newProgress(total int) *progress {
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return &progress{lastReport: time.Now()}
	}
	return &progress{bar: progressbar.NewOptions(total,
		progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription("written"),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionFullWidth())}
}

func (p *progress) set(done, total int) {
	if p.bar != nil {
		_ = p.bar.Set(done) // an error of drawing the bar is ignored
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.lastReport) >= 10*time.Second {
		p.lastReport = time.Now()
		log.Printf("%d of %d services written", done, total)
	}
}

func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
