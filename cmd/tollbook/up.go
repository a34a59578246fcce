package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/output"
	"tollbook/site"
	"tollbook/site/serve"
)

// upOptions are the flags of up.
type upOptions struct {
	directoryOptions
	listenOptions
	proxyOptions
	DownloadRate int // MB a second
	Submissions  bool
	MaxPending   int

	ownAddress bool // nobody said how readers reach the directory: as we listen
}

// upDrain is how long jobs under way may go on: Ctrl-C is over within five seconds.
const upDrain = time.Second

// AddFlags adds the flags of up.
func (o *upOptions) AddFlags(f *pflag.FlagSet) {
	o.directoryOptions.AddFlags(f)
	o.listenOptions.AddFlags(f, rateLimit)
	o.proxyOptions.AddFlags(f)
	f.IntVar(&o.DownloadRate, "download-rate", 64, "`MB` a second that all who download snapshots and packs get together; 0 for any number")
	f.BoolVar(&o.Submissions, "submissions", false, "take submissions of services")
	f.IntVar(&o.MaxPending, "max-pending", site.MaxPending, "`submissions` that may wait for review in all, before more are refused; 0 for any number")
}

func (o *upOptions) validate() error {
	if o.DownloadRate < 0 || o.DownloadRate > 1<<20 {
		return usagef("--download-rate %d: it is 0 MB a second or more", o.DownloadRate)
	}
	if o.MaxPending < 0 {
		return usagef("--max-pending %d: it is 0, for any number, or more", o.MaxPending)
	}
	if len(o.AllowPrivate) > 0 && !onLoopback(o.Listen) {
		return usagef("--allow-private together with --listen %s: what is let through for tests is not shown to others", o.Listen)
	}
	_, err := o.trusted()
	return cmp.Or(o.directoryOptions.validate(), o.listenOptions.validate(), err)
}

// onLoopback says whether only this machine reaches a listening address.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return true // listen says what is wrong with it
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func newUpCommand(c *config) *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run a whole directory in one process",
		Long: `Up does all that a directory needs in one process: it starts the private Postgres of --data (or uses DATABASE_URL), visits
what is due, reads the chains of the configuration, builds every --schedule-build into <data>/public, publishes each build
to --to if that is given, drops what is old, and answers readers on --listen. What each part does is what the commands of
its name do: crawl, index, build, publish, prune, serve, services verify --all.

Services come from "tollbook services import" and, with --submissions, from their owners; with a private Postgres import
them before, or set DATABASE_URL.

When the private Postgres ends, up starts it again by itself and goes on; readers notice nothing. Ctrl-C stops all of it; a
second start goes on where the first ended. More workers on the same DATABASE_URL, "tollbook work", share what is visited.

EXIT STATUS

0 when it was told to stop, 1 when something failed, 2 for a command line or configuration that is wrong.`,
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE: func(cmd *cobra.Command, _ []string) error {
			networks, err := o.chains(c.Networks)
			if err != nil {
				return err
			}
			f := cmd.Flags().Lookup("base-url")
			o.ownAddress = f.Value.String() == f.DefValue
			err = runUp(cmd.Context(), o, networks, cmd.OutOrStdout())
			if cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
				return nil // told to stop before it had begun
			}
			return err
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runUp(ctx context.Context, o upOptions, networks []measuredNetwork, stdout io.Writer) error {
	logger := newLogger(slog.LevelInfo)
	l, err := o.listen() // first: a port that is taken stops everything before it has begun
	if err != nil {
		return err
	}
	defer l.Close()
	port, err := openMetrics(o.Metrics)
	if err != nil {
		return err
	}
	defer port.Close()
	if o.ownAddress {
		o.BaseURL = reachable(l.Addr())
	}
	db, err := openDirectory(ctx, o.dataOptions, o.connections(len(networks)), logger)
	if err != nil {
		return err
	}
	defer db.Close()
	d, err := o.direct(ctx, db, networks, true, upDrain, logger)
	if err != nil {
		return err
	}
	defer d.Close()
	source, err := output.OpenSource(o.public(), logger)
	if err != nil {
		return err
	}
	defer source.Close()
	options, stop, err := o.serving(db, logger)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(stdout, "Serving %s on http://%s/ (Ctrl-C stops)\n", o.public(), l.Addr())
	port.announce(stdout)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { db.revive(ctx, o.dataOptions, logger); return nil })
	g.Go(func() error { return db.outlast(ctx, d.worker.Run) })
	g.Go(func() error { return serveSource(ctx, l, port, source, options, d.metrics...) })
	return g.Wait()
}

// serving is how readers are answered; stop drops kept connections.
func (o *upOptions) serving(db *database, logger *slog.Logger) (options serve.Options, stop func(), err error) {
	trusted, err := o.trusted()
	if err != nil {
		return options, nil, err
	}
	options = serve.Options{Logger: logger, RateLimit: o.RateLimit, DownloadRate: int64(o.DownloadRate) << 20, Trusted: trusted}
	if !o.Submissions {
		return options, func() {}, nil
	}
	free, err := o.freeHosts()
	if err != nil {
		return options, nil, err
	}
	submissions := crawl.NewSubmissions(db.DB, crawl.SubmissionOptions{HostGap: o.HostGap, Logger: logger}, probe.Options{UserAgent: userAgent(o.Contact)})
	options.Submit = submitOptions(db, submissions, free)
	options.Submit.MaxPending = o.MaxPending
	return options, submissions.Close, nil
}
