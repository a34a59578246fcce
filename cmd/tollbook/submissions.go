package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/site"
	"tollbook/site/postgres"
)

// actorOptions say who decides.
type actorOptions struct {
	As string
}

// AddFlags adds --as.
func (o *actorOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.As, "as", os.Getenv("USER"), "`name` under which the audit trail keeps who did this")
}

func (o *actorOptions) validate() error {
	o.As = cmp.Or(o.As, "operator") // where there is no $USER
	if utf8.RuneCountInString(o.As) > site.MaxName || site.CheckText(o.As, site.MaxName) != nil {
		return usagef("--as: it is a name of at most %d characters", site.MaxName)
	}
	return nil
}

func newSubmissionsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "submissions",
		Short: "Review what owners submitted",
		Long: `Submissions shows what owners sent to "tollbook serve --submissions", and decides about it. Nothing is listed before
somebody approves it.

EXIT STATUS

That of the command that is given: 0 done, 1 failed, 2 for a command line that cannot be understood.`,
	}, newSubmissionsListCommand(), newSubmissionsShowCommand(), newSubmissionsApproveCommand(), newSubmissionsRejectCommand())
}

// reviewOptions are the flags of those that show.
type reviewOptions struct {
	dataOptions
	State string
	JSON  bool
}

func newSubmissionsListCommand() *cobra.Command {
	var o reviewOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Print submissions that wait for review, or others",
		Long: `List prints the submissions that wait for review, the oldest first, as a table or as JSON with all that was sent.

EXIT STATUS

0 when they are printed, 1 when the database could not be asked.`,
		Args: arguments(),
		PreRunE: func(*cobra.Command, []string) error {
			if !slices.Contains([]string{site.SubmissionPending, site.SubmissionApproved, site.SubmissionRejected, "all"}, o.State) {
				return usagef("--state %q: it is pending, approved, rejected or all", o.State)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSubmissionsList(cmd.Context(), o, cmd.OutOrStdout())
		},
	}
	o.dataOptions.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.State, "state", site.SubmissionPending, "which: pending, approved, rejected or all")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print a JSON list")
	return cmd
}

func runSubmissionsList(ctx context.Context, o reviewOptions, stdout io.Writer) error {
	state := o.State
	if state == "all" {
		state = ""
	}
	var list []postgres.ReviewedSubmission
	err := withDatabase(ctx, o.dataOptions, func(db *database) (err error) {
		list, err = db.Submissions(ctx, state)
		return err
	})
	if err != nil {
		return err
	}
	if o.JSON {
		lines := make([]reviewed, len(list))
		for i := range list {
			lines[i] = newReviewed(&list[i])
		}
		return printLines(stdout, lines)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(stdout, "No submissions.")
		return err
	}
	t := newTable(stdout, "ID", "RECEIVED", "STATE", "PAID", "NAME", "ADDRESS")
	for _, s := range list {
		found := "-"
		if s.ProbeResult != nil {
			found = fmt.Sprintf("%d/%d", s.ProbeResult.EndpointsFound, len(s.Endpoints))
		}
		t.row(s.ID, s.ReceivedAt.UTC().Format(time.DateTime), s.State, found, s.ServiceName, s.URL)
	}
	return t.flush()
}

func newSubmissionsShowCommand() *cobra.Command {
	var o reviewOptions
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Print a submission, its listing as it would appear, and what was done about it",
		Long: `Show prints all that is known of a submission: what was sent, what the probe found, the listing as it would appear if it
were approved now, and the audit trail.

EXIT STATUS

0 when it is printed, 1 when there is none with this id.`,
		Args: arguments("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSubmissionsShow(cmd.Context(), o, args[0], cmd.OutOrStdout())
		},
	}
	o.dataOptions.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	return cmd
}

