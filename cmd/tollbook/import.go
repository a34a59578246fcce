package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl"
	"tollbook/crawl/probe"
)

// importOptions are the flags of services import.
type importOptions struct {
	dataOptions
	actorOptions
	visitOptions
	HostGap time.Duration
	DryRun  bool
	JSON    bool
}

// list returns a list to import. Somebody else may have made it, so its categories are accepted.
func (o *importOptions) list(name string) *listServices {
	return &listServices{Name: name, NewCategories: true, Actor: o.As}
}

func (o *importOptions) applyOptions() applyMode {
	return applyMode{DryRun: o.DryRun, JSON: o.JSON}
}

// AddFlags adds the flags of services import.
func (o *importOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.actorOptions.AddFlags(f)
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
		Long: `Import reads a list of services or a facilitator's catalogue once. For a file that you keep and
change, use "tollbook services apply". Its help describes the fields of a list.

A list is a file, or a URL whose path ends in .json or .toml. Its services are added, and those that are listed
already get its values, as "services apply" without --prune does it: all of them, or none if one entry has a fault.
Unlike apply, import accepts categories that no service has yet.

Any other URL is a facilitator's catalogue, such as https://facilitator.example/discovery/resources. Import reads it
page by page and combines the entries of each host. Services that are listed already get the endpoints that they lack.

Hosts whose owners opted out and services that were removed are not listed; the report names each with the reason.
"tollbook services opt-outs" and "tollbook services removed" list them.

An import removes nothing and may be repeated. Import checks only the syntax of an address; a crawl decides whether it
may be visited. With --dry-run it only prints what would change.

EXIT STATUS

0 if everything is imported, or with --dry-run would be; 1 if nothing is.`,
		Example: "  tollbook services import services.toml\n" +
			"  tollbook services import --dry-run https://facilitator.example/discovery/resources",
		Args:    arguments("FILE"),
		PreRunE: func(*cobra.Command, []string) error { return o.Validate() },
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.HasPrefix(args[0], "https://") || strings.HasPrefix(args[0], "http://") {
				return runImportURL(cmd.Context(), o, args[0], cmd.OutOrStdout())
			}
			if strings.Contains(args[0], "://") {
				return terminal.UsageErrorf("%q: give a file, or a URL that begins with https:// or http://", args[0])
			}
			return o.list(args[0]).RunFile(cmd.Context(), o.dataOptions, o.applyOptions(),
				streams{In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr()})
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// runImportURL imports the list or the catalogue at a URL.
func runImportURL(ctx context.Context, o importOptions, listURL string, stdout io.Writer) error {
	guard, err := o.guard()
	if err != nil {
		return err
	}
	if err := cmp.Or(checkHostGap(o.HostGap), o.contactOptions.validate()); err != nil {
		return err
	}
	logger := newLogger(ctx, slog.LevelInfo)
	db, err := openDatabase(ctx, o.dataOptions, logger)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.RefuseSample(ctx); err != nil {
		return fmt.Errorf("nothing was imported: %w", err)
	}
	warnOfProxy(logger)
	c := crawl.New(db.DB, crawl.Options{Now: run.Now, HostGap: o.HostGap, Logger: logger},
		probe.Options{Guard: guard, UserAgent: o.userAgent()})
	defer c.Close()
	if crawl.IsList(listURL) {
		data, err := c.FetchList(ctx, listURL)
		if err != nil {
			return fmt.Errorf("import %s: %w", listURL, err)
		}
		l := o.list(listURL)
		l.Data = data
		return l.Run(ctx, db, o.applyOptions(), streams{Out: stdout}) // it removes nothing, so it never asks
	}
	bar := terminal.NewCounter("read")
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
		return report.ImportPlan(stdout, crawl.NewImportPlan(got), o.JSON)
	}
	return report.Import(stdout, got, o.JSON)
}
