package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/listing"
	"tollbook/site/postgres/inbox"
)

// banOptions are the flags of submissions ban, unban and bans.
type banOptions struct {
	dataOptions
	JSON bool
}

// AddFlags adds the flags of all three commands.
func (o *banOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	f.BoolVar(&o.JSON, "json", false, "print the result as JSON")
}

func newBan() *cobra.Command {
	var o struct {
		banOptions
		actorOptions
		Reason string
	}
	cmd := &cobra.Command{
		Use:   "ban ID",
		Short: "Take nothing more from the sender of a submission",
		Long: `Ban refuses every submission, suggestion and re-check from the address that sent a submission: an IPv4 address, or
the /48 network of an IPv6 address. Tollbook stores no address, only a keyed hash of it, so a sender is named by what it
sent. A sender whose messages were forgotten, or imported from another directory, can't be banned.

Ban does not decide about the submission: use "tollbook submissions reject" for that. To refuse all submissions of a
host or a domain, use "tollbook services block". An export does not contain bans.

EXIT STATUS

0 if the sender is banned, 1 if there is no such submission or its sender is not known.`,
		Example: "  tollbook submissions ban 018f3c1e-7b2a-7cc3-9d51-3f6a1e0b4c55 --reason \"sends the same list each day\"",
		Args:    arguments("ID"),
		PreRunE: func(*cobra.Command, []string) error {
			if err := listing.CheckText(o.Reason, maxReason); o.Reason != "" && err != nil {
				return terminal.UsageErrorf("--reason %w", err)
			}
			return o.Validate()
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID("submission", args[0])
			if err != nil {
				return err
			}
			ban := inbox.Ban{SubmissionID: id, BannedAt: run.Now(), Actor: o.As, Reason: o.Reason}
			return withDatabase(cmd.Context(), o.dataOptions, func(db *run.Database) error {
				if err := db.BanSender(cmd.Context(), ban); err != nil {
					return explainDecision(err, "submission", id)
				}
				if o.JSON {
					return report.JSON(cmd.OutOrStdout(), ban)
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "Nothing is taken any more from the sender of %s. It ends with: "+
					"tollbook submissions unban %s\n", id, id)
				return err
			})
		},
	}
	o.banOptions.AddFlags(cmd.Flags())
	o.actorOptions.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.Reason, "reason", "", "`sentence` that says why, for the record")
	return cmd
}

func newUnban() *cobra.Command {
	var o banOptions
	cmd := &cobra.Command{
		Use:   "unban ID",
		Short: "End the ban of a sender",
		Long: `Unban ends a ban, which the id of the submission names that "tollbook submissions bans" prints.

EXIT STATUS

0 if the ban ended, 1 if there was none.`,
		Example: "  tollbook submissions unban 018f3c1e-7b2a-7cc3-9d51-3f6a1e0b4c55",
		Args:    arguments("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID("submission", args[0])
			if err != nil {
				return err
			}
			return withDatabase(cmd.Context(), o.dataOptions, func(db *run.Database) error {
				if err := db.UnbanSender(cmd.Context(), id); errors.Is(err, site.ErrNotFound) {
					return fmt.Errorf("no ban names the submission %s; tollbook submissions bans lists all", id)
				} else if err != nil {
					return err
				}
				if o.JSON {
					return report.JSON(cmd.OutOrStdout(), map[string]uuid.UUID{"submission_id": id})
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "The sender of %s may send again\n", id)
				return err
			})
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func newBans() *cobra.Command {
	var o banOptions
	cmd := &cobra.Command{
		Use:   "bans",
		Short: "List the senders of whom nothing is taken",
		Long: `Bans lists the bans: the submission whose sender is meant, since when, by whom and why.

EXIT STATUS

0 if they are printed, 1 if the database could not be read.`,
		Example: "  tollbook submissions bans",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd.Context(), o.dataOptions, func(db *run.Database) error {
				return runBans(cmd.Context(), db, o.JSON, cmd.OutOrStdout())
			})
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runBans(ctx context.Context, db *run.Database, asJSON bool, w io.Writer) error {
	list, err := db.Bans(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return report.JSONList(w, list)
	}
	for _, b := range list {
		text := fmt.Sprintf("%s since %s by %s", b.SubmissionID, b.BannedAt.UTC().Format(time.DateOnly), b.Actor)
		if b.Reason != "" {
			text += ": " + b.Reason
		}
		if _, err := fmt.Fprintln(w, invisible.Drop(text)); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "%s banned\n", count(len(list), "sender"))
	return err
}
