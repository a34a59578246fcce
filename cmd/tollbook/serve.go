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
	fromOptions
	DownloadRate int // MB a second
	Submissions  bool
	MaxPending   int
	Contact      string
}

// AddFlags adds the flags of serve.
func (o *serveOptions) AddFlags(f *pflag.FlagSet) {
	o.listenOptions.AddFlags(f, rateLimit)
	o.proxyOptions.AddFlags(f)
	o.fromOptions.AddFlags(f)
	o.dataOptions.AddFlags(f)
	o.freeHostOptions.AddFlags(f)
	f.BoolVar(&o.Submissions, "submissions", false, "take submissions of services; needs the database")
	f.IntVar(&o.MaxPending, "max-pending", site.MaxPending, "`submissions` that may wait for review in all, before more are refused; 0 for any number")
	f.StringVar(&o.Contact, "contact", "https://tollbook.example/bot", "`address` that the user agent names for questions, where submissions are probed")
	f.IntVar(&o.DownloadRate, "download-rate", 64, "`MB` a second that all who download snapshots and packs get together; 0 for any number")
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
			if o.DownloadRate < 0 || o.DownloadRate > 1<<20 {
				return usagef("--download-rate %d: it is 0 MB a second or more", o.DownloadRate)
			}
			if o.MaxPending < 0 {
				return usagef("--max-pending %d: it is 0, for any number, or more", o.MaxPending)
			}
			_, err := o.trusted()
			return cmp.Or(o.fromOptions.validate(), o.listenOptions.validate(), err)
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
	port, err := openMetrics(o.Metrics)
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
	options := serve.Options{Logger: logger, RateLimit: o.RateLimit, DownloadRate: int64(o.DownloadRate) << 20, Trusted: trusted}
	if o.Submissions {
		stop, err := o.takeSubmissions(ctx, &options)
		if err != nil {
			return err
		}
		defer stop()
	}
	fmt.Fprintf(stdout, "Serving %s on http://%s/ (Ctrl-C stops)\n", o.From, l.Addr())
	port.announce(stdout)
	return serveSource(ctx, l, port, source, options)
}

// prune drops snapshots and packs that nobody can ask for any more.
func prune(folder *output.Folder, now time.Time, needed []string) (output.Pruned, error) {
	pruned, err := folder.Prune(now, site.PackHour(now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -site.LogDays)), needed...)
	if err != nil {
		return pruned, fmt.Errorf("prune published folder: %w", err)
	}
	return pruned, nil
}
