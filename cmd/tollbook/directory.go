package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/crawl/pull"
	"tollbook/crawl/schedule"
	"tollbook/output"
	"tollbook/output/objects"
)

// directoryOptions are the flags of the commands that run a directory on a schedule: up and work.
type directoryOptions struct {
	dataOptions
	siteOptions
	keyOptions
	crawlerKeyOptions
	visitOptions
	paceOptions
	freeHostOptions
	retentionOptions
	synthesisOptions
	networkOptions
	Schedule   run.Schedule
	VisitLimit time.Duration
	To, Expand string
}

// AddFlags adds the flags that up and work share.
func (o *directoryOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.siteOptions.AddFlags(f)
	o.keyOptions.AddFlags(f)
	o.crawlerKeyOptions.AddFlags(f)
	o.visitOptions.AddFlags(f)
	o.paceOptions.AddFlags(f)
	o.freeHostOptions.AddFlags(f)
	o.retentionOptions.AddFlags(f)
	o.synthesisOptions.AddFlags(f)
	o.networkOptions.AddFlags(f)
	settings.AddFlag(f, "schedule.build", &o.Schedule.Build)
	settings.AddFlag(f, "schedule.publish", &o.Schedule.Publish)
	settings.AddFlag(f, "schedule.index", &o.Schedule.Index)
	settings.AddFlag(f, "schedule.facilitators", &o.Schedule.Facilitators)
	settings.AddFlag(f, "schedule.retention", &o.Schedule.Retention)
	settings.AddFlag(f, "publish.to", &o.To)
	f.StringVar(&o.Expand, "expand", "auto", expandMeaning)
	f.DurationVar(&o.VisitLimit, "visit-limit", 90*time.Second,
		"longest `time` of a visit; the next visit begins with the endpoints that this one did not reach")
}

func (o *directoryOptions) validate() error {
	if err := cmp.Or(o.paceOptions.validate(), o.visitOptions.validate()); err != nil {
		return err
	}
	if o.VisitLimit < time.Second {
		return terminal.UsageErrorf("--visit-limit %s: use 1s or more", o.VisitLimit)
	}
	if _, ok := run.Expansions[o.Expand]; !ok {
		return terminal.UsageErrorf("--expand %q: use auto, all, contract or none", o.Expand)
	}
	if o.To != "" && objects.SameFolder(o.To, o.Public()) {
		return terminal.UsageErrorf("--publish-to %s: builds are published to this folder already", o.To)
	}
	for _, d := range []struct {
		name           string
		value, minimum time.Duration
	}{
		{"build", o.Schedule.Build, time.Second}, {"publish", o.Schedule.Publish, 0},
		{"index", o.Schedule.Index, time.Second}, {"facilitators", o.Schedule.Facilitators, 0},
		{"retention", o.Schedule.Retention, time.Second},
	} {
		if d.value < d.minimum {
			return terminal.UsageErrorf("--schedule-%s %s: use %s or more", d.name, d.value, d.minimum)
		}
	}
	return cmp.Or(o.siteOptions.validate(), o.retentionOptions.validate(), o.synthesisOptions.validate())
}

// start reads the networks and sources of the configuration, and passes them to command. It returns nil if the command is
// stopped while it starts.
func (o *directoryOptions) start(
	ctx context.Context, c *settings.Configuration, command func([]settings.Network, []pull.Source) error,
) error {
	list, err := o.networks(c.Networks)
	if err != nil {
		return err
	}
	sources, err := settings.ReadSources(c.Sources)
	if err != nil {
		return err
	}
	err = command(list, sources)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// networks returns the networks to index, which may be none.
func (o *directoryOptions) networks(tables []settings.Networks) ([]settings.Network, error) {
	if o.Networks.IsEmpty(tables) {
		return nil, nil
	}
	return o.Networks.Read(tables)
}

// connections returns how many connections to the database a worker uses at once.
func (o *directoryOptions) connections(networks int) int32 { return int32(16 + networks) }

// workerOptions are what up and work set differently.
type workerOptions struct {
	builds  bool // into <data>/public, and publishes
	sources []pull.Source
	drain   time.Duration
	logger  *slog.Logger
}

func (o *directoryOptions) newWorker(
	ctx context.Context, db *run.Database, list []settings.Network, wo workerOptions,
) (*run.Worker, error) {
	guard, err := o.guard()
	if err != nil {
		return nil, err
	}
	if err := o.checkContact(ctx, db, guard); err != nil {
		return nil, err
	}
	warnOfProxy(wo.logger)
	free, err := o.freeHosts()
	if err != nil {
		return nil, err
	}
	signing, err := o.signingKey()
	if err != nil {
		return nil, err
	}
	signer, err := o.signer(o.BaseURL, signing)
	if err != nil {
		return nil, err
	}
	options := run.WorkerOptions{
		Crawl: crawl.Options{
			Now:     run.Now,
			Workers: o.Workers, HostGap: o.HostGap, Control: o.Control, Vantage: o.Vantage, Visit: o.VisitLimit, FreeHosts: free,
			Synthesis: o.synthesis(),
			NoContact: !o.hasContact(), FacilitatorEvery: o.Schedule.Facilitators,
			LookupTXT: net.DefaultResolver.LookupTXT,
		},
		Probe:    probe.Options{Guard: guard, UserAgent: o.userAgent(), Signer: signer},
		Networks: list, Sources: wo.sources, Schedule: o.Schedule, Drain: wo.drain, Logger: wo.logger,
	}
	if wo.builds {
		if err := o.addBuilder(&options); err != nil {
			return nil, err
		}
	}
	return run.NewWorker(ctx, db, options)
}

func (o *directoryOptions) addBuilder(to *run.WorkerOptions) (err error) {
	if to.Folder, err = o.OpenPublic(); err != nil {
		return err
	}
	to.Folder.SetRetention(o.retention())
	b := buildOptions{
		dataOptions: o.dataOptions, siteOptions: o.siteOptions, keyOptions: o.keyOptions,
		crawlerKeyOptions: o.crawlerKeyOptions, freeHostOptions: o.freeHostOptions, Expand: string(output.ExpandAll),
		Every: o.Schedule.Build,
	}
	if to.Builder, err = b.newBuilder(slog.New(schedule.Logs(to.Logger.Handler()))); err != nil {
		return err
	}
	key, err := o.signingKey()
	to.Publish = run.PublishOptions{To: o.To, Key: key, Expand: o.Expand, Every: o.Schedule.Publish}
	return err
}
