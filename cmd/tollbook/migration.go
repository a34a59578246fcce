// This file contains the command migrate, which brings a database to the schema that this program needs. It must never
// know what a migration does: each says so itself.

package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
)

// newMigrateCommand returns the command migrate.
func newMigrateCommand() *cobra.Command {
	var o dataOptions
	var planOnly, asJSON bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database to the schema of this version",
		Long: `Migrate does to the database what this version of the program needs, with a line in the log for each
step. With --plan it says what that is, and changes nothing. Every other command that uses the database does the same
when it starts.

Each migration is one transaction: if it fails, the database is as it was before. There is no way back but the
back-up of the database, so make one first, and stop older programs that use the database. The page /upgrading of
every directory describes a whole upgrade.

A database that a newer version has migrated is refused. The message names that version.

EXIT STATUS

0 if the database has the schema or the plan is printed, 1 if it can't be migrated.`,
		Example: "  tollbook migrate --plan\n  tollbook migrate",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runMigrate(cmd.Context(), o, planOnly, asJSON, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&planOnly, "plan", false, "print what would be done, and change nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

func runMigrate(ctx context.Context, o dataOptions, planOnly, asJSON bool, stdout io.Writer) error {
	logger := newLogger(ctx, slog.LevelInfo)
	plan, err := run.PlanMigration(ctx, o.Database(logger))
	if err != nil {
		return err
	}
	if !planOnly {
		db, err := openDatabase(ctx, o, logger)
		if err != nil {
			return err
		}
		if err := db.Close(); err != nil {
			return err
		}
	}
	return report.Migration(stdout, plan, !planOnly, asJSON)
}
