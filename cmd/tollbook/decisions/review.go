package decisions

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/cli"
	"tollbook/cmd/tollbook/database"
	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/usage"
	"tollbook/site"
	"tollbook/site/listing"
)

// decideOptions are the flags of the commands that decide.
type decideOptions struct {
	cli.DataOptions
	cli.ActorOptions
	JSON bool
}

// AddFlags adds the flags that approve and reject share.
func (o *decideOptions) AddFlags(f *pflag.FlagSet) {
	o.DataOptions.AddFlags(f)
	o.ActorOptions.AddFlags(f)
	f.BoolVar(&o.JSON, "json", false, "print the result as JSON: an object for one ID, else a list")
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
				return usage.Errorf("approve needs either IDs, or --grade or --verified; " +
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
	cmd := &cobra.Command{
		Use:   "reject ID...",
		Short: "Reject submissions, with a reason",
		Long: `Reject refuses submissions. A submitter can read the reason at the submission's URL, and may submit
again. Each submission is decided on its own. If one fails, the others are still decided.

EXIT STATUS

0 if all are rejected, 1 if a submission was decided before.`,
		Example: "  tollbook submissions reject 018f3c1e-7b2a-7cc3-9d51-3f6a1e0b4c55 --reason \"No endpoint " +
			"asked for payment.\"",
		Args: func(cmd *cobra.Command, args []string) error {
			return cli.Arguments("ID")(cmd, args[:min(len(args), 1)])
		},
		PreRunE: func(*cobra.Command, []string) error {
			if err := listing.CheckText(reason, maxReason); err != nil {
				return usage.Errorf("--reason %w; the submitter reads it", err)
			}
			return o.Validate()
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withDatabase(cmd.Context(), "submission", args, func(db *database.DB, ids []uuid.UUID) error {
				one := func(id uuid.UUID) (report.Decision, error) {
					err := db.RejectSubmission(cmd.Context(), id, o.As, reason, time.Now())
					return report.Decision{State: site.SubmissionRejected, Reason: reason}, err
				}
				return o.decide(cmd.Context(), "submission", ids, cmd.OutOrStdout(), one)
			})
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&reason, "reason", "", "`sentence` or two for the submitter")
	return cmd
}

// withDatabase opens the database for do, which gets the parsed ids of submissions or suggestions, each once.
func (o *decideOptions) withDatabase(
	ctx context.Context, what string, args []string, do func(*database.DB, []uuid.UUID) error,
) error {
	var ids []uuid.UUID
	for _, arg := range args {
		id, err := parseID(what, arg)
		if err != nil {
			return err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return cli.WithDatabase(ctx, o.DataOptions, func(db *database.DB) error {
		if err := db.RefuseSample(ctx); err != nil {
			return err
		}
		return do(db, ids)
	})
}

// decideFunc decides about a submission or a suggestion.
type decideFunc func(uuid.UUID) (report.Decision, error)

// decide decides about each submission or suggestion and prints the results. The error of one does not end it; the
// error of a single one is returned as it is.
func (o *decideOptions) decide(
	ctx context.Context, what string, ids []uuid.UUID, stdout io.Writer, decide decideFunc,
) error {
	results := make([]report.Decision, 0, len(ids))
	failed := 0
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		d, err := decide(id)
		err = explainReview(err, id.String())
		if len(ids) == 1 {
			if err != nil {
				return err
			}
			d.ID = id.String()
			return d.Print(stdout, o.JSON)
		}
		if d.ID = id.String(); err != nil {
			failed++
			d = report.Decision{ID: d.ID, State: report.DecisionFailed, Error: err.Error()}
		}
		results = append(results, d)
	}
	if err := report.Decisions(stdout, results, o.JSON); err != nil {
		return err
	}
	switch {
	case len(results) < len(ids):
		return fmt.Errorf("interrupted: %d of %d %ss were not looked at; run the command again",
			len(ids)-len(results), len(ids), what)
	case failed > 0:
		return fmt.Errorf("%d of %d %ss were not decided; the reasons are above", failed, len(ids), what)
	}
	return nil
}
