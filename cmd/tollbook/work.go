package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl/pull"
)

// workOptions are the flags of work.
type workOptions struct {
	directoryOptions
	Build   bool
	Drain   time.Duration
	Metrics string
}

// AddFlags adds the flags of work.
func (o *workOptions) AddFlags(f *pflag.FlagSet) {
	o.directoryOptions.AddFlags(f)
	f.BoolVar(&o.Build, "build", false,
		"build into <data>/public too, and publish to --publish-to; for one worker of a directory")
	f.DurationVar(&o.Drain, "drain", 7*time.Second, "`time` for running jobs to end after the worker is stopped")
	settings.AddFlag(f, "serve.metrics", &o.Metrics)
}

func (o *workOptions) validate() error {
	if o.Drain < 0 {
		return terminal.UsageErrorf("--drain %s: use 0s or more", o.Drain)
	}
	return o.directoryOptions.validate()
}

func newWorkCommand(c *settings.Configuration) *cobra.Command {
	var o workOptions
	cmd := &cobra.Command{
		Use:   "work",
		Short: "Run one of several workers of a directory",
		Long: `Work does what is due: it visits services, reads their sites, asks registries about domains, reads the
chains of the configuration, probes submissions, looks for the tokens of owners, and deletes old data. Any number of
workers, on any number of machines, share one database (DATABASE_URL); give all of them the same configuration.
Without DATABASE_URL they share the private Postgres of --data, on one machine. Each job is done by one of them. No
host gets requests from two at once, or sooner than --crawl-host-gap after the last request.
Visits to hosts of others need --crawl-contact.

One of them, with --build, builds into its own --data every --schedule-build, and publishes each build to
--publish-to. It must always be the same one, because its folder contains the older rows of the logs. Readers need
"tollbook serve".

On SIGTERM a worker starts no new job, finishes running jobs for up to --drain, and releases the rest. If a worker
is killed, the others get its jobs within seconds; if its machine hangs, when the jobs exceed their time limit.

EXIT STATUS

0 if it was stopped, 1 if it could not start, 2 for an error in the command line or the configuration.`,
		Example: "  DATABASE_URL=postgres://db.example/tollbook tollbook work",
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.start(cmd.Context(), c, func(list []settings.Network, sources []pull.Source) error {
				return runWork(cmd.Context(), o, list, sources, cmd.OutOrStdout())
			})
		},
	}
	o.AddFlags(cmd.Flags())
	settings.ShowFlags(cmd, "data", "build", "drain", "crawl-contact", "crawl-workers", "site-title", "site-base-url",
		"serve-metrics", "publish-to", "publish-key", "schedule-build", "visit-limit")
	return cmd
}

func runWork(ctx context.Context, o workOptions, list []settings.Network, sources []pull.Source,
	stdout io.Writer) error {
	logger := newLogger(ctx, slog.LevelInfo)
	port, err := run.OpenMetrics("--serve-metrics", o.Metrics)
	if err != nil {
		return err
	}
	defer port.Close()
	db, err := openDirectory(ctx, o.dataOptions, o.connections(len(list)), logger)
	if err != nil {
		return err
	}
	defer db.Close()
	logger = db.LogOutages(ctx, logger)
	w, err := o.newWorker(ctx, db, list, workerOptions{builds: o.Build, sources: sources, drain: o.Drain,
		logger: logger})
	if err != nil {
		return err
	}
	defer w.Close()
	port.Announce(stdout)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return port.Serve(ctx, run.MetricsHandler(w.Metrics...), logger) })
	fmt.Fprintln(stdout, "Working (Ctrl-C stops)")
	g.Go(func() error { db.KeepRunning(ctx, logger); return nil })
	g.Go(func() error { return db.Retry(ctx, w.Run) })
	return g.Wait()
}