// reviewed is a submission as it is printed.
type reviewed struct {
	ID         string    `json:"id"`
	State      string    `json:"state"`
	ReceivedAt site.Time `json:"received_at"`
	site.Submission
	ProbeResult *site.ProbeResult     `json:"probe_result"`
	DecidedAt   *site.Time            `json:"decided_at"`
	Reason      *string               `json:"reason"`
	Slug        *string               `json:"slug"`
	Preview     *site.ServiceListItem `json:"preview,omitempty"`
	Trail       []trailLine           `json:"trail,omitempty"`
}

type trailLine struct {
	At     site.Time `json:"at"`
	Actor  string    `json:"actor"`
	Action string    `json:"action"`
	Detail string    `json:"detail"`
}

func newReviewed(s *postgres.ReviewedSubmission) reviewed {
	r := reviewed{
		ID: s.ID.String(), State: s.State, ReceivedAt: site.NewTime(s.ReceivedAt), Submission: s.Submission, ProbeResult: s.ProbeResult,
		Reason: s.Reason, Slug: s.Slug,
	}
	if s.DecidedAt != nil {
		r.DecidedAt = site.TimeOrNull(*s.DecidedAt)
	}
	return r
}

func runSubmissionsShow(ctx context.Context, o reviewOptions, id string, stdout io.Writer) error {
	key, err := submissionID(id)
	if err != nil {
		return err
	}
	var r reviewed
	err = withDatabase(ctx, o.dataOptions, func(db *database) error {
		s, trail, err := db.Submission(ctx, key)
		if err != nil {
			return explainReview(err, id)
		}
		r = newReviewed(&s)
		for _, e := range trail {
			r.Trail = append(r.Trail, trailLine{site.NewTime(e.At), e.Actor, e.Action, e.Detail})
		}
		if s.State != site.SubmissionPending {
			return nil
		}
		slug, err := db.SubmissionSlug(ctx, s.Submission)
		if err != nil {
			return err
		}
		r.Preview = &site.ServiceListItem{
			Slug: slug, Name: s.ServiceName, Description: s.Description, BaseURL: s.URL, WebsiteURL: &s.WebsiteURL, Category: s.Category,
			Status: site.StatusUnknown, EndpointCount: len(s.Endpoints), Networks: []string{}, CreatedAt: site.NewTime(time.Now()),
		}
		return nil
	})
	if err != nil {
		return err
	}
	if o.JSON {
		return printJSON(stdout, r)
	}
	return r.print(stdout)
}

// print writes it for people.
func (r *reviewed) print(stdout io.Writer) error {
	t := newTable(stdout)
	line := func(name, value string) { t.row(name, value) }
	line("Submission", r.ID)
	line("State", r.State)
	line("Received", r.ReceivedAt.String())
	line("E-mail", r.Email)
	for text := range strings.Lines(r.Notes) {
		line("Notes", strings.TrimRight(text, "\r\n"))
	}
	if p := r.ProbeResult; p != nil {
		line("Probe", fmt.Sprintf("%d of %d endpoints asked for payment", p.EndpointsFound, len(r.Endpoints)))
		for _, e := range p.Errors {
			line("", e)
		}
	} else {
		line("Probe", "waits")
	}
	if r.Reason != nil {
		line("Reason", *r.Reason)
	}
	if r.Slug != nil {
		line("Listed as", *r.Slug)
	}
	if err := t.flush(); err != nil {
		return err
	}
	if p := r.Preview; p != nil {
		fmt.Fprintf(stdout, "\nAs it would be listed:\n\n")
		line("  /services/"+p.Slug, "")
		line("  Name", p.Name)
		line("  About", p.Description)
		line("  Category", p.Category)
		line("  Address", p.BaseURL)
		line("  Website", *p.WebsiteURL)
		for _, e := range r.Endpoints {
			line("  Endpoint", e)
		}
		if err := t.flush(); err != nil {
			return err
		}
	}
	for i, e := range r.Trail {
		if i == 0 {
			fmt.Fprintln(stdout)
		}
		fmt.Fprintf(stdout, "%s %s: %s %s\n", e.At, seen(e.Actor), e.Action, seen(e.Detail))
	}
	return nil
}

