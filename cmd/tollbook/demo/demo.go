// Package demo runs a whole directory with sample services on one machine: it visits them, reads a sample chain,
// rebuilds after changes and answers readers. It must never visit a real service.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tollbook/build"
	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/version"
	"tollbook/crawl"
	"tollbook/crawl/sample"
	"tollbook/output"
	"tollbook/site/listing"
	"tollbook/site/postgres/load"
	"tollbook/site/serve"
)

// Intervals and limits, which are seconds where those of a real directory are minutes.
const (
	buildInterval    = 5 * time.Second  // from one build to the next, at least
	buildPauseFactor = 4                // on a slow machine the pause is that many times the length of a build,
	buildPauseMax    = 30 * time.Second // but no longer than this
	logDelay         = 2 * time.Second  // from a check to its entry in the logs
	sampleDays       = 60               // with a made-up assessment before the first build
	stopLimit        = 1500 * time.Millisecond
)

// Options are the settings of a demo.
type Options struct {
	Database   run.DatabaseOptions // of the demo's own data folder
	Appearance settings.Appearance
	Interval   time.Duration          // between two visits to a service
	RateLimit  int                    // requests a minute of one client; 0 is any number
	Limits     serve.ConnectionLimits // of the connections
	Stdout     io.Writer

	Now       func() time.Time // clock of the sample services; nil for time.Now
	StopLimit time.Duration    // how long to wait for the parts to end; 0 is the default
}

// Demo is a demo that runs.
type Demo struct {
	o       Options
	db      *run.Database
	folder  *output.Folder
	baseURL string
	logger  *slog.Logger
	changed chan struct{} // contains a token if something has changed since the last build
}

// Run runs a demo on l until ctx ends or one of its parts fails.
func Run(ctx context.Context, l net.Listener, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := &Demo{
		o: o, baseURL: run.URL(l.Addr()), changed: make(chan struct{}, 1),
		logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if _, err := o.Appearance.Read(d.baseURL); err != nil {
		return err
	}
	var err error
	if d.folder, err = output.OpenFolder(d.public()); err != nil {
		return fmt.Errorf("open the published folder: %w", err)
	}
	d.printf("Starting Postgres in %s …", o.Database.Data)
	o.Database.Say = func(line string) { d.printf("  %s", line) }
	if d.db, err = run.OpenDatabase(ctx, o.Database); err != nil {
		return err
	}
	defer d.db.Close()
	world, err := d.startWorld(ctx)
	if err != nil {
		return err
	}
	defer world.Close()
	return d.run(ctx, l, world)
}

// startWorld starts the sample services and writes what is missing of their history.
func (d *Demo) startWorld(ctx context.Context) (*sample.World, error) {
	began, fresh, err := sample.Begin(ctx, d.db.DB)
	if err != nil {
		return nil, err
	}
	world, err := sample.Start(ctx, sample.Options{Now: d.o.Now, Logger: d.logger, Start: began})
	if err != nil {
		return nil, err
	}
	if fresh {
		d.printf("Writing ninety days of sample history …")
	} else {
		d.printf("Continuing with the sample data of the last run")
	}
	if err := sample.Write(ctx, d.db.DB, world, began, fresh, d.o.Interval); err != nil {
		world.Close()
		return nil, err
	}
	return world, nil
}

func (d *Demo) printf(format string, args ...any) { fmt.Fprintf(d.o.Stdout, format+"\n", args...) }

// public returns the folder that snapshots are published to.
func (d *Demo) public() string { return filepath.Join(d.o.Database.Data, "public") }

// run visits, builds and serves until ctx ends or one of the parts fails.
func (d *Demo) run(ctx context.Context, l net.Listener, world *sample.World) error {
	c := d.newCrawler(world)
	defer c.Close()
	index, err := d.newIndexer(world)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var parts sync.WaitGroup
	start := func(part func(context.Context) error) {
		parts.Go(func() {
			if err := part(ctx); err != nil {
				cancel(d.db.Cause(err))
			}
		})
	}
	start(d.db.Watch)
	start(c.Run)
	start(index)
	start(func(ctx context.Context) error {
		if err := d.buildFirst(ctx); err != nil {
			return err
		}
		start(d.rebuild)
		return d.serve(ctx, l, world)
	})
	<-ctx.Done()
	d.printf("Stopping …")
	ended := make(chan struct{})
	go func() {
		parts.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(cmp.Or(d.o.StopLimit, stopLimit)):
		// A build that is cut off here leaves what a killed one leaves: the last snapshot stays current.
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// serve answers readers. It receives submissions too, which nobody reviews: a real service does not belong here.
func (d *Demo) serve(ctx context.Context, l net.Listener, world *sample.World) error {
	source, err := output.OpenSource(d.public(), d.logger)
	if err != nil {
		return err
	}
	defer source.Close()
	submissions := crawl.NewSubmissions(d.db.DB, crawl.SubmissionOptions{HostGap: hostGap, Logger: d.logger},
		d.probeOptions(world))
	defer submissions.Close()
	return run.Serve(ctx, l, &run.MetricsPort{}, source, serve.Options{
		Logger: d.logger, RateLimit: d.o.RateLimit, Connections: run.NewConnections(d.o.Limits, d.logger),
		Submit: run.SubmitOptions(d.db.DB, submissions, listing.FreeHosts{}),
	})
}

// build makes a snapshot. It reads the operator's folders again, so that each build shows what was edited since.
func (d *Demo) build(ctx context.Context) (build.Report, error) {
	s, err := d.o.Appearance.Read(d.baseURL)
	if err != nil {
		return build.Report{}, err
	}
	s.Sample = true
	now := time.Now()
	built, err := build.Run(ctx, d.db.DB, d.folder, build.Options{
		Now: now, Every: buildInterval, LogDelay: logDelay, Expand: output.ExpandAll,
		Site: s, Program: version.ProgramSum(),
		Force: true, // a Postgres that is killed loses the last half second, which a snapshot may have
	})
	if err != nil {
		return built, err
	}
	_, err = run.Prune(d.folder, now, built.Needed)
	return built, err
}

// buildFirst makes the first snapshot of this run and prints where it is.
func (d *Demo) buildFirst(ctx context.Context) error {
	d.printf("Building the first snapshot …")
	built, err := d.build(ctx)
	if err != nil {
		return err
	}
	if err := report.Build(d.o.Stdout, built, false); err != nil {
		return err
	}
	if err := load.Assessments(ctx, d.db.DB, sampleDays); err != nil {
		return err
	}
	d.printf("")
	d.printf("  Pages   %s/", d.baseURL)
	d.printf("  API     %s/v1/services", d.baseURL)
	d.printf("  Files   %s", d.public())
	d.printf("")
	d.printf("Each service is visited every %s, and the directory is rebuilt after changes. Ctrl-C stops.",
		d.o.Interval)
	return nil
}

// rebuild builds after changes. If a build fails, the last snapshot stays current and the build is tried again.
func (d *Demo) rebuild(ctx context.Context) error {
	pause := buildInterval
	for {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
		select {
		case <-d.changed:
		case <-ctx.Done():
			return nil
		}
		began := time.Now()
		if _, err := d.build(ctx); err != nil && ctx.Err() == nil {
			d.logger.Error("build failed; the last snapshot stays current", "error", err)
			d.markChanged()
		}
		pause = min(max(buildInterval, buildPauseFactor*time.Since(began)), buildPauseMax)
	}
}

// markChanged requests a build.
func (d *Demo) markChanged() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}
