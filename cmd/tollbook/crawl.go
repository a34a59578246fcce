package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/crawl"
	"tollbook/crawl/probe"
)

// crawlOptions are the flags of crawl.
type crawlOptions struct {
	dataOptions
	freeHostOptions
	synthesisOptions
	Once         bool
	Workers      int
	HostGap      time.Duration
	AllowPrivate []string
	Contact      string
	JSON         bool
}

// AddFlags adds the flags of crawl.
func (o *crawlOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.freeHostOptions.AddFlags(f)
	o.synthesisOptions.AddFlags(f)
	f.BoolVar(&o.Once, "once", false, "visit all that is due and exit; otherwise go on visiting")
	f.IntVar(&o.Workers, "workers", 32, "services visited at once")
	f.DurationVar(&o.HostGap, "host-gap", time.Second, "time between two requests to a host")
	f.StringSliceVar(&o.AllowPrivate, "allow-private", nil, "`HOST[:PORT]` that may be visited although it is private; for tests")
	f.StringVar(&o.Contact, "contact", "https://tollbook.example/bot", "`address` that the user agent names for questions")
	f.BoolVar(&o.JSON, "json", false, "print the report as JSON")
}

func (o *crawlOptions) validate() error {
	if o.Workers < 1 {
		return usagef("--workers %d: at least 1 must visit", o.Workers)
	}
	if o.HostGap <= 0 {
		return usagef("--host-gap %s: the time between two requests is more than nothing", o.HostGap)
	}
	return o.synthesisOptions.validate()
}

func newCrawlCommand() *cobra.Command {
	var o crawlOptions
	cmd := &cobra.Command{
		Use:   "crawl",
		Short: "Visit the services that are due",
		Long: `Crawl visits each service that is due: it asks the service's endpoints without paying, and keeps what they answer in
Postgres (DATABASE_URL, or the folder's own). It changes nothing that is published; that is "tollbook build".

Once a day it looks at the documents of each service's site (as robots.txt allows), which may tell of more endpoints, and
once a week it asks the registry of its domain (RDAP) who registered it and when. It probes the submissions whose probe
waits, for which --allow-private lets nothing through.

With --synthesis-base-url and --synthesis-model it then asks a language model to sum up the services whose own words
changed, the newest change first, until the day's questions are asked. The key for it is read from OPENAI_API_KEY. What a
model says overrides nothing that was measured, and is published as machine-written; an answer that is not what was asked
for is dropped, and counted by its reason.

A terminal shows a progress bar; elsewhere each check is one log line.

EXIT STATUS

0 when every due service was visited, whatever the visits found; 1 when the crawl itself failed.`,
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE:    func(cmd *cobra.Command, _ []string) error { return runCrawl(cmd.Context(), o, cmd.OutOrStdout()) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runCrawl(ctx context.Context, o crawlOptions, stdout io.Writer) error {
	guard := &probe.Guard{AllowPrivate: o.AllowPrivate}
	if err := guard.Validate(); err != nil {
		return usagef("%w", err)
	}
	free, err := o.freeHosts()
	if err != nil {
		return err
	}
	logger := newLogger(slog.LevelInfo)
	db, err := openDirectory(ctx, o.dataOptions, 0, logger)
	if err != nil {
		return err
	}
	defer db.Close()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(crawl.GCPercent)
	}
	bar := newProgress("visited")
	options := crawl.Options{Workers: o.Workers, HostGap: o.HostGap, Logger: logger, FreeHosts: free, Synthesis: o.synthesis()}
	if bar != nil {
		options.Logger, options.Visited = nil, bar.set
	}
	c := crawl.New(db.DB, options, probe.Options{Guard: guard, UserAgent: userAgent(o.Contact)})
	defer c.Close()
	if !o.Once {
		return c.Run(ctx)
	}
	report, err := c.Round(ctx)
	bar.finish()
	if err != nil {
		return err
	}
	gathered, err := c.Gather(ctx)
	if err != nil {
		return err
	}
	asked, err := c.Synthesize(ctx)
	if err != nil {
		return err
	}
	if _, err := c.ProbeSubmissions(ctx); err != nil {
		return err
	}
	if err := errors.Join(db.Retain(ctx, time.Now()), db.DeleteIdleHosts(ctx)); err != nil {
		return err
	}
	return printReport(stdout, report, gathered, o.asked(asked), o.JSON)
}

func printReport(w io.Writer, r crawl.Report, g crawl.GatherReport, s *crawl.SynthesisReport, asJSON bool) error {
	if asJSON {
		fields := map[string]any{
			"visits": r.Visits, "online": r.Online, "degraded": r.Degraded, "offline": r.Offline, "inconclusive": r.Inconclusive,
			"changes": r.Changes, "seconds": r.Took.Seconds(), "sites": g.Sites, "sites_unseen": g.Unseen, "endpoints_added": g.Endpoints, "domains": g.Domains,
		}
		if s != nil {
			fields["synthesis"] = s
		}
		return printJSON(w, fields)
	}
	_, err := fmt.Fprintf(cmp.Or[io.Writer](w, os.Stdout), "%d visited in %.1f s: %d online, %d degraded, %d offline, %d inconclusive; %d changes\n"+
		"%d sites looked at, nothing to be seen of %d: %d new endpoints; %d domains\n%s",
		r.Visits, r.Took.Seconds(), r.Online, r.Degraded, r.Offline, r.Inconclusive, r.Changes, g.Sites, g.Unseen, g.Endpoints, g.Domains, synthesisText(s))
	return err
}
