package main

import (
	"cmp"
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
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/crawl/pull"
	"tollbook/output"
	"tollbook/site/serve"
)

// upOptions are the flags of up.
type upOptions struct {
	directoryOptions
	listenOptions
	proxyOptions
	connectionOptions
	downloadLimit
	submissionOptions
	ServicesFile  string
	ServicesPrune bool
}

// upDrain is how long running jobs may continue after Ctrl-C, which ends up within five seconds.
const upDrain = time.Second

// AddFlags adds the flags of up.
func (o *upOptions) AddFlags(f *pflag.FlagSet) {
	o.directoryOptions.AddFlags(f)
	o.listenOptions.AddServeFlags(f)
	o.proxyOptions.AddServeFlags(f)
	o.connectionOptions.AddFlags(f)
	o.downloadLimit.AddFlags(f)
	o.submissionOptions.AddFlags(f)
	settings.AddFlag(f, "services.file", &o.ServicesFile)
	settings.AddFlag(f, "services.prune", &o.ServicesPrune)
}

func (o *upOptions) validate() error {
	if len(o.AllowPrivate) > 0 && !run.IsLoopback(o.Listen) {
		return terminal.UsageErrorf("--crawl-allow-private with --serve-listen %s: private services must not be shown to "+
			"other machines", o.Listen)
	}
	_, err := o.trusted()
	return cmp.Or(o.connectionOptions.validate(), o.downloadLimit.validate(), o.submissionOptions.validate(),
		o.directoryOptions.validate(), o.listenOptions.validate(), o.proxyOptions.validate(), err)
}

func newUpCommand(c *settings.Configuration) *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run a whole directory in one process",
		Long: `Up does everything that a directory needs, in one process. It starts the private Postgres of --data (or
uses DATABASE_URL), visits services, reads the chains of the configuration, builds every --schedule-build into
<data>/public, publishes each build to --publish-to if that is set, deletes old data, and answers readers on
--serve-listen. Each part works as its own command does: crawl, index, build, publish, prune, serve, services verify
--all. Visits to hosts of others need --crawl-contact.

Add services with "tollbook services apply", before the start or while up runs. --services-file names a file of
services that up applies at each start; a fault in it stops the start, and nothing is retired without
--services-prune. With --serve-submissions their owners can submit them, and --submissions-notify is run when they
do. All other commands work beside up, too: they use the same private Postgres, which stops with the last of them. A
second up or demo on the same --data is refused.

If the private Postgres ends, up restarts it, and readers notice nothing. Ctrl-C stops everything; the next start
continues. More workers with the same DATABASE_URL ("tollbook work") share the visits.

EXIT STATUS

0 if it was stopped, 1 if something failed, 2 for an error in the command line or the configuration.`,
		Example: "  tollbook up\n  tollbook up --schedule-build 5m --publish-to s3://bucket/directory",
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.start(cmd.Context(), c, func(list []settings.Network, sources []pull.Source) error {
				return runUp(cmd.Context(), o, list, sources, cmd.OutOrStdout())
			})
		},
	}
	o.AddFlags(cmd.Flags())
	settings.ShowFlags(cmd, "data", "services-file", "crawl-contact", "site-title", "site-base-url", "serve-listen",
		"serve-submissions", "serve-trusted-proxies", "serve-metrics", "publish-to", "publish-key", "schedule-build")
	return cmd
}

func runUp(ctx context.Context, o upOptions, list []settings.Network, sources []pull.Source,
	stdout io.Writer) error {
	logger := newLogger(ctx, slog.LevelInfo)
	l, err := o.listen() // first, because a used port must stop up before it starts anything
	if err != nil {
		return err
	}
	defer l.Close()
	port, err := o.openMetrics()
	if err != nil {
		return err
	}
	defer port.Close()
	if o.BaseURL == settings.DefaultBaseURL {
		o.BaseURL = run.URL(l.Addr())
	}
	opening := o.Database(logger)
	opening.Connections, opening.Directory = o.connections(len(list)), "up"
	db, err := openReal(ctx, opening)
	if err != nil {
		return err
	}
	defer db.Close()
	logger = db.LogOutages(ctx, logger)
	if o.ServicesFile != "" {
		if err := applyFile(ctx, db, o.ServicesFile, o.ServicesPrune, logger); err != nil {
			return err
		}
	}
	w, err := o.newWorker(ctx, db, list, workerOptions{builds: true, sources: sources, drain: upDrain, logger: logger})
	if err != nil {
		return err
	}
	defer w.Close()
	source, err := output.OpenSource(o.Public(), logger)
	if err != nil {
		return err
	}
	defer source.Close()
	options, stop, err := o.handlerOptions(db, logger)
	if err != nil {
		return err
	}
	defer stop()
	options.Notice = w.Notice
	fmt.Fprintf(stdout, "Serving %s on http://%s/ (Ctrl-C stops)\n", o.Public(), l.Addr())
	port.Announce(stdout)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { db.KeepRunning(ctx, logger); return nil })
	g.Go(func() error { return db.Retry(ctx, w.Run) })
	metrics := w.Metrics
	if o.Submissions {
		notifier, more := o.notifier(db.DB, logger)
		g.Go(func() error { notifier.Run(ctx); return nil })
		metrics = append(metrics, more)
	}
	g.Go(func() error { return run.Serve(ctx, l, port, source, options, metrics...) })
	return g.Wait()
}

// handlerOptions returns how readers are answered. stop closes idle connections.
func (o *upOptions) handlerOptions(db *run.Database, logger *slog.Logger) (so serve.Options, stop func(), err error) {
	trusted, err := o.trusted()
	if err != nil {
		return so, nil, err
	}
	signer, err := o.signer(o.BaseURL, nil)
	if err != nil {
		return so, nil, err
	}
	so = serve.Options{
		Logger: logger, RateLimit: o.RateLimit, DownloadRate: int64(o.DownloadRate) << 20, Trusted: trusted, Empty: o.empty(),
		Connections: run.NewConnections(o.limits(trusted), logger), Signer: signer,
	}
	if !o.Submissions {
		return so, func() {}, nil
	}
	free, err := o.freeHosts()
	if err != nil {
		return so, nil, err
	}
	submissions := crawl.NewSubmissions(db.DB, crawl.SubmissionOptions{HostGap: o.HostGap, Logger: logger,
		NoContact: !o.hasContact()},
		probe.Options{UserAgent: o.userAgent(), Signer: signer})
	so.Submit = run.SubmitOptions(db.DB, submissions, free)
	so.Submit.MaxPending = o.MaxPending
	return so, submissions.Close, nil
}