// decideOptions are the flags of those that decide.
type decideOptions struct {
	dataOptions
	actorOptions
	Reason string
	JSON   bool
}

func (o *decideOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.actorOptions.AddFlags(f)
	f.BoolVar(&o.JSON, "json", false, "print the result as JSON")
}

// decision is what is printed of one.
type decision struct {
	ID     string `json:"id"`
	State  string `json:"state"`
	Slug   string `json:"slug,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func newSubmissionsApproveCommand() *cobra.Command {
	var o decideOptions
	cmd := &cobra.Command{
		Use:   "approve ID",
		Short: "List the service of a submission",
		Long: `Approve lists the service of a submission under a slug made of its name, which no service has or had. The next crawl visits
it at once, the next build publishes it.

EXIT STATUS

0 when the service is listed, 1 when the submission was decided before or its address is listed by now.`,
		Args:    arguments("ID"),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := submissionID(args[0])
			if err != nil {
				return err
			}
			return runDecide(cmd.Context(), o, args[0], cmd.OutOrStdout(), func(db *database) (decision, error) {
				slug, err := db.ApproveSubmission(cmd.Context(), id, o.As, time.Now())
				return decision{State: site.SubmissionApproved, Slug: slug}, err
			})
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func newSubmissionsRejectCommand() *cobra.Command {
	var o decideOptions
	cmd := &cobra.Command{
		Use:   "reject ID",
		Short: "Refuse a submission, for a reason",
		Long: `Reject refuses a submission. Its submitter is told the reason where he asks for its state; he may submit again.

EXIT STATUS

0 when it is rejected, 1 when the submission was decided before.`,
		Args: arguments("ID"),
		PreRunE: func(*cobra.Command, []string) error {
			if err := site.CheckText(o.Reason, maxReason); err != nil {
				return usagef("--reason %w; its submitter reads it", err)
			}
			return o.validate()
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := submissionID(args[0])
			if err != nil {
				return err
			}
			return runDecide(cmd.Context(), o, args[0], cmd.OutOrStdout(), func(db *database) (decision, error) {
				return decision{State: site.SubmissionRejected, Reason: o.Reason}, db.RejectSubmission(cmd.Context(), id, o.As, o.Reason, time.Now())
			})
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.Reason, "reason", "", "why, in a sentence or two for its submitter")
	return cmd
}

// maxReason is the length of a reason in characters.
const maxReason = 500

func runDecide(ctx context.Context, o decideOptions, id string, stdout io.Writer, decide func(*database) (decision, error)) error {
	var d decision
	err := withDatabase(ctx, o.dataOptions, func(db *database) (err error) {
		if err := db.refuseSample(ctx); err != nil {
			return err
		}
		d, err = decide(db)
		return explainReview(err, id)
	})
	if err != nil {
		return err
	}
	d.ID = id
	if o.JSON {
		return printJSON(stdout, d)
	}
	if d.Slug != "" {
		_, err = fmt.Fprintf(stdout, "listed as %s; tollbook crawl visits it, tollbook build publishes it\n", d.Slug)
	} else {
		_, err = fmt.Fprintf(stdout, "rejected: %s\n", d.Reason)
	}
	return err
}

// submissionID reads the id of a submission.
func submissionID(s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil || id.String() != s {
		return id, usagef("%q is no id of a submission; tollbook submissions list shows them", s)
	}
	return id, nil
}

// explainReview says what went wrong in words of the command line.
func explainReview(err error, id string) error {
	var decided *postgres.DecidedError
	switch {
	case errors.As(err, &decided):
		return fmt.Errorf("submission %s is decided: %w", id, decided)
	case errors.Is(err, postgres.ErrNotFound):
		return fmt.Errorf("no submission has the id %s; tollbook submissions list shows those that wait", id)
	case errors.Is(err, postgres.ErrListed):
		return fmt.Errorf("submission %s: its address is listed by now; reject it", id)
	}
	return err
}
