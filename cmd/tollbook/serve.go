package main

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
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/serve"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	listenOptions
	proxyOptions
	dataOptions
	freeHostOptions
	From         string
	Memory       int // MB
	DownloadRate int // MB a second
	Submissions  bool
	MaxPending   int
	Contact      string
}

// AddFlags adds the flags of serve.
func (o *serveOptions) AddFlags(f *pflag.FlagSet) {
	o.listenOptions.AddFlags(f, rateLimit)
	o.proxyOptions.AddFlags(f)
	f.StringVar(&o.From, "from", filepath.Join("tollbook-data", "public"), "`folder` that snapshots are published to, or one expanded tree, or s3://bucket/prefix")
	o.dataOptions.AddFlags(f)
	o.freeHostOptions.AddFlags(f)
	f.BoolVar(&o.Submissions, "submissions", false, "take submissions of services; needs the database")
	f.IntVar(&o.MaxPending, "max-pending", site.MaxPending, "`submissions` that may wait for review in all, before more are refused; 0 for any number")
	f.StringVar(&o.Contact, "contact", "https://tollbook.example/bot", "`address` that the user agent names for questions, where submissions are probed")
	f.IntVar(&o.DownloadRate, "download-rate", 64, "`MB` a second that all who download snapshots and packs get together; 0 for any number")
	f.IntVar(&o.Memory, "memory", 128, "`MB` of a bucket to keep in memory; a snapshot of a quarter of that is read whole, so that a bucket that is away for a while is not missed")
}

func newServeCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer readers from the current snapshot",
		Long: `Serve answers GET requests for the API under /v1 and for pages from the files of the current snapshot. It needs no
database but for submissions. A new snapshot is taken up within a second, without a slow or torn answer; the ones before
stay readable by their ids as long as they are kept.

Each answer of the API tells its client how many requests he has left; who has none gets a 429 that says when to come
back. A client is an IPv4 address or an IPv6 network of 64 bits. Behind a proxy name it with --trusted-proxies, or all who
come through it share one limit.

/checkpoint.json, /snapshots/<id>.zip and /packs/<hour>.zip are handed out as they are published, for whoever wants a copy
of all: 8 at a time for a client and 32 for all, which the limit of the API does not count, and not faster than
--download-rate, so that readers do not wait for them.

A bucket is read by ranges, and asked every two seconds whether there is a newer snapshot. AWS_ENDPOINT_URL, AWS_REGION,
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN say where it is and who asks; without a key only what is
public can be read. While it can't be reached, what is open goes on being served, with X-Snapshot-Warning: stale and a
warning in /readyz.

With --submissions it takes what owners send to POST /v1/submit, or with the form of /submit, and keeps it in Postgres
(DATABASE_URL, or the private server of --data) before it asks the service's endpoints for their price. Nothing is listed
before "tollbook submissions approve"; while --max-pending wait for that, more are refused with a 429. The database is for
submissions alone: while it is away readers notice nothing.

/healthz answers while the process is up, /readyz while a snapshot is open; /metrics only on the address of --metrics.

EXIT STATUS

0 when it was told to stop, 1 when it could not listen or read.`,
		Args: arguments(),
		PreRunE: func(*cobra.Command, []string) error {
			if o.Memory < 16 || o.Memory > 1<<20 {
				return usagef("--memory %d: it is 16 MB or more", o.Memory)
			}
			if o.DownloadRate < 0 || o.DownloadRate > 1<<20 {
				return usagef("--download-rate %d: it is 0 MB a second or more", o.DownloadRate)
			}
			if o.MaxPending < 0 {
				return usagef("--max-pending %d: it is 0, for any number, or more", o.MaxPending)
			}
			_, err := o.trusted()
			return cmp.Or(o.validate(), err)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), o, cmd.OutOrStdout()) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runServe(ctx context.Context, o serveOptions, stdout io.Writer) error {
	logger := newLogger(slog.LevelInfo)
	l, err := o.listen()
	if err != nil {
		return err
	}
	defer l.Close()
	var figures net.Listener
	if o.Metrics != "" {
		if figures, err = listen("--metrics", o.Metrics); err != nil {
			return err
		}
		defer figures.Close()
	}
	trusted, err := o.trusted()
	if err != nil {
		return err
	}
	source, err := o.open(logger)
	if err != nil {
		return err
	}
	defer source.Close()
	if s, err := source.Current(); err == nil {
		s.Release()
	} else if errors.Is(err, output.ErrEmpty) {
		logger.Warn("nothing is published yet: run tollbook build", "from", o.From)
	} else if errors.Is(err, output.ErrUnreachable) {
		logger.Error("the bucket can't be reached; it is tried again", "from", o.From, "err", err)
	} else {
		return err
	}
	options := serve.Options{Logger: logger, RateLimit: o.RateLimit, DownloadRate: int64(o.DownloadRate) << 20, Trusted: trusted}
	if o.Submissions {
		stop, err := o.takeSubmissions(ctx, &options)
		if err != nil {
			return err
		}
		defer stop()
	}
	fmt.Fprintf(stdout, "Serving %s on http://%s/ (Ctrl-C stops)\n", o.From, l.Addr())
	if figures != nil {
		fmt.Fprintf(stdout, "Figures on http://%s/metrics\n", figures.Addr())
	}
	return serveSource(ctx, l, figures, source, options)
}

// readAttempts is how often a request to a bucket is made for a reader, who waits for it.
const readAttempts = 3

// open follows a folder or a bucket.
func (o *serveOptions) open(logger *slog.Logger) (*output.Source, error) {
	if !output.IsBucket(o.From) {
		return output.OpenSource(o.From, logger)
	}
	store, err := output.OpenStore(o.From, output.StoreOptions{Getenv: os.Getenv, Attempts: readAttempts})
	if err != nil {
		return nil, err
	}
	return output.OpenStoreSource(store, int64(o.Memory)<<20, logger), nil
}

// prune drops snapshots and packs that nobody can ask for any more.
func prune(folder *output.Folder, now time.Time, needed []string) (output.Pruned, error) {
	pruned, err := folder.Prune(now, site.PackHour(now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -site.LogDays)), needed...)
	if err != nil {
		return pruned, fmt.Errorf("prune published folder: %w", err)
	}
	return pruned, nil
}
