// This part of the package contains the commands on what people decide: submissions, suggestions, facilitators, and
// the export and import of all decisions. It must never contain a rule about them: the database and package crawl have
// those.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres/inbox"
)

// newSubmissions returns the command submissions with its subcommands.
func newSubmissions() *cobra.Command {
	return newGroup(&cobra.Command{
		Use:   "submissions",
		Short: "Review services that owners submitted",
		Long: `Submissions shows what owners sent to "tollbook serve --serve-submissions", and approves or rejects it.
No service is listed before somebody approves it.` + groupStatus,
	},
		newSubmissionsList(), newSubmissionsShow(), newApprove(), newReject(), newForget(),
		newBan(), newUnban(), newBans())
}

func newSubmissionsList() *cobra.Command {
	return newList(&cobra.Command{
		Short: "List submissions that wait for review",
		Long: `List prints the submissions that wait for review, the oldest first: as a table, or as JSON with all
their fields.

EXIT STATUS

0 if they are printed, 1 if the database could not be read.`,
		Example: "  tollbook submissions list\n  tollbook submissions list --state rejected --json",
	}, "submission", []string{site.SubmissionPending, site.SubmissionApproved, site.SubmissionRejected},
		func(ctx context.Context, db *run.Database, state string, stdout io.Writer, asJSON bool) error {
			list, err := db.Submissions(ctx, state)
			if err != nil {
				return err
			}
			return report.Submissions(stdout, list, asJSON)
		})
}

func newSubmissionsShow() *cobra.Command {
	return newShow(&cobra.Command{
		Short: "Show a submission and a preview of its listing",
		Long: `Show prints everything about one submission: what was sent, what the probe found, the listing that it
would get now, and the audit trail.

EXIT STATUS

0 if it is printed, 1 if there is no submission with this id.`,
		Example: "  tollbook submissions show 018f3c1e-7b2a-7cc3-9d51-3f6a1e0b4c55",
	}, "submission", func(ctx context.Context, db *run.Database, id uuid.UUID, stdout io.Writer, asJSON bool) error {
		s, err := db.Submission(ctx, id)
		if err != nil {
			return err
		}
		r := report.NewSubmission(&s)
		if s.State == site.SubmissionPending {
			slug, err := db.SubmissionSlug(ctx, s.Submission)
			if err != nil {
				return err
			}
			r.AddPreview(slug, run.Now())
		}
		return r.Print(stdout, asJSON)
	})
}

func newApprove() *cobra.Command {
	var o approveOptions
	cmd := &cobra.Command{
		Use:   "approve [ID...]",
		Short: "Approve submissions and list their services",
		Long: `Approve lists the service of each submission, under a slug that is made from its name and was never used.
The next crawl visits it first, and the next build publishes it.

Without IDs it chooses from all submissions that wait. --grade chooses those whose probe got this grade or a better
one. --verified chooses those whose owner proved control: it requests /.well-known/tollbook of each service's host
and looks for the token that "tollbook submissions show" prints. Such a service is listed as verified. With both
flags a submission must fulfil both. Approve shows what it chose and asks on a terminal; --yes does not ask, and
--dry-run only shows.

Each submission is decided on its own. If one fails, the others are still decided.

EXIT STATUS

0 if all services are listed, 1 if a submission was decided before, its address is listed already, or nobody agreed.`,
		Example: "  tollbook submissions approve 018f3c1e-7b2a-7cc3-9d51-3f6a1e0b4c55\n" +
			"  tollbook submissions approve --grade A --verified --dry-run",
		Args: func(_ *cobra.Command, args []string) error {
			if o.hasFilter() == (len(args) > 0) {
				return terminal.UsageErrorf("approve needs either IDs, or --grade or --verified; " +
					"tollbook submissions list shows what waits")
			}
			return nil
		},
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE:    func(cmd *cobra.Command, args []string) error { return runApprove(cmd, o, args) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// maxReason is the largest length of a reason in characters.
const maxReason = 500

func newReject() *cobra.Command {
	var o decideOptions
	var reason string
	cmd := newDecide(&cobra.Command{
		Use:   "reject ID...",
		Short: "Reject submissions, with a reason",
		Long: `Reject refuses submissions. A submitter can read the reason at the submission's URL, and may submit
again. Each submission is decided on its own. If one fails, the others are still decided.

EXIT STATUS

0 if all are rejected, 1 if a submission was decided before.`,
		Example: "  tollbook submissions reject 018f3c1e-7b2a-7cc3-9d51-3f6a1e0b4c55 --reason \"No endpoint " +
			"asked for payment.\"",
	}, "submission", &o, func() error {
		if err := listing.CheckText(reason, maxReason); err != nil {
			return terminal.UsageErrorf("--reason %w; the submitter reads it", err)
		}
		return o.Validate()
	}, func(ctx context.Context, db *run.Database, id uuid.UUID) (report.Decision, error) {
		err := db.RejectSubmission(ctx, id, o.As, reason, run.Now())
		return report.Decision{State: site.SubmissionRejected, Reason: reason}, err
	})
	cmd.Flags().StringVar(&reason, "reason", "", "`sentence` or two for the submitter")
	return cmd
}

func newForget() *cobra.Command {
	var o struct {
		dataOptions
		Yes, JSON bool
	}
	cmd := &cobra.Command{
		Use:   "forget ADDRESS",
		Short: "Erase what somebody sent, by their e-mail address",
		Long: `Forget erases the submissions and suggestions that were sent with an e-mail address, with their decisions. Of a
submission that was approved it erases the address and the notes: the service stays listed, and "tollbook services
remove" erases that. It says what it would erase and asks first; without a terminal it needs --yes.

The addresses of messages are erased without it 90 days after the decision. Backups and exports are yours to delete.

EXIT STATUS

0 if nothing of the sender is stored any more, 1 if not.`,
		Example: "  tollbook submissions forget anna@acme.example",
		Args:    arguments("ADDRESS"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !strings.Contains(args[0], "@") {
			return terminal.UsageErrorf("%q is no e-mail address", args[0])
		}
		return withDatabase(cmd.Context(), o.dataOptions, func(db *run.Database) error {
			return runForget(cmd.Context(), db, args[0], o.Yes, o.JSON, streamsOf(cmd))
		})
	}
	o.dataOptions.AddFlags(cmd.Flags())
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print what was erased as JSON")
	return cmd
}

func runForget(ctx context.Context, db *run.Database, address string, yes, asJSON bool, s streams) error {
	sent, err := db.Sent(ctx, address)
	if err != nil {
		return err
	}
	if !yes && sent != (inbox.Forgotten{}) {
		fmt.Fprintf(s.Err, "With %s were sent %s that led to no listing, and %s that did.\n", address,
			count(sent.Erased, "message"), count(sent.Emptied, "submission"))
		agreed, err := confirm(ctx, s.In, s.Err, "Erase the former, and the sender of the latter?")
		switch {
		case errors.Is(err, errNoTerminal):
			return errors.New("nothing was erased: run the command again with --yes")
		case err != nil:
			return err
		case !agreed:
			return errors.New("nothing was erased")
		}
	}
	forgotten, err := db.Forget(ctx, address)
	if err != nil {
		return err
	}
	if asJSON {
		return report.JSON(s.Out, forgotten)
	}
	_, err = fmt.Fprintf(s.Out, "Erased %s, and the sender of %s\n", count(forgotten.Erased, "message"),
		count(forgotten.Emptied, "approved submission"))
	return err
}
