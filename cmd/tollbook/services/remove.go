package services

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/cli"
	"tollbook/cmd/tollbook/database"
	"tollbook/cmd/tollbook/report"
	"tollbook/site/postgres"
)

// removeOptions are the flags of services remove.
type removeOptions struct {
	cli.DataOptions
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

The next build no longer lists it. That build also empties its rows in the packs of the logs; each row keeps only its
number and time. Nothing else ever changes a pack, and the checkpoint says that it happened. Caches in front of a
bucket may still have old packs: purge packs/ there. Snapshots that were published before contain the service until
prune deletes them.

The slug is never given again. If the same service is listed again, it starts without a history, under another slug.

EXIT STATUS

0 if it is erased, 1 if not.`,
		Example: "  tollbook services remove acme-quotes && tollbook build",
		Args:    cli.Arguments("SLUG"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.WithDatabase(cmd.Context(), o.DataOptions, func(db *database.DB) error {
				return runRemove(cmd.Context(), db, o, args[0], streamsOf(cmd))
			})
		},
	}
	o.DataOptions.AddFlags(cmd.Flags())
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print what was erased as JSON")
	return cmd
}

func runRemove(ctx context.Context, db *database.DB, o removeOptions, slug string, s Streams) error {
	counts, err := db.CountStored(ctx, slug)
	if errors.Is(err, postgres.ErrNotFound) {
		return ErrNoService(slug)
	}
	if err != nil {
		return err
	}
	if !o.Yes {
		fmt.Fprintf(s.Err,
			"%s has %s.\nRemove erases all of it for good. To keep it and mark the service as delisted, "+
				"answer no and use:\n\n    tollbook services retire %s\n\n", slug, describeCounts(counts), slug)
		yes, err := cli.Confirm(ctx, s.In, s.Err, "Erase "+slug+"?")
		switch {
		case errors.Is(err, cli.ErrNoTerminal):
			return fmt.Errorf("nothing was erased: run the command again with --yes to erase %s, or use tollbook "+
				"services retire %s", slug, slug)
		case err != nil:
			return err
		case !yes:
			return errors.New("nothing was erased")
		}
	}
	if err := db.EraseService(ctx, slug, time.Now()); errors.Is(err, postgres.ErrNotFound) {
		return ErrNoService(slug)
	} else if err != nil {
		return err
	}
	if o.JSON {
		return report.JSON(s.Out, struct {
			Slug string `json:"slug"`
			postgres.StoredCounts
		}{slug, counts})
	}
	_, err = fmt.Fprintf(s.Out, "Erased %s: %s. Next: tollbook build publishes the directory without it\n", slug,
		describeCounts(counts))
	return err
}

func describeCounts(c postgres.StoredCounts) string {
	return strings.Join([]string{
		count(c.Endpoints, "endpoint"), count(c.Checks, "check"), count(c.Prices, "price"),
		count(c.Days, "day") + " of history", count(c.Changes, "change record"),
	}, ", ")
}
