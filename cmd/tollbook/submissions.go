// This part of the package contains the commands on what people decide: submissions, suggestions, facilitators, and
// the export and import of all decisions. It must never contain a rule about them: the database and package crawl have
// those.

package main

import (
	"context"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/site"
	"tollbook/site/listing"
)

// newSubmissions returns the command submissions with its subcommands.
func newSubmissions() *cobra.Command {
	return newGroup(&cobra.Command{
		Use:   "submissions",
		Short: "Review services that owners submitted",
		Long: `Submissions shows what owners sent to "tollbook serve --serve-submissions", and approves or rejects it.
No service is listed before somebody approves it.` + groupStatus,
	},
		newSubmissionsList(), newSubmissionsShow(), newApprove(), newReject())
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
			r.AddPreview(slug, time.Now())
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
		err := db.RejectSubmission(ctx, id, o.As, reason, time.Now())
		return report.Decision{State: site.SubmissionRejected, Reason: reason}, err
	})
	cmd.Flags().StringVar(&reason, "reason", "", "`sentence` or two for the submitter")
	return cmd
}
