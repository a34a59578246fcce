package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tollbook/crawl"
	"tollbook/crawl/probe"
)

// importOptions are the flags of services import.
type importOptions struct {
	dataOptions
	HostGap      time.Duration
	AllowPrivate []string
	Contact      string
	DryRun       bool
	JSON         bool
}

// AddFlags adds the flags of services import.
func (o *importOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	f.DurationVar(&o.HostGap, "host-gap", time.Second, "time between two pages of a catalogue")
	f.StringSliceVar(&o.AllowPrivate, "allow-private", nil, "`HOST[:PORT]` that may be asked although it is private; for tests")
	f.StringVar(&o.Contact, "contact", "https://tollbook.example/bot", "`address` that the user agent names for questions")
	f.BoolVar(&o.DryRun, "dry-run", false, "say what would change, and change nothing")
	f.BoolVar(&o.JSON, "json", false, "print the report as JSON")
}

// isAddress says whether a list is at an address and not in a file.
func isAddress(s string) bool {
	return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")
}

// runServicesImportFrom imports a list, or a facilitator's catalogue, from an address.
func runServicesImportFrom(ctx context.Context, o importOptions, address string, stdout io.Writer) error {
	guard := &probe.Guard{AllowPrivate: o.AllowPrivate}
	if err := guard.Validate(); err != nil {
		return usagef("%w", err)
	}
	if o.HostGap <= 0 {
		return usagef("--host-gap %s: the time between two requests is more than nothing", o.HostGap)
	}
	logger := newLogger(slog.LevelInfo)
	db, err := openDatabase(ctx, o.dataOptions, logger)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.refuseSample(ctx); err != nil {
		return fmt.Errorf("nothing was imported: %w", err)
	}
	c := crawl.New(db.DB, crawl.Options{HostGap: o.HostGap, Logger: logger}, probe.Options{Guard: guard, UserAgent: userAgent(o.Contact)})
	defer c.Close()
	bar := newProgress("read")
	take := c.Import
	if o.DryRun {
		take = c.Preview
	}
	got, err := take(ctx, address, func(items, total int) { bar.set(items, max(items, total)) })
	bar.finish()
	if err != nil {
		return fmt.Errorf("import %s: %w", address, err)
	}
	if o.DryRun {
		before, err := db.Services(ctx)
		if err != nil {
			return err
		}
		return printImportPlan(crawl.NewImportPlan(got, before), stdout, o.JSON)
	}
	if o.JSON {
		return printJSON(stdout, map[string]int{"listed": got.Listed, "known": got.Existing, "endpoints": got.Endpoints, "refused": got.Refused})
	}
	_, err = fmt.Fprintf(stdout, "%d services listed, %d were listed already and got %d new endpoints, %d at addresses that are not visited; tollbook crawl visits them\n",
		got.Listed, got.Existing, got.Endpoints, got.Refused)
	return err
}
