package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/site/serve"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	listenOptions
	proxyOptions
	connectionOptions
	freeHostOptions
	fromOptions
	downloadLimit
	submissionOptions
	contactOptions
	crawlerKeyOptions
	BaseURL string
}

// AddFlags adds the flags of serve.
func (o *serveOptions) AddFlags(f *pflag.FlagSet) {
	o.listenOptions.AddServeFlags(f)
	o.proxyOptions.AddServeFlags(f)
	o.connectionOptions.AddFlags(f)
	o.fromOptions.AddFlags(f)
	o.freeHostOptions.AddFlags(f)
	o.downloadLimit.AddFlags(f)
	o.submissionOptions.AddFlags(f)
	o.contactOptions.AddFlags(f)
	o.crawlerKeyOptions.AddFlags(f)
	settings.AddFlag(f, "site.base_url", &o.BaseURL)
}

func (o *serveOptions) validate() error {
	_, err := o.trusted()
	return cmp.Or(o.connectionOptions.validate(), o.downloadLimit.validate(), o.submissionOptions.validate(),
		o.fromOptions.validate(), o.listenOptions.validate(), o.proxyOptions.validate(), o.contactOptions.validate(), err)
}

func newServeCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API and pages of the current snapshot",
		Long: `Serve answers GET requests for the API under /v1 and for pages, from the files of the current snapshot
in <data>/public or --from.
It needs a database only for submissions. It uses a new snapshot within a second, without a slow or mixed response.
Earlier snapshots can be requested by their ids until they are deleted.

Each response of the API says how many requests the client has left. A client without any gets a 429 that says when
to come back. A client is an IPv4 address or a /64 network of IPv6. Behind a proxy, name the proxy with
--serve-trusted-proxies; otherwise all its clients share one limit.

/checkpoint.json, /snapshots/<id>.zip and /packs/<hour>.zip can be downloaded for copies of the directory: 8 at a
time by one client and 32 in all, and no faster than --download-rate, so that readers do not wait. The limit of the
API does not count them.

Readers that open connections and read nothing delay nobody: over --serve-max-connections or
--serve-max-client-connections, the connection that has waited longest for its client is closed. The hosting page of
each directory describes these limits.

A bucket is read by ranges, and asked every two seconds for a newer snapshot. AWS_ENDPOINT_URL, AWS_REGION,
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN give access to it; without a key only a public bucket
can be read. While the bucket does not answer, serve continues with the snapshot that is open, and warns with
X-Snapshot-Warning: stale and in /readyz.

With --serve-submissions it receives submissions at POST /v1/submit and from the form of /submit. It stores each in
the database (DATABASE_URL, or the private one of --data), then probes the service's endpoints for their prices. No
service is listed before "tollbook submissions approve". While --serve-max-pending submissions wait, further ones
get a 429. It also receives suggestions of readers, and requests to check a service again. --submissions-notify is run
when submissions or suggestions arrive, at most once a minute. Without --crawl-contact submissions are stored, but
hosts of others are not probed. If the database stops, submitters get a 503 until it runs again, and readers notice
nothing.

With --crawl-key it signs the key directory of the crawler, and its probes of submissions.

/healthz answers while the process runs, /readyz while a snapshot is open; /metrics only on --serve-metrics.

EXIT STATUS

0 if it was stopped, 1 if it could not listen or read.`,
		Example: "  tollbook serve --serve-listen :8080\n  tollbook serve --from s3://bucket/directory",
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE:    func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), o, cmd.OutOrStdout()) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runServe(ctx context.Context, o serveOptions, stdout io.Writer) error {
	logger := newLogger(ctx, slog.LevelInfo)
	l, err := o.listen()
	if err != nil {
		return err
	}
	defer l.Close()
	port, err := o.openMetrics()
	if err != nil {
		return err
	}
	defer port.Close()
	trusted, err := o.trusted()
	if err != nil {
		return err
	}
	source, err := o.open(logger)
	if err != nil {
		return err
	}
	defer source.Close()
	signer, err := o.signer(o.BaseURL, nil)
	if err != nil {
		return err
	}
	options := serve.Options{
		Logger: logger, RateLimit: o.RateLimit, DownloadRate: int64(o.DownloadRate) << 20, Trusted: trusted, Empty: o.empty(),
		Connections: run.NewConnections(o.limits(trusted), logger), Signer: signer,
	}
	var metrics []prometheus.Collector
	if o.Submissions {
		stop, more, err := o.receiveSubmissions(ctx, &options)
		if err != nil {
			return err
		}
		defer stop()
		metrics = append(metrics, more)
	}
	fmt.Fprintf(stdout, "Serving %s on http://%s/ (Ctrl-C stops)\n", o.place(), l.Addr())
	port.Announce(stdout)
	return run.Serve(ctx, l, port, source, options, metrics...)
}

// receiveSubmissions opens the database for submissions, probes those that wait for a probe, and notifies the operator,
// until stop is called. An end of the database is logged and ends nothing, because readers do not need it.
func (o *serveOptions) receiveSubmissions(
	ctx context.Context, to *serve.Options,
) (stop func(), metrics prometheus.Collector, err error) {
	free, err := o.freeHosts()
	if err != nil {
		return nil, nil, err
	}
	logger := to.Logger
	db, err := openDirectory(ctx, o.dataOptions, 0, logger)
	if err != nil {
		return nil, nil, err
	}
	logger = db.LogOutages(ctx, logger)
	to.Logger = logger
	submissions := crawl.NewSubmissions(db.DB, crawl.SubmissionOptions{Logger: logger, NoContact: !o.hasContact()},
		probe.Options{UserAgent: o.userAgent(), Signer: to.Signer})
	to.Submit = run.SubmitOptions(db.DB, submissions, free)
	to.Submit.MaxPending = o.MaxPending
	notifier, metrics := o.notifier(db.DB, logger)
	ctx, cancel := context.WithCancel(ctx)
	var parts sync.WaitGroup
	parts.Go(func() { submissions.Run(ctx) })
	parts.Go(func() { notifier.Run(ctx) })
	parts.Go(func() { db.KeepRunning(ctx, logger) })
	return func() {
		cancel()
		parts.Wait()
		submissions.Close()
		if err := db.Close(); err != nil {
			logger.Error("close the database", "err", err)
		}
	}, metrics, nil
}
