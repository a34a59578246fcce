package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/crawl/pull"
)

// pullOptions are the flags of sources pull.
type pullOptions struct {
	dataOptions
	visitOptions
	pace paceOptions
	JSON bool
}

// AddFlags adds the flags of sources pull.
func (o *pullOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.visitOptions.AddFlags(f)
	settings.AddFlag(f, "crawl.host_gap", &o.pace.HostGap)
	f.BoolVar(&o.JSON, "json", false, "print the results as a JSON list")
}

func newPullCommand(c *settings.Configuration) *cobra.Command {
	var o pullOptions
	cmd := &cobra.Command{
		Use:   "pull [NAME]",
		Short: "Read a source now, or all that are enabled",
		Long: `Pull reads a source page by page, whether it is due and enabled or not; without a name it reads each that
is enabled. It lists the services that the source names, adds endpoints that listed services lack, and stores which
resources the source lists. Nothing else of a listed service changes, and nothing is removed.

New counts the resources that no source listed before, merged those that another source lists too, and dropped those
that this source no longer lists. Entries that name no service are counted by reason. A source that cannot be read to
its end drops nothing. An answer that lacks more than half of what the source listed is held back. Requests need
--crawl-contact. A page that fails is requested again for up to a minute, and as long as the host asks to wait, at
most five minutes.

EXIT STATUS

0 if every source was read, 1 if not, 2 for an error in the command line or the configuration.`,
		Example: "  tollbook sources pull cdp\n  tollbook sources pull --json",
		Args:    optionalArgument("NAME"),
		PreRunE: func(*cobra.Command, []string) error {
			return cmp.Or(checkHostGap(o.pace.HostGap), o.contactOptions.validate())
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return runPull(cmd.Context(), o, c, name, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runPull(ctx context.Context, o pullOptions, c *settings.Configuration, name string, stdout io.Writer) error {
	guard, err := o.guard()
	if err != nil {
		return err
	}
	logger := newLogger(ctx, slog.LevelWarn)
	db, err := openDatabase(ctx, o.dataOptions, logger)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.RefuseSample(ctx); err != nil {
		return fmt.Errorf("no source was read: %w", err)
	}
	warnOfProxy(logger)
	v := crawl.New(db.DB, crawl.Options{Now: run.Now, HostGap: o.pace.HostGap, Logger: logger, NoContact: !o.hasContact()},
		probe.Options{Guard: guard, UserAgent: o.userAgent()})
	defer v.Close()
	bar := terminal.NewCounter("read")
	defer bar.Finish()
	return runSources(ctx, db, c, v, name, pull.Options{
		Now:  run.Now,
		Page: func(_ string, rows int) { bar.Set(rows, rows) },
	}, o.JSON, stdout)
}
