// This part of the package contains the commands on listed services. It must never contain a rule: what a list means
// is decided by package crawl/list.

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/site/postgres"
)

// newServicesCommand returns the command services. It contains the given commands too, which need settings of visits.
func newServicesCommand(others ...*cobra.Command) *cobra.Command {
	commands := []*cobra.Command{
		newApplyCommand(), newAddCommand(), newEditCommand(), newServicesListCommand(), newServicesShowCommand(),
	}
	for _, c := range stateCommands {
		commands = append(commands, c.newCommand())
	}
	commands = append(commands, newRemoveCommand(), newRemovedCommand(), newAllowCommand(),
		newBlockCommand(), newUnblockCommand())
	return newGroup(&cobra.Command{
		Use:   "services",
		Short: "Add, change, list, verify and remove services",
		Long:  `Services changes and shows which services the directory lists.` + groupStatus,
	}, append(commands, others...)...)
}

// errNoService returns the error for a slug that is not listed.
func errNoService(slug string) error {
	return fmt.Errorf("no service %q is listed; tollbook services list shows all", slug)
}

func newServicesListCommand() *cobra.Command {
	var o dataOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all services with their state",
		Long: `List prints the listed services: a table with the result of the last visit (online, degraded, offline or
unknown) or the reason why there is none (paused, hidden, retired, opted out), or JSON. The status that readers see is
judged from many visits, by build.

EXIT STATUS

0 if they are printed, 1 if the database could not be read.`,
		Example: "  tollbook services list\n  tollbook services list --json | jq '.[] | select(.state == " +
			"\"offline\") | .slug'",
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
	err := withDatabase(ctx, o, func(db *run.Database) (err error) {
		services, err = db.Services(ctx)
		return err
	})
	if err != nil {
		return err
	}
	return report.Services(stdout, services, asJSON)
}

func newServicesShowCommand() *cobra.Command {
	var o dataOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show SLUG",
		Short: "Show everything that is stored about one service",
		Long: `Show prints the facts of one service: its listing, the times of its last and next visit, and each
endpoint with its last response and current prices. Status, grade and uptime, which readers see, are judged by
build.

EXIT STATUS

0 if it is printed, 1 if there is no such service.`,
		Example: "  tollbook services show acme-quotes",
		Args:    arguments("SLUG"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runServicesShow(cmd.Context(), o, args[0], asJSON, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func runServicesShow(ctx context.Context, o dataOptions, slug string, asJSON bool, stdout io.Writer) error {
	var r report.Service
	err := withDatabase(ctx, o, func(db *run.Database) error {
		s, err := db.ServiceBySlug(ctx, slug)
		if err != nil {
			return err
		}
		if s == nil {
			return errNoService(slug)
		}
		prices, err := db.CurrentPrices(ctx, s.ID)
		if err != nil {
			return err
		}
		r = report.NewService(s, prices)
		return nil
	})
	if err != nil {
		return err
	}
	return r.Print(stdout, asJSON)
}
