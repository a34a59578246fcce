package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/cli"
	"tollbook/cmd/tollbook/database"
	"tollbook/cmd/tollbook/progress"
	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/settings"
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/site/postgres"
)

// importOptions are the flags of services import.
type importOptions struct {
	cli.DataOptions
	visitOptions
	HostGap time.Duration
	DryRun  bool
	JSON    bool
}

// AddFlags adds the flags of services import.
func (o *importOptions) AddFlags(f *pflag.FlagSet) {
	o.DataOptions.AddFlags(f)
	o.visitOptions.AddFlags(f)
	settings.AddFlag(f, "crawl.host_gap", &o.HostGap)
	f.BoolVar(&o.DryRun, "dry-run", false, "print what would change, and change nothing")
	f.BoolVar(&o.JSON, "json", false, "print the report as JSON")
}

func newServicesImportCommand() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE|URL",
		Short: "Add services from a JSON or TOML file, or from a facilitator's catalogue",
		Long: `Import adds every service of a file, or none: an error in one entry refuses the whole file and names the
line. A JSON file is a list of objects; a TOML file has [[service]] tables. Both have the field names of a
submission:

    [[service]]
    service_name = "Acme Quotes"
    description  = "Share prices, a call at a time."
    url          = "https://api.acme.example"
    website_url  = "https://acme.example"
    category     = "Finance"
    endpoints    = ["/quote", "POST /search"]

The fields slug and source (default imported:file) are optional. Import checks only the syntax of an address; a
crawl decides whether it may be visited.

A URL whose path ends in .json or .toml is such a list. Any other URL is a facilitator's catalogue, such as
https://facilitator.example/discovery/resources. Import reads it page by page and combines the entries of each host.
Services that are listed already get the endpoints that they lack. An import changes and removes nothing else, so it
may be repeated.

With --dry-run it only prints what would change. A line with "+" is a new service or endpoint. A line with "!" is a
service whose slug or address is listed already, which makes an import refuse the file, with the differences.

EXIT STATUS

0 if every service is listed, or with --dry-run would be; 1 if none is.`,
		Example: "  tollbook services import services.toml\n" +
			"  tollbook services import --dry-run https://facilitator.example/discovery/resources",
		Args: cli.Arguments("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.HasPrefix(args[0], "https://") || strings.HasPrefix(args[0], "http://") {
				return runImportURL(cmd.Context(), o, args[0], cmd.OutOrStdout())
			}
			return runServicesImport(cmd.Context(), o, args[0], cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runServicesImport(ctx context.Context, o importOptions, path string, stdout io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer f.Close()
	listings, err := crawl.ReadListings(path, f, time.Now())
	if err != nil {
		return fmt.Errorf("nothing was imported:\n%w", err)
	}
	if len(listings) == 0 {
		return fmt.Errorf("nothing was imported: %s contains no service; write an object of a JSON list, or a "+
			"[[service]] table of a TOML file, for each", path)
	}
	var before []postgres.Service
	err = cli.WithDatabase(ctx, o.DataOptions, func(db *database.DB) error {
		if err := db.RefuseSample(ctx); err != nil {
			return err
		}
		if !o.DryRun {
			return db.AddListings(ctx, listings)
		}
		before, err = db.Services(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("nothing was imported: %w", err)
	}
	if o.DryRun {
		return report.ImportPlan(stdout, crawl.NewImportPlan(crawl.ImportReport{New: listings}, before), o.JSON)
	}
	if o.JSON {
		return report.JSON(stdout, map[string]int{"listed": len(listings)})
	}
	_, err = fmt.Fprintf(stdout, "%d services listed. Next: tollbook crawl visits them\n", len(listings))
	return err
}

// runImportURL imports a list, or a facilitator's catalogue, from a URL.
func runImportURL(ctx context.Context, o importOptions, listURL string, stdout io.Writer) error {
	guard, err := o.guard()
	if err != nil {
		return err
	}
	if err := cmp.Or(checkHostGap(o.HostGap), o.contactOptions.validate()); err != nil {
		return err
	}
	logger := cli.NewLogger(slog.LevelInfo)
	db, err := cli.OpenDatabase(ctx, o.DataOptions, logger)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.RefuseSample(ctx); err != nil {
		return fmt.Errorf("nothing was imported: %w", err)
	}
	c := crawl.New(db.DB, crawl.Options{HostGap: o.HostGap, Logger: logger},
		probe.Options{Guard: guard, UserAgent: o.userAgent()})
	defer c.Close()
	bar := progress.NewCounter("read")
	run := c.Import
	if o.DryRun {
		run = c.Preview
	}
	got, err := run(ctx, listURL, func(items, total int) { bar.Set(items, max(items, total)) })
	bar.Finish()
	if err != nil {
		return fmt.Errorf("import %s: %w", listURL, err)
	}
	if o.DryRun {
		before, err := db.Services(ctx)
		if err != nil {
			return err
		}
		return report.ImportPlan(stdout, crawl.NewImportPlan(got, before), o.JSON)
	}
	return report.Import(stdout, got, o.JSON)
}
