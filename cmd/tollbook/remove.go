package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tollbook/site/postgres"
)

func newServicesRemoveCommand() *cobra.Command {
	var o dataOptions
	cmd := &cobra.Command{
		Use:   "remove SLUG",
		Short: "Take a service off the directory and erase what is known of it",
		Long: `Remove erases a service: what it said, what was measured of it, its endpoints, prices and records. The next build lists it
no more and rewrites its rows in the packs of the logs, where each keeps its number and time and says nothing else; that is
the one thing that ever changes a pack, and the checkpoint says that it was done. Caches in front of a bucket may hold old
packs: drop what they have under packs/. Snapshots that were published before tell of it until prune removes them.

Imported again, it is another service without a past.

EXIT STATUS

0 when it is erased, 1 when there is no such service.`,
		Args: arguments("SLUG"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runServicesRemove(cmd.Context(), o, args[0], cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runServicesRemove(ctx context.Context, o dataOptions, slug string, stdout io.Writer) error {
	err := withDatabase(ctx, o, func(db *database) error { return db.EraseService(ctx, slug, time.Now()) })
	if errors.Is(err, postgres.ErrNotFound) {
		return fmt.Errorf("no service %q is listed; tollbook services list shows all", slug)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s is erased; tollbook build publishes the directory without it\n", slug)
	return err
}
