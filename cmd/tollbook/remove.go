package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/site/listing"
	"tollbook/site/postgres"
)

// removeOptions are the flags of services remove.
type removeOptions struct {
	dataOptions
	actorOptions
	Reason    string
	Yes, JSON bool
}

func newRemoveCommand() *cobra.Command {
	var o removeOptions
	cmd := &cobra.Command{
		Use:   "remove SLUG",
		Short: "Erase a service and everything stored about it",
		Long: `Remove erases a service: its listing, measurements, endpoints, prices and records. It says what it would
erase and asks first; without a terminal it needs --yes. To keep the history of a service that has ended, use
"tollbook services retire" instead.

The next build no longer contains it. That build empties its rows in the packs of the logs, where each row keeps only
its number and time, and in the tables by day. It then deletes all snapshots that were built while the service was
listed, whatever the retention says, because a snapshot never changes. The next publication does the same in the place
that is published to. Copies elsewhere are yours to delete: caches (purge everything), older versions of a bucket's
objects, copies of readers, and backups of the database.

Payments on public chains stay in the table of settlements; its rows name accounts, and no service.

The service stays removed. A file, a catalogue, a source or a submission does not list it again, until "tollbook
services allow" permits it. For that its slug and addresses are stored, with the time, --as and --reason; none of them
is published. The slug is never given again. A service that is listed again starts without a history.

A service that a version before schema 8 removed is erased from earlier snapshots if it is removed again by its slug.

EXIT STATUS

0 if it is erased, 1 if not.`,
		Example: "  tollbook services remove acme-quotes && tollbook build",
		Args:    arguments("SLUG"),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE: func(cmd *cobra.Command, args []string) error {
			return withDatabase(cmd.Context(), o.dataOptions, func(db *run.Database) error {
				return runRemove(cmd.Context(), db, o, args[0], streamsOf(cmd))
			})
		},
	}
	o.dataOptions.AddFlags(cmd.Flags())
	o.actorOptions.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.Reason, "reason", "", "`sentence` that says why, for the record")
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print what was erased as JSON")
	return cmd
}

func (o *removeOptions) validate() error {
	if err := listing.CheckText(o.Reason, maxReason); o.Reason != "" && err != nil {
		return terminal.UsageErrorf("--reason %w", err)
	}
	return o.Validate()
}

func runRemove(ctx context.Context, db *run.Database, o removeOptions, slug string, s streams) error {
	counts, err := db.CountStored(ctx, slug)
	if errors.Is(err, postgres.ErrNotFound) {
		return dropSnapshots(ctx, db, o, slug, s)
	}
	if err != nil {
		return err
	}
	if !o.Yes {
		fmt.Fprintf(s.Err,
			"%s has %s.\nRemove erases all of it for good, with every snapshot that contains it. To keep it and "+
				"mark the service as delisted, answer no and use:\n\n    tollbook services retire %s\n\n", slug, describeCounts(counts), slug)
		yes, err := confirm(ctx, s.In, s.Err, "Erase "+slug+"?")
		switch {
		case errors.Is(err, errNoTerminal):
			return fmt.Errorf("nothing was erased: run the command again with --yes to erase %s, or use tollbook "+
				"services retire %s", slug, slug)
		case err != nil:
			return err
		case !yes:
			return errors.New("nothing was erased")
		}
	}
	if err := db.EraseService(ctx, slug, o.As, o.Reason, run.Now()); errors.Is(err, postgres.ErrNotFound) {
		return errNoService(slug)
	} else if err != nil {
		return err
	}
	if o.JSON {
		return report.JSON(s.Out, struct {
			Slug string `json:"slug"`
			postgres.StoredCounts
		}{slug, counts})
	}
	_, err = fmt.Fprintf(s.Out, "Erased %s: %s. Next: tollbook build publishes the directory without it, and deletes "+
		"the snapshots that contain it; tollbook publish does the same in another place\n", slug,
		describeCounts(counts))
	return err
}

// dropSnapshots makes the next build delete the snapshots with a service that an earlier version removed.
func dropSnapshots(ctx context.Context, db *run.Database, o removeOptions, slug string, s streams) error {
	dropped, err := db.DropSnapshots(ctx, slug)
	if err != nil {
		return err
	}
	if !dropped {
		return errNoService(slug)
	}
	if o.JSON {
		return report.JSON(s.Out, map[string]any{"slug": slug, "drop_snapshots": true})
	}
	_, err = fmt.Fprintf(s.Out, "%s was removed by an earlier version. Next: tollbook build deletes all snapshots "+
		"before it, and tollbook publish does the same in another place\n", slug)
	return err
}

func describeCounts(c postgres.StoredCounts) string {
	return strings.Join([]string{
		count(c.Endpoints, "endpoint"), count(c.Checks, "check"), count(c.Prices, "price"),
		count(c.Days, "day") + " of history", count(c.Changes, "change record"),
	}, ", ")
}
