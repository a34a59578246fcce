package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/build"
	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/crawl/probe"
	"tollbook/crawl/sample"
	"tollbook/output"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/serve"
)

// demoOptions are the flags of demo.
type demoOptions struct {
	dataOptions
	listenOptions
	lookOptions
	Interval time.Duration

	movable bool             // nobody chose the data folder: it may lie elsewhere where it can't be made
	now     func() time.Time // the sample services' clock; time.Now when nil
	grace   time.Duration    // demoGrace when zero
}

// AddFlags adds the flags of demo.
func (o *demoOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.listenOptions.AddFlags(f, demoRateLimit)
	o.lookOptions.AddFlags(f)
	f.DurationVar(&o.Interval, "interval", 15*time.Second, "time between two visits to a sample service")
}

func (o *demoOptions) validate() error {
	if o.Interval < time.Second {
		return usagef("--interval %s: it is a second or more", o.Interval)
	}
	return o.listenOptions.validate()
}

// Of a demo: everything is seconds instead of minutes.
const (
	demoBuildEvery = 5 * time.Second  // at most; on a slow machine a build is followed by a pause of
	demoBuildShare = 4                // times its length,
	demoPauseMax   = 30 * time.Second // but no longer than this
	demoLogDelay   = 2 * time.Second
	demoGrace      = 1500 * time.Millisecond // for the parts to end; a disk that syncs for longer is not waited for
	demoHeadStart  = 5 * time.Second         // at most, of the first visits before the first build

	demoPoll          = 3 * time.Second // of the sample chain, whose blocks are two seconds apart
	demoConfirmations = 2               // fewer blocks than a reorganisation of it replaces, so that one is seen to be rolled back
)

func newDemoCommand() *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a whole directory offline, with sample services",
		Long: `Demo shows everything on this machine alone: it starts a private Postgres, more than forty sample services and a sample
chain on loopback, writes ninety days of made-up history and settlements once, visits the services and reads the chain for
real every few seconds, rebuilds the directory when something changed, and serves it. Ctrl-C stops all of it; a second start
goes on where the first ended.

What it keeps lies in the data folder, which may be deleted when the demo does not run. Where the default folder can't be
written, as in a read-only checkout, it lies in the user's cache folder; the demo says where.

The pages take an operator's name, colours, words and templates as those of "tollbook build" do; the folders are read again
for each build, so that the demo shows what is being written.

EXIT STATUS

0 when it was told to stop, 1 when something failed.`,
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.movable = !cmd.Flags().Changed("data")
			err := runDemo(cmd.Context(), o, cmd.OutOrStdout())
			if cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
				return nil // told to stop before it had begun
			}
			return err
		},
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
	if _, err := o.site(reachable(l.Addr())); err != nil {
		return err
	}
	if o.movable {
		o.Data = writable(o.Data)
	}
	folder, err := openPublic(o.dataOptions)
	if err != nil {
		return err
	}
	say("Starting Postgres in %s …", o.Data)
	db, err := connectDatabase(ctx, o.dataOptions, 0, func(line string) { say("  %s", line) })
	if err != nil {
		return err
	}
	defer db.Close()
	began, fresh, err := sample.Begin(ctx, db.DB)
	if err != nil {
		return err
	}
	world, err := sample.Start(ctx, sample.Options{Now: o.now, Logger: logger, Start: began})
	if err != nil {
		return err
	}
	defer world.Close()
	if fresh {
		say("Writing ninety days of sample history …")
	} else {
		say("Going on with the sample data that is there")
	}
	if err := crawl.ImportShippedFacilitators(ctx, db.DB); err != nil {
		return err
	}
	if err := sample.Write(ctx, db.DB, world, began, fresh, o.Interval); err != nil {
		return err
	}
	d := &demo{
		db: db, folder: folder, look: o.lookOptions, base: reachable(l.Addr()), public: o.public(), interval: o.Interval, grace: cmp.Or(o.grace, demoGrace), limit: o.RateLimit,
		logger: logger, say: say, changed: make(chan struct{}, 1),
	}
	return d.run(ctx, l, world)
}

// reachable is the address of what listens, for a browser on this machine.
func reachable(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", tcp.Port)
	}
	return "http://" + a.String()
}

// writable is folder, or where that can't be made or written, as in a checkout that is read only, one of the same name
// among what this user's programs keep.
func writable(folder string) string {
	err := os.MkdirAll(folder, 0o755)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(folder, ".tmp-"); err == nil {
			_ = errors.Join(probe.Close(), os.Remove(probe.Name())) // what is left would be empty
		}
	}
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return folder // whoever uses it says better what is wrong
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = filepath.Join(os.TempDir(), fmt.Sprintf("tollbook-%d", os.Geteuid()))
	}
	return filepath.Join(cache, "tollbook", filepath.Base(folder))
}

// demo is the running parts of a demo.
type demo struct {
	db       *database
	folder   *output.Folder
	look     lookOptions
	base     string // of the pages' addresses
	public   string
	grace    time.Duration
	interval time.Duration
	limit    int // requests a minute of one client
	logger   *slog.Logger
	say      func(string, ...any)
	changed  chan struct{} // holds a token when something was found since the last build
}

