package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tollbook/crawl"
	"tollbook/site"
	"tollbook/site/postgres"
)

func newServicesCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "services",
		Short: "Import, list, show, verify and remove the services of the directory",
		Long: `Services changes and shows which services the directory lists.

EXIT STATUS

That of the command that is given: 0 done, 1 failed, 2 for a command line that cannot be understood.`,
	}, newServicesImportCommand(), newServicesListCommand(), newServicesShowCommand(), newServicesVerifyCommand(), newServicesRemoveCommand())
}

func newServicesImportCommand() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE|URL",
		Short: "List the services of a JSON or TOML file, or of a facilitator's catalogue",
		Long: `Import lists every service of a file, or none: a wrong entry refuses the whole file and is named with its line. A JSON file
is a list of objects, a TOML file has [[service]] tables, both with the names of a submission:

    [[service]]
    service_name = "Acme Quotes"
    description  = "Share prices, a call at a time."
    url          = "https://api.acme.example"
    website_url  = "https://acme.example"
    category     = "Finance"
    endpoints    = ["/quote", "POST /search"]

slug and source (default imported:file) may be given too. Syntax is checked here; whether an address may be visited is
decided when it is.

An address whose path ends in .json or .toml is such a list. Any other is a facilitator's catalogue, such as
https://facilitator.example/discovery/resources: it is read page after page and put together by host. Services that are
listed already get the endpoints that they lack, and nothing that is listed is ever changed otherwise or removed, so that
an import may be repeated.

With --dry-run nothing is changed: each line says what would be, "+" a service or an endpoint that comes, "!" one that keeps a
file from being imported, since its slug or address is listed already, and in what it differs from what is listed.

EXIT STATUS

0 when every service is listed, or with --dry-run would be; 1 when none is.`,
		Args: arguments("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if isAddress(args[0]) {
				return runServicesImportFrom(cmd.Context(), o, args[0], cmd.OutOrStdout())
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
	var before []postgres.Service
	err = withDatabase(ctx, o.dataOptions, func(db *database) error {
		if err := db.refuseSample(ctx); err != nil {
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
		return printImportPlan(crawl.NewImportPlan(crawl.ImportReport{New: listings}, before), stdout, o.JSON)
	}
	if o.JSON {
		return printJSON(stdout, map[string]int{"listed": len(listings)})
	}
	_, err = fmt.Fprintf(stdout, "%d services listed; tollbook crawl visits them\n", len(listings))
	return err
}

func newServicesListCommand() *cobra.Command {
	var o dataOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Print the listed services",
		Long: `List prints the listed services as a table, or as JSON with all that is known of their visits.

EXIT STATUS

0 when they are printed, 1 when the database could not be asked.`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServicesList(cmd.Context(), o, asJSON, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list")
	return cmd
}

func runServicesList(ctx context.Context, o dataOptions, asJSON bool, stdout io.Writer) error {
	var services []postgres.Service
	err := withDatabase(ctx, o, func(db *database) (err error) {
		services, err = db.Services(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if asJSON {
		type line struct {
			Slug          string     `json:"slug"`
			Name          string     `json:"name"`
			BaseURL       string     `json:"base_url"`
			Category      string     `json:"category"`
			LastCheckedAt *site.Time `json:"last_checked_at"`
			NextCheckAt   site.Time  `json:"next_check_at"`
		}
		lines := make([]line, len(services))
		for i, s := range services {
			lines[i] = line{Slug: s.Slug, Name: s.Name, BaseURL: s.BaseURL, Category: s.Category, NextCheckAt: site.NewTime(s.NextCheckAt)}
			if s.LastCheckedAt != nil {
				lines[i].LastCheckedAt = site.TimeOrNull(*s.LastCheckedAt)
			}
		}
		return printLines(stdout, lines)
	}
	if len(services) == 0 {
		_, err := fmt.Fprintln(stdout, "No services are listed: tollbook services import FILE")
		return err
	}
	t := newTable(stdout, "SLUG", "CATEGORY", "LAST CHECK", "ADDRESS")
	for _, s := range services {
		last := "never"
		if s.LastCheckedAt != nil {
			last = s.LastCheckedAt.UTC().Format(time.DateTime)
		}
		t.row(s.Slug, s.Category, last, s.BaseURL)
	}
	return t.flush()
}
