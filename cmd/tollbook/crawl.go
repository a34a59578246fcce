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
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/site/postgres"
)

// crawlOptions are the flags of crawl.
type crawlOptions struct {
	dataOptions
	visitOptions
	crawlerKeyOptions
	paceOptions
	freeHostOptions
	synthesisOptions
	BaseURL          string
	FacilitatorEvery time.Duration
	Once             bool
	All              bool
	JSON             bool
}

// AddFlags adds the flags of crawl.
func (o *crawlOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.visitOptions.AddFlags(f)
	o.crawlerKeyOptions.AddFlags(f)
	settings.AddFlag(f, "site.base_url", &o.BaseURL)
	o.paceOptions.AddFlags(f)
	o.freeHostOptions.AddFlags(f)
	o.synthesisOptions.AddFlags(f)
	settings.AddFlag(f, "schedule.facilitators", &o.FacilitatorEvery)
	f.BoolVar(&o.Once, "once", false, "visit everything that is due, then exit")
	f.BoolVar(&o.All, "all", false, "visit every listed service now, due or not, then exit")
	f.BoolVar(&o.JSON, "json", false, "print the report as JSON")
}

func (o *crawlOptions) validate(slugs []string) error {
	if o.All && len(slugs) > 0 {
		return terminal.UsageErrorf("--all visits every service: leave out %s", slugs[0])
	}
	if o.FacilitatorEvery < 0 {
		return terminal.UsageErrorf("--schedule-facilitators %s: use 0 or more", o.FacilitatorEvery)
	}
	return cmp.Or(o.paceOptions.validate(), o.visitOptions.validate(), o.synthesisOptions.validate())
}

func newCrawlCommand() *cobra.Command {
	var o crawlOptions
	cmd := &cobra.Command{
		Use:   "crawl [SLUG ...]",
		Short: "Visit services and store what they charge",
		Long: `Crawl visits each service that is due: it requests the service's endpoints without paying, and stores
their responses in the database (DATABASE_URL, or the private one of --data). It does not change what is published;
build does. With slugs it visits these services now, due or not, and does nothing else.

Once a day it reads the documents of each service's site, if robots.txt allows it, which may declare more endpoints.
Once a week it asks the registry of each domain (RDAP) when the domain was registered. It probes the submissions
that wait for a probe; --crawl-allow-private does not apply to those. It asks the facilitators whose facilitator_url
is stored what they settle, each once in --schedule-facilitators.

With --synthesis-base-url and --synthesis-model it then asks a language model to summarise services whose own words
have changed, the newest change first, up to the day's limit. OPENAI_API_KEY is the key of that API. An answer
overrides nothing that was measured, and is published as machine-written. An answer in the wrong form is dropped,
and the report counts it by reason.

Each request names --crawl-contact, so that the owner of a service can ask who visits. Without it, crawl visits only
hosts of --crawl-allow-private, and refuses to start if a service of others is listed. With --crawl-key each request
is signed (Web Bot Auth), and --site-base-url is where services find the key. A service may show signed requests
other terms; they are marked, and not compared with those of requests without a signature.

A terminal shows a progress bar; elsewhere each check is a log line.

EXIT STATUS

0 if every due service was visited, whatever its state; 1 if the crawl itself failed or reached no host; 2 for an
error in the command line or the configuration, such as a missing --crawl-contact.`,
		Example: "  tollbook crawl --once\n  tollbook crawl acme-quotes",
		Args:    cobra.ArbitraryArgs,
		PreRunE: func(_ *cobra.Command, slugs []string) error { return o.validate(slugs) },
		RunE: func(cmd *cobra.Command, slugs []string) error {
			return runCrawl(cmd.Context(), o, slugs, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runCrawl(ctx context.Context, o crawlOptions, slugs []string, stdout io.Writer) error {
	guard, err := o.guard()
	if err != nil {
		return err
	}
	free, err := o.freeHosts()
	if err != nil {
		return err
	}
	signer, err := o.signer(o.BaseURL, nil)
	if err != nil {
		return err
	}
	logger := newLogger(ctx, slog.LevelInfo)
	db, err := openDirectory(ctx, o.dataOptions, 0, logger)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := o.checkContact(ctx, db, guard); err != nil {
		return err
	}
	var asked []int64 // services that do not wait until they are due
	if o.All || len(slugs) > 0 {
		if asked, err = visitable(ctx, db.DB, slugs); err != nil {
			return err
		}
	}
	warnOfProxy(logger)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(crawl.GCPercent)
	}
	bar := terminal.NewCounter("visited")
	options := crawl.Options{
		Now:     run.Now,
		Workers: o.Workers, HostGap: o.HostGap, Control: o.Control, Vantage: o.Vantage, Logger: logger, FreeHosts: free,
		Synthesis: o.synthesis(),
		NoContact: !o.hasContact(), FacilitatorEvery: o.FacilitatorEvery,
		LookupTXT: net.DefaultResolver.LookupTXT,
	}
	if bar != nil {
		options.Logger, options.Visited = nil, bar.Set
	}
	c := crawl.New(db.DB, options, probe.Options{Guard: guard, UserAgent: o.userAgent(), Signer: signer})
	defer c.Close()
	if asked != nil {
		if err := db.MakeDue(ctx, asked, run.Now()); err != nil {
			return err
		}
	} else if !o.Once {
		return c.Run(ctx)
	}
	var visits crawl.Report
	if len(slugs) > 0 {
		visits, err = c.Visit(ctx, asked)
	} else {
		visits, err = c.Round(ctx)
	}
	bar.Finish()
	if err != nil {
		return err
	}
	next, _, err := db.NextDue(ctx, o.Vantage)
	if err != nil {
		return err
	}
	if len(slugs) > 0 {
		return report.Visits(stdout, visits, next, o.JSON)
	}
	gathered, err := c.Gather(ctx)
	if err != nil {
		return err
	}
	synthesized, err := c.Synthesize(ctx)
	if err != nil {
		return err
	}
	if _, err := c.ProbeSubmissions(ctx); err != nil {
		return err
	}
	if _, err := c.PollFacilitators(ctx); err != nil {
		return err
	}
	if err := errors.Join(db.Retain(ctx, run.Now()), db.DeleteIdleHosts(ctx)); err != nil {
		return err
	}
	if options.Synthesis.Client == nil {
		return report.Crawl(stdout, visits, next, gathered, nil, o.JSON)
	}
	return report.Crawl(stdout, visits, next, gathered, &synthesized, o.JSON)
}

// visitable returns the ids of the services with slugs, in this order, or of all listed ones without any. It refuses a
// service that is not visited.
func visitable(ctx context.Context, db *postgres.DB, slugs []string) ([]int64, error) {
	list, err := db.Services(ctx)
	if err != nil {
		return nil, err
	}
	ids := []int64{}
	if len(slugs) == 0 {
		for _, s := range list {
			if s.State == postgres.StateListed {
				ids = append(ids, s.ID)
			}
		}
		return ids, nil
	}
	for _, slug := range slugs {
		i := slices.IndexFunc(list, func(s postgres.Service) bool { return s.Slug == slug })
		switch {
		case i < 0:
			return nil, errNoService(slug)
		case list[i].StateBeforeOptOut != nil:
			return nil, fmt.Errorf("%s is not visited: its owner opted out, or its host is blocked", slug)
		case list[i].State != postgres.StateListed:
			return nil, fmt.Errorf("%s is %s, and not visited; tollbook services resume %s changes that", slug, list[i].State,
				slug)
		}
		ids = append(ids, list[i].ID)
	}
	return ids, nil
}
