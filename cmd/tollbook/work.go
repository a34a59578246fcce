package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
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
	f.BoolVar(&o.Build, "build", false, "build too, into <data>/public, and publish to --to; for one worker of a fleet")
	f.DurationVar(&o.Drain, "drain", 7*time.Second, "how long jobs under way may go on after the worker was told to stop")
	f.StringVar(&o.Metrics, "metrics", "", "`address` of its own to answer /metrics (Prometheus) and /healthz on; none by default")
}

func (o *workOptions) validate() error {
	if o.Drain < 0 {
		return usagef("--drain %s: it is nothing or more", o.Drain)
	}
	if err := o.directoryOptions.validate(); err != nil {
		return err
	}
	if os.Getenv("DATABASE_URL") == "" {
		return usagef("work needs DATABASE_URL: a private Postgres serves one program; that is tollbook up")
	}
	return nil
}

func newWorkCommand(c *config) *cobra.Command {
	var o workOptions
	cmd := &cobra.Command{
		Use:   "work",
		Short: "Be one of many workers of a directory",
		Long: `Work does what is due: it visits services, looks at their sites, asks registries about domains, reads the chains of the
configuration, probes submissions, looks for the tokens of owners, and drops what is old. Any number of workers, on any
number of machines, share one database (DATABASE_URL); give them all the same configuration. What is due is done by one
of them; no host is asked by two at once, or sooner after the last request than --host-gap, however many there are.

One of them, with --build, builds into its own --data every --schedule-build, and publishes each build to --to. It must
stay the same one: its folder holds the older rows of the logs. Readers are served by "tollbook serve".

Told to stop, a worker takes nothing new, lets what runs go on for --drain, and gives the rest back. What a worker that
was killed had under way is given to others within seconds; of a machine that hangs, when its jobs have taken too long.

EXIT STATUS

0 when it was told to stop, 1 when it could not begin, 2 for a command line or configuration that is wrong.`,
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE: func(cmd *cobra.Command, _ []string) error {
			networks, err := o.chains(c.Networks)
			if err != nil {
				return err
			}
			return runWork(cmd.Context(), o, networks, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runWork(ctx context.Context, o workOptions, networks []measuredNetwork, stdout io.Writer) error {
	logger := newLogger(slog.LevelInfo)
	port, err := openMetrics(o.Metrics)
	if err != nil {
		return err
	}
	defer port.Close()
	db, err := openDirectory(ctx, o.dataOptions, o.connections(len(networks)), logger)
	if err != nil {
		return err
	}
	defer db.Close()
	d, err := o.direct(ctx, db, networks, o.Build, o.Drain, logger)
	if err != nil {
		return err
	}
	defer d.Close()
	port.announce(stdout)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return port.serve(ctx, metricsHandler(d.metrics...), logger) })
	fmt.Fprintln(stdout, "Working (Ctrl-C stops)")
	g.Go(func() error { return d.worker.Run(ctx) })
	return g.Wait()
}
