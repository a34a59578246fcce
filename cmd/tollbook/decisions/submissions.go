// Package decisions contains the commands on what people decide: submissions, suggestions, facilitators, and the export
// and import of all decisions. It must never contain a rule about them: the database and package crawl have those.
package decisions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/cli"
	"tollbook/cmd/tollbook/database"
	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/usage"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/suggestions"
)

// NewSubmissions returns the command submissions with its subcommands.
func NewSubmissions() *cobra.Command {
	return cli.NewGroup(&cobra.Command{
		Use:   "submissions",
		Short: "Review services that owners submitted",
		Long: `Submissions shows what owners sent to "tollbook serve --serve-submissions", and approves or rejects it.
No service is listed before somebody approves it.` + cli.GroupStatus,
	},
		newList(), newShow(), newApprove(),
		newReject())
}

// reviewOptions are the flags of the commands that show submissions.
type reviewOptions struct {
	cli.DataOptions
	State string
	JSON  bool
}

// allStates is the value of --state for submissions in any state.
const allStates = "all"

func newList() *cobra.Command {
	var o reviewOptions
	states := []string{site.SubmissionPending, site.SubmissionApproved, site.SubmissionRejected, allStates}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List submissions that wait for review",
		Long: `List prints the submissions that wait for review, the oldest first: as a table, or as JSON with all
their fields.

EXIT STATUS

0 if they are printed, 1 if the database could not be read.`,
		Example: "  tollbook submissions list\n  tollbook submissions list --state rejected --json",
		Args:    cli.Arguments(),
		PreRunE: func(*cobra.Command, []string) error {
			if !slices.Contains(states, o.State) {
				return usage.Errorf("--state %q: use pending, approved, rejected or all", o.State)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSubmissionsList(cmd.Context(), o, cmd.OutOrStdout())
		},
	}
	o.DataOptions.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.State, "state", site.SubmissionPending,
		"`state` of the submissions: pending, approved, rejected or all")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print a JSON list")
	return cmd
}

func runSubmissionsList(ctx context.Context, o reviewOptions, stdout io.Writer) error {
	state := o.State
	if state == allStates {
		state = ""
	}
	var list []postgres.ReviewedSubmission
	err := cli.WithDatabase(ctx, o.DataOptions, func(db *database.DB) (err error) {
		list, err = db.Submissions(ctx, state)
		return err
	})
	if err != nil {
		return err
	}
	return report.Submissions(stdout, list, o.JSON)
}

func newShow() *cobra.Command {
	var o reviewOptions
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a submission and a preview of its listing",
		Long: `Show prints everything about one submission: what was sent, what the probe found, the listing that it
would get now, and the audit trail.

EXIT STATUS

0 if it is printed, 1 if there is no submission with this id.`,
		Example: "  tollbook submissions show 018f3c1e-7b2a-7cc3-9d51-3f6a1e0b4c55",
		Args:    cli.Arguments("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSubmissionsShow(cmd.Context(), o, args[0], cmd.OutOrStdout())
		},
	}
	o.DataOptions.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	return cmd
}

func runSubmissionsShow(ctx context.Context, o reviewOptions, id string, stdout io.Writer) error {
	key, err := parseID("submission", id)
	if err != nil {
		return err
	}
	var r report.Submission
	err = cli.WithDatabase(ctx, o.DataOptions, func(db *database.DB) error {
		s, trail, err := db.Submission(ctx, key)
		if err != nil {
			return explainReview(err, id)
		}
		r = report.NewSubmission(&s, trail)
		if s.State != site.SubmissionPending {
			return nil
		}
		slug, err := db.SubmissionSlug(ctx, s.Submission)
		if err == nil {
			r.AddPreview(slug, time.Now())
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.Print(stdout, o.JSON)
}

// parseID returns the id of a submission or a suggestion.
func parseID(what, s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil || id.String() != s {
		return id, usage.Errorf("%q is no id of a %s; tollbook %ss list shows the ids", s, what, what)
	}
	return id, nil
}

// explainReview returns the error of a review with what to do about it.
func explainReview(err error, id string) error {
	var decided *postgres.DecidedError
	var closed *suggestions.ClosedError
	switch {
	case errors.As(err, &closed):
		return fmt.Errorf("suggestion %s is closed already: %w", id, closed)
	case errors.Is(err, suggestions.ErrNotFound):
		return fmt.Errorf("no suggestion has the id %s; tollbook suggestions list shows the ids", id)
	case errors.As(err, &decided):
		return fmt.Errorf("submission %s is decided already: %w", id, decided)
	case errors.Is(err, postgres.ErrNotFound):
		return fmt.Errorf("no submission has the id %s; tollbook submissions list shows the ids", id)
	case errors.Is(err, postgres.ErrListed):
		return fmt.Errorf("submission %s: its address is listed already; reject it", id)
	}
	return err
}
