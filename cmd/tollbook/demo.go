package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/build"
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/crawl/sample"
	"tollbook/output"
	"tollbook/render"
	"tollbook/site/postgres"
	"tollbook/site/serve"
)

// demoOptions are the flags of demo.
type demoOptions struct {
	dataOptions
	listenOptions
	Interval time.Duration
}

// AddFlags adds the flags of demo.
func (o *demoOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.listenOptions.AddFlags(f)
	f.DurationVar(&o.Interval, "interval", 15*time.Second, "time between two visits to a sample service")
}

// Of a demo: everything is seconds instead of minutes.
const (
	demoBuildEvery = 5 * time.Second // at most
	demoLogDelay   = 2 * time.Second
)

func newDemoCommand() *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a whole directory offline, with sample services",
		Long: `Demo shows everything on this machine alone: it starts a private Postgres and more than forty sample services on loopback,
writes ninety days of made-up history once, visits the services for real every few seconds, rebuilds the directory when
something changed, and serves it. Ctrl-C stops all of it; a second start goes on where the first ended.

What it keeps lies in the data folder, which may be deleted when the demo does not run.

EXIT STATUS

0 when it was told to stop, 1 when something failed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), o, cmd.OutOrStdout()) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runDemo(ctx context.Context, o demoOptions, stdout io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	say := func(format string, args ...any) { fmt.Fprintf(stdout, format+"\n", args...) }
	logger := newLogger(slog.LevelWarn)

	l, err := o.listen() // first: a port that is taken stops the demo before it has begun
	if err != nil {
		return err
	}
	defer l.Close()
	folder, err := openPublic(o.dataOptions)
	if err != nil {
		return err
	}
	say("Starting Postgres in %s …", o.Data)
	db, err := openDatabase(ctx, o.dataOptions, func(line string) { say("  %s", line) })
	if err != nil {
		return err
	}
	defer db.Close()
	world, err := sample.Start(ctx, sample.Options{Logger: logger})
	if err != nil {
		return err
	}
	defer world.Close()
	if err := writeSample(ctx, db.DB, o.Interval, say); err != nil {
		return err
	}
	d := &demo{db: db.DB, folder: folder, base: "http://" + l.Addr().String(), logger: logger, changed: make(chan struct{}, 1)}
	report, err := d.build(ctx)
	if err != nil {
		return err
	}
	say("Built %d services: %d files, %.1f MB, in %.1f s", report.Services, report.Files, float64(report.Bytes)/1e6, report.Took.Seconds())
	say("")
	say("  Pages   %s/", d.base)
	say("  API     %s/v1/services", d.base)
	say("  Files   %s", o.public())
	say("")
	say("The services are visited every %s, the directory is rebuilt when something changed. Ctrl-C stops.", o.Interval)
	return d.run(ctx, l, o, world, say)
}

// writeSample lists the sample services with their past, once. A folder that holds a real directory is refused.
func writeSample(ctx context.Context, db *postgres.DB, interval time.Duration, say func(string, ...any)) error {
	source, err := db.Setting(ctx, "source")
	if err != nil {
		return err
	}
	if source != "" {
		say("Going on with the sample data that is there")
		return nil
	}
	listed, err := db.Services(ctx)
	if err != nil {
		return err
	}
	if len(listed) > 0 {
		return errors.New("this database holds a real directory: give the demo another --data folder, and no DATABASE_URL")
	}
	now := time.Now().UTC().Truncate(time.Second)
	say("Writing ninety days of sample history …")
	if err := db.AddSample(ctx, sample.Notice, sample.Listings(now, interval), sample.Histories(now)); err != nil {
		return fmt.Errorf("write sample data: %w", err)
	}
	return nil
}

// demo is the running parts of a demo.
type demo struct {
	db      *postgres.DB
	folder  *output.Folder
	base    string
	logger  *slog.Logger
	changed chan struct{} // holds a token when something was found since the last build
}

func (d *demo) build(ctx context.Context) (build.Report, error) {
	now := time.Now()
	report, err := build.Run(ctx, d.db, d.folder, build.Options{
		Now: now, Every: demoBuildEvery, LogDelay: demoLogDelay, Expand: output.ExpandAll,
		Site: render.Site{Title: "Tollbook", BaseURL: d.base, Sample: true},
	})
	if err != nil {
		return report, err
	}
	_, err = prune(d.folder, now)
	return report, err
}

// run crawls, builds and serves until ctx ends or one of the three fails.
func (d *demo) run(ctx context.Context, l net.Listener, o demoOptions, world *sample.World, say func(string, ...any)) error {
	source, err := output.OpenSource(o.public(), d.logger)
	if err != nil {
		return err
	}
	defer source.Close()
	c := crawl.New(d.db, crawl.Options{
		HostGap: 20 * time.Millisecond, Hourly: -1, Logger: d.logger,
		Changed: func([]postgres.Visit) {
			select {
			case d.changed <- struct{}{}:
			default:
			}
		},
	}, probe.Options{
		UserAgent: userAgent(d.base),
		Routes:    []probe.Route{{Domain: sample.Domain, Dial: world.Dial, RootCAs: world.RootCAs()}},
	})
	defer c.Close()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var parts sync.WaitGroup
	start := func(part func(context.Context) error) {
		parts.Go(func() {
			if err := part(ctx); err != nil {
				cancel(err)
			}
		})
	}
	start(c.Run)
	start(d.rebuild)
	start(func(ctx context.Context) error {
		return serve.Serve(ctx, l, serve.NewHandler(serve.Options{Source: source, Logger: d.logger}), d.logger)
	})
	<-ctx.Done()
	say("Stopping …")
	parts.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// rebuild builds after changes, at most every demoBuildEvery. A build that fails leaves the last snapshot current and is
// tried again.
func (d *demo) rebuild(ctx context.Context) error {
	for {
		select {
		case <-time.After(demoBuildEvery):
		case <-ctx.Done():
			return nil
		}
		select {
		case <-d.changed:
		case <-ctx.Done():
			return nil
		}
		if _, err := d.build(ctx); err != nil && ctx.Err() == nil {
			d.logger.Error("build failed; the last snapshot stays current", "error", err)
			select {
			case d.changed <- struct{}{}:
			default:
			}
		}
	}
}
