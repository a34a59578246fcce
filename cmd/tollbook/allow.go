package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/site/invisible"
	"tollbook/site/postgres"
)

func newAllowCommand() *cobra.Command {
	var o struct {
		dataOptions
		actorOptions
		JSON bool
	}
	cmd := &cobra.Command{
		Use:   "allow SLUG",
		Short: "Let a removed service be listed again",
		Long: `Allow ends a removal: files, catalogues, sources and submissions may list the service again. SLUG is the
slug that it had; "tollbook services removed" lists all. Allow lists nothing and brings nothing back. A service that is
listed again starts without a history, under another slug. Who allowed it, and when, is stored.

EXIT STATUS

0 if the service may be listed, 1 if no removed service had this slug.`,
		Example: "  tollbook services allow acme-quotes && tollbook services apply services.toml",
		Args:    arguments("SLUG"),
		PreRunE: func(*cobra.Command, []string) error { return o.Validate() },
		RunE: func(cmd *cobra.Command, args []string) error {
			return withDatabase(cmd.Context(), o.dataOptions, func(db *run.Database) error {
				return runAllow(cmd.Context(), db, args[0], o.As, o.JSON, cmd.OutOrStdout())
			})
		},
	}
	o.dataOptions.AddFlags(cmd.Flags())
	o.actorOptions.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print the removal as JSON")
	return cmd
}

func runAllow(ctx context.Context, db *run.Database, slug, actor string, asJSON bool, w io.Writer) error {
	r, allowed, err := db.AllowService(ctx, slug, actor, run.Now())
	if errors.Is(err, postgres.ErrNotFound) {
		return fmt.Errorf("no removed service had the slug %q; tollbook services removed lists all", slug)
	}
	if err != nil {
		return err
	}
	if asJSON {
		return report.JSON(w, r)
	}
	text := "may be listed again; its slug is not given again"
	if !allowed {
		text = "may be listed again since " + r.AllowedAt.UTC().Format(time.DateOnly) + "; nothing was changed"
	}
	_, err = fmt.Fprintf(w, "%s %s\n", slug, text)
	return err
}

func newRemovedCommand() *cobra.Command {
	var o dataOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "removed",
		Short: "List the services that were removed",
		Long: `Removed lists the services that "tollbook services remove" erased: the slug that each had, when it was
removed, by whom and why, whether it may be listed again, and the addresses that nothing is listed at until then.

EXIT STATUS

0 if they are printed, 1 if the database could not be read.`,
		Example: "  tollbook services removed",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd.Context(), o, func(db *run.Database) error {
				list, err := db.Removals(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return report.JSONList(cmd.OutOrStdout(), list)
				}
				return printRemoved(cmd.OutOrStdout(), list)
			})
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list")
	return cmd
}

func printRemoved(w io.Writer, list []postgres.RemovedService) error {
	for _, r := range list {
		text := r.Slug + " " + r.Facts()
		if r.AllowedAt != nil {
			text += "; allowed on " + r.AllowedAt.UTC().Format(time.DateOnly) + " by " + *r.AllowedBy
		}
		if len(r.Addresses) > 0 {
			text += "; " + strings.Join(r.Addresses, ", ")
		}
		if _, err := fmt.Fprintln(w, invisible.Drop(text)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s removed\n", count(len(list), "service"))
	return err
}
