package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/pflag"

	"tollbook/build"
	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/crawl/probe"
	"tollbook/crawl/schedule"
	"tollbook/output"
	"tollbook/output/objects"
)

// scheduleOptions say how often what is done for the directory as a whole is done.
type scheduleOptions struct {
	Build, Publish, Index, Retention time.Duration
}

// AddFlags adds the schedule.
func (o *scheduleOptions) AddFlags(f *pflag.FlagSet) {
	f.DurationVar(&o.Build, "schedule-build", 15*time.Minute, "time from one build to the next, which readers may cache each for")
	f.DurationVar(&o.Publish, "schedule-publish", 0, "least time from one publication to the next; 0 to publish after each build")
	f.DurationVar(&o.Index, "schedule-index", time.Minute, "time from one look at each chain to the next")
	f.DurationVar(&o.Retention, "schedule-retention", time.Hour, "time from one look for what is old enough to be dropped to the next")
}

func (o *scheduleOptions) validate() error {
	for _, d := range []struct {
		flag  string
		value time.Duration
		least time.Duration
	}{{"build", o.Build, time.Second}, {"publish", o.Publish, 0}, {"index", o.Index, time.Second}, {"retention", o.Retention, time.Second}} {
		if d.value < d.least {
			return usagef("--schedule-%s %s: it is %s or more", d.flag, d.value, d.least)
		}
	}
	return nil
}

// directoryOptions are the flags of whoever does all that a directory needs, again and again: up and work.
type directoryOptions struct {
	dataOptions
	siteOptions
	keyOptions
	freeHostOptions
	synthesisOptions
	networkOptions
	scheduleOptions
	Workers      int
	HostGap      time.Duration
	VisitLimit   time.Duration
	AllowPrivate []string
	Contact      string
	To, Expand   string
}

// AddFlags adds the flags that up and work share.
func (o *directoryOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.siteOptions.AddFlags(f)
	o.keyOptions.AddFlags(f)
	o.freeHostOptions.AddFlags(f)
	o.synthesisOptions.AddFlags(f)
	o.networkOptions.AddFlags(f)
	o.scheduleOptions.AddFlags(f)
	f.IntVar(&o.Workers, "workers", 32, "services visited at once")
	f.DurationVar(&o.HostGap, "host-gap", time.Second, "time between two requests to a host")
	f.DurationVar(&o.VisitLimit, "visit-limit", 90*time.Second, "longest visit to a service; what it did not reach is first next time")
	f.StringSliceVar(&o.AllowPrivate, "allow-private", nil, "`HOST[:PORT]` that may be visited although it is private; for tests")
	f.StringVar(&o.Contact, "contact", "https://tollbook.example/bot", "`address` that the user agent names for questions")
	f.StringVar(&o.To, "to", "", "`place` to publish each build to: s3://bucket/prefix, or a folder; none by default")
	f.StringVar(&o.Expand, "expand", "all", "which files to write there as objects of their own beside the zip: all, contract or none")
}

func (o *directoryOptions) validate() error {
	if o.Workers < 1 {
		return usagef("--workers %d: at least 1 must visit", o.Workers)
	}
	if o.HostGap <= 0 {
		return usagef("--host-gap %s: the time between two requests is more than nothing", o.HostGap)
	}
	if o.VisitLimit < time.Second {
		return usagef("--visit-limit %s: it is a second or more", o.VisitLimit)
	}
	if _, known := expansions[o.Expand]; !known {
		return usagef("--expand %q: it is all, contract or none", o.Expand)
	}
	if o.To != "" && objects.SameFolder(o.To, o.public()) {
		return usagef("--to %s: it is where builds are published to already", o.To)
	}
	for _, err := range []error{o.siteOptions.validate(), o.synthesisOptions.validate(), o.scheduleOptions.validate()} {
		if err != nil {
			return err
		}
	}
	return nil
}

// chains are the networks to index; none is well.
func (o *directoryOptions) chains(file []networkConfig) ([]measuredNetwork, error) {
	if len(file) == 0 && len(o.RPC) == 0 && len(o.Networks) == 0 {
		return nil, nil
	}
	return o.networks(file)
}