func (d *demo) build(ctx context.Context) (build.Report, error) {
	own, err := d.look.site(d.base) // anew, so that who works at his templates sees what he does
	if err != nil {
		return build.Report{}, err
	}
	own.Sample = true
	now := time.Now()
	report, err := build.Run(ctx, d.db.DB, d.folder, build.Options{
		Now: now, Every: demoBuildEvery, LogDelay: demoLogDelay, Expand: output.ExpandAll,
		Site: own, Program: programSum(),
	})
	if err != nil {
		return report, err
	}
	_, err = prune(d.folder, now, report.Needed)
	return report, err
}

// run crawls, builds and serves until ctx ends or one of the parts fails.
func (d *demo) run(ctx context.Context, l net.Listener, world *sample.World) error {
	due, err := d.db.CountDue(ctx, time.Now())
	if err != nil {
		return err
	}
	c, met := d.crawler(world, due)
	defer c.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var parts sync.WaitGroup
	start := func(part func(context.Context) error) {
		parts.Go(func() {
			if err := part(ctx); err != nil {
				cancel(d.db.because(err))
			}
		})
	}
	index, err := d.indexer(world)
	if err != nil {
		return err
	}
	start(d.db.watch)
	start(c.Run)
	start(index)
	start(func(ctx context.Context) error {
		// What nobody has visited yet has no terms to show, and so the worst of grades.
		select {
		case <-met:
		case <-time.After(demoHeadStart):
		case <-ctx.Done():
		}
		if err := d.first(ctx); err != nil {
			return err
		}
		start(d.rebuild)
		return d.serve(ctx, l, world)
	})
	<-ctx.Done()
	d.say("Stopping …")
	ended := make(chan struct{})
	go func() {
		parts.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(d.grace): // a build that is cut off here leaves what one that was killed leaves: the last snapshot
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// crawler visits the sample services through the world's own dialer. met is closed when most of those that are due now
// have been visited.
func (d *demo) crawler(world *sample.World, due int) (c *crawl.Crawler, met <-chan struct{}) {
	var left atomic.Int64 // visits until most are met
	left.Store(int64(due * 8 / 10))
	most := make(chan struct{})
	if left.Load() == 0 {
		close(most)
	}
	changed := func(visits []postgres.Visit) { // called from several goroutines
		n := int64(len(visits))
		if now := left.Add(-n); now <= 0 && now+n > 0 {
			close(most)
		}
		d.touch()
	}
	return crawl.New(d.db.DB, crawl.Options{HostGap: demoHostGap, Hourly: -1, Logger: d.logger, Changed: changed}, d.asking(world)), most
}

// indexer reads the sample chain, each payment as it is settled.
func (d *demo) indexer(world *sample.World) (run func(context.Context) error, err error) {
	var settled int64
	index, err := crawl.NewIndexer(d.db.DB, []chain.Network{{
		ID: sample.Network, RPC: []string{world.RPC()}, Confirmations: demoConfirmations, Start: world.Ledger().Genesis(), Poll: demoPoll,
	}}, chain.Options{Logger: d.logger, Progress: func(p chain.Progress) { // never called twice at once
		if p.Settlements != settled {
			settled = p.Settlements
			d.touch()
		}
	}})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if err := index.Run(ctx); ctx.Err() == nil {
			return err
		}
		return nil
	}, nil
}

// touch says that there is something to build.
func (d *demo) touch() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// first makes the first snapshot of this run and says where to look.
func (d *demo) first(ctx context.Context) error {
	report, err := d.build(ctx)
	if err != nil {
		return err
	}
	d.say("Built %d services: %d files, %.1f MB, in %.1f s", report.Services, report.Files, float64(report.Bytes)/1e6, report.Took.Seconds())
	d.say("")
	d.say("  Pages   %s/", d.base)
	d.say("  API     %s/v1/services", d.base)
	d.say("  Files   %s", d.public)
	d.say("")
	d.say("The services are visited every %s, the directory is rebuilt when something changed. Ctrl-C stops.", d.interval)
	return nil
}

// serve answers readers, and takes submissions, which nobody reviews here: what is real has no place among samples.
func (d *demo) serve(ctx context.Context, l net.Listener, world *sample.World) error {
	source, err := output.OpenSource(d.public, d.logger)
	if err != nil {
		return err
	}
	defer source.Close()
	submissions := crawl.NewSubmissions(d.db.DB, crawl.SubmissionOptions{HostGap: demoHostGap, Logger: d.logger}, d.asking(world))
	defer submissions.Close()
	return serveSource(ctx, l, &metricsPort{}, source, serve.Options{Logger: d.logger, RateLimit: d.limit, Submit: submitOptions(d.db, submissions, site.FreeHosts{})})
}

// demoHostGap is the time between two requests to a sample service.
const demoHostGap = 20 * time.Millisecond

// asking is how the sample services are reached: through the world's own dialer, and nothing beyond it is trusted.
func (d *demo) asking(world *sample.World) probe.Options {
	return probe.Options{
		UserAgent: userAgent(d.base),
		Routes:    []probe.Route{{Domain: sample.Domain, Dial: world.Dial, RootCAs: world.RootCAs()}},
	}
}

// rebuild builds after changes, at most every demoBuildEvery. A build that fails leaves the last snapshot current and
// is tried again.
func (d *demo) rebuild(ctx context.Context) error {
	pause := demoBuildEvery
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
			d.touch()
		}
		pause = min(max(demoBuildEvery, demoBuildShare*time.Since(began)), demoPauseMax)
	}
}