// connections is how many a worker uses at once: some for as long as it runs, others while a chain is read.
func (o *directoryOptions) connections(networks int) int32 { return int32(16 + networks) }

// How long a run of each step may take, and how often those are done that nobody configures.
const (
	submissionsEvery, submissionsLimit = 15 * time.Second, 5 * time.Minute
	synthesisEvery, synthesisLimit     = time.Minute, 30 * time.Minute
	ownersEvery, ownersLimit           = 24 * time.Hour, 6 * time.Hour
	indexLimit                         = 15 * time.Minute
	buildLimit, publishLimit           = time.Hour, 3 * time.Hour
	pruneEvery, pruneLimit             = time.Hour, time.Hour
	retentionLimit                     = time.Hour
)

// operation is the parts of a directory that work on a schedule.
type operation struct {
	crawler *crawl.Crawler
	worker  *schedule.Worker
	metrics []metricsWriter
}

// Close drops kept connections.
func (d *operation) Close() { d.crawler.Close() }

// direct wires the jobs of a worker: what is visited and looked at, and the steps. With builds it is the one that
// builds, into its own folder, and publishes.
func (o *directoryOptions) direct(ctx context.Context, db *database, networks []measuredNetwork, builds bool, drain time.Duration, logger *slog.Logger) (*operation, error) {
	guard := &probe.Guard{AllowPrivate: o.AllowPrivate}
	if err := guard.Validate(); err != nil {
		return nil, usagef("%w", err)
	}
	free, err := o.freeHosts()
	if err != nil {
		return nil, err
	}
	logger = slog.New(schedule.Logs(logger.Handler()))
	c := crawl.New(db.DB, crawl.Options{
		Workers: o.Workers, HostGap: o.HostGap, Visit: o.VisitLimit, Logger: logger, FreeHosts: free, Synthesis: o.synthesis(),
	}, probe.Options{Guard: guard, UserAgent: userAgent(o.Contact)})
	d := &operation{crawler: c}
	steps, err := o.steps(ctx, db, c, networks, d, logger)
	if err == nil && builds {
		var more []schedule.Step
		more, err = o.buildSteps(db, logger)
		steps = append(steps, more...)
	}
	metrics := schedule.NewMetrics()
	if err == nil {
		d.worker, err = schedule.New(db.DB, schedule.Options{
			Visitor: c, Steps: steps, Workers: o.Workers, VisitLimit: c.Lease(), SiteVisitLimit: crawl.SiteVisitLimit, DomainQueryLimit: crawl.DomainQueryLimit,
			Drain: drain, Logger: logger, Metrics: metrics,
		})
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	d.metrics = append(d.metrics, func(ctx context.Context, w io.Writer) error { return metrics.Write(ctx, w, db.DB, time.Now()) })
	return d, nil
}

// steps are those that any worker can do.
func (o *directoryOptions) steps(ctx context.Context, db *database, c *crawl.Crawler, networks []measuredNetwork, d *operation, logger *slog.Logger) ([]schedule.Step, error) {
	steps := []schedule.Step{
		{Name: "submissions", Every: submissionsEvery, Limit: submissionsLimit, Goes: true, Do: func(ctx context.Context) error {
			_, err := c.ProbeSubmissions(ctx)
			return err
		}},
		{Name: "owners", Every: ownersEvery, Limit: ownersLimit, Do: func(ctx context.Context) error {
			_, err := c.RecheckOwners(ctx, "schedule")
			return err
		}},
		{Name: "retention", Every: o.Retention, Limit: retentionLimit, Do: func(ctx context.Context) error {
			return errors.Join(db.Retain(ctx, time.Now()), db.DeleteIdleHosts(ctx))
		}},
	}
	if o.SynthesisURL != "" {
		steps = append(steps, schedule.Step{Name: "synthesis", Every: synthesisEvery, Limit: synthesisLimit, Goes: true, Do: func(ctx context.Context) error {
			report, err := c.Synthesize(ctx)
			if err == nil && report.Stopped != "" {
				err = errors.New(report.Stopped) // its backoff spares an endpoint that does not answer
			}
			return err
		}})
	}
	if len(networks) == 0 {
		return steps, nil
	}
	chains := make([]chain.Network, len(networks))
	for i, n := range networks {
		chains[i] = n.Network
		if err := db.SetTokens(ctx, n.ID, n.tokens); err != nil {
			return nil, err
		}
	}
	if err := warnUnsettled(ctx, db.DB, networks, logger); err != nil {
		return nil, err
	}
	metrics := chain.NewMetrics()
	x, err := crawl.NewIndexer(db.DB, chains, chain.Options{Logger: logger, Metrics: metrics})
	if err != nil {
		return nil, err
	}
	d.metrics = append(d.metrics, indexMetrics(metrics))
	for _, id := range x.Networks() {
		steps = append(steps, schedule.Step{Name: "index:" + id, Every: o.Index, Limit: indexLimit, Goes: true, Do: func(ctx context.Context) error {
			_, err := x.OnceOf(ctx, id)
			return err
		}})
	}
	return steps, nil
}

// buildSteps are those of the process that has the published folder. They follow each other, so that what is published
// is what was built last, and nothing is pruned before.
func (o *directoryOptions) buildSteps(db *database, logger *slog.Logger) ([]schedule.Step, error) {
	folder, err := openPublic(o.dataOptions)
	if err != nil {
		return nil, err
	}
	snapshot := buildOptions{
		dataOptions: o.dataOptions, siteOptions: o.siteOptions, keyOptions: o.keyOptions, freeHostOptions: o.freeHostOptions,
		Expand: string(output.ExpandAll), Every: o.Build,
	}
	make, err := snapshot.maker()
	if err != nil {
		return nil, err
	}
	steps := []schedule.Step{{Name: "build", Every: o.Build, Limit: buildLimit, Do: func(ctx context.Context) error {
		if _, err := folder.Checkpoint(); errors.Is(err, output.ErrEmpty) {
			firstVisits(ctx, db)
		}
		report, err := make(ctx, db.DB, folder, nil)
		if err == nil {
			logBuild(ctx, logger, report)
		}
		return err
	}}}
	if o.To == "" {
		return steps, nil
	}
	target := targetOptions{dataOptions: o.dataOptions, keyOptions: o.keyOptions, To: o.To, Expand: o.Expand}
	if _, err := objects.OpenStore(o.To, objects.StoreOptions{Getenv: os.Getenv}); err != nil {
		return nil, err
	}
	return append(steps,
		schedule.Step{Name: "publish", Every: max(o.Publish, time.Second), Follows: "build", Limit: publishLimit, Do: func(ctx context.Context) error {
			p, err := target.publisher(ctx, db.DB, nil)
			if err != nil {
				return err
			}
			r, err := p.Publish(ctx, folder)
			if err == nil {
				logger.InfoContext(ctx, "published", "to", o.To, "snapshot", r.Checkpoint.Snapshot, "generation", r.Checkpoint.Generation, "written", r.Written, "bytes", r.Bytes)
			}
			return err
		}},
		schedule.Step{Name: "prune", Every: pruneEvery, Follows: "publish", Limit: pruneLimit, Do: func(ctx context.Context) error {
			p, err := target.publisher(ctx, db.DB, nil)
			if err != nil {
				return err
			}
			_, err = p.Prune(ctx, folder)
			return err
		}}), nil
}

func logBuild(ctx context.Context, logger *slog.Logger, r build.Report) {
	logger.InfoContext(ctx, "built", "snapshot", r.Snapshot, "services", r.Services, "files", r.Files, "bytes", r.Bytes, "seconds", r.Took.Seconds())
}

// The first build of all waits a while for the first visits: what nobody has visited has no terms to show.
const (
	firstPatience = 30 * time.Second
	firstLook     = 200 * time.Millisecond
)

// firstVisits waits until each service was visited once, or patience ends.
func firstVisits(ctx context.Context, db *database) {
	ctx, cancel := context.WithTimeout(ctx, firstPatience)
	defer cancel()
	for {
		if left, err := db.CountUnvisited(ctx); err != nil || left == 0 {
			return
		}
		select {
		case <-time.After(firstLook):
		case <-ctx.Done():
			return
		}
	}
}
