package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/cmd/tollbook/version"
	"tollbook/crawl"
	"tollbook/crawl/facts"
	"tollbook/site"
	"tollbook/site/postgres/inbox"
)

// approveOptions are the flags of submissions approve.
type approveOptions struct {
	decideOptions
	Grade    string
	Verified bool
	Yes      bool
	DryRun   bool
	Contact  string
}

// AddFlags adds the flags of submissions approve.
func (o *approveOptions) AddFlags(f *pflag.FlagSet) {
	o.decideOptions.AddFlags(f)
	f.StringVar(&o.Grade, "grade", "", "approve those whose probe got this `grade` or a better one: A, B, C, D or F")
	f.BoolVar(&o.Verified, "verified", false, "approve those whose owner shows the submission's token")
	f.BoolVar(&o.Yes, "yes", false, "do not ask")
	f.BoolVar(&o.DryRun, "dry-run", false, "print what would be approved, and approve nothing")
	settings.AddFlag(f, "crawl.contact", &o.Contact)
}

// grades are the grades of a probe, the best first.
const grades = "ABCDF"

func (o *approveOptions) hasFilter() bool { return o.Grade != "" || o.Verified }

func (o *approveOptions) validate() error {
	if o.Grade != "" && (len(o.Grade) != 1 || !strings.Contains(grades, o.Grade)) {
		return terminal.UsageErrorf("--grade %q: use A, B, C, D or F", o.Grade)
	}
	if isReachable, err := crawl.ReadContact(o.Contact); o.Verified && (err != nil || !isReachable) {
		return terminal.UsageError{Err: &crawl.NoContactError{Contact: o.Contact, Hosts: []string{"the hosts of submissions"}}}
	}
	return o.Validate()
}

// tokenChecker looks for a token on the site of a service.
type tokenChecker interface {
	CheckToken(ctx context.Context, base, token string) error
}

func runApprove(cmd *cobra.Command, o approveOptions, args []string) error {
	// The guard makes no exceptions: anybody can submit the name of a host on a private network.
	checker := facts.New(facts.Options{UserAgent: version.UserAgent(o.Contact)})
	defer checker.Close()
	return o.withDatabase(cmd.Context(), "submission", args, func(db *run.Database, ids []uuid.UUID) error {
		return o.approve(cmd, db, ids, checker)
	})
}

func (o *approveOptions) approve(
	cmd *cobra.Command, db *run.Database, ids []uuid.UUID, checker tokenChecker,
) error {
	ctx, stdout := cmd.Context(), cmd.OutOrStdout()
	list, err := o.choose(ctx, db, ids, checker)
	if err != nil {
		return err
	}
	switch {
	case o.DryRun:
		return report.Submissions(stdout, list, o.JSON)
	case len(list) == 0 && !o.JSON:
		_, err := fmt.Fprintln(stdout, "No submission that waits fulfils this; nothing is approved.")
		return err
	case o.hasFilter() && len(list) > 0 && !o.Yes:
		if err := o.confirm(cmd, list); err != nil {
			return err
		}
	}
	chosen := make([]uuid.UUID, len(list))
	for i := range list {
		chosen[i] = list[i].ID
	}
	return o.decide(ctx, "submission", chosen, stdout, func(id uuid.UUID) (report.Decision, error) {
		d := report.Decision{State: site.SubmissionApproved}
		token := ""
		if o.Verified {
			token = site.SubmissionToken(id.String())
		}
		var err error
		d.Slug, err = db.ApproveSubmission(ctx, id, o.As, token, run.Now())
		return d, err
	})
}

// choose returns the submissions with the ids, or those that wait and fulfil the filters.
func (o *approveOptions) choose(
	ctx context.Context, db *run.Database, ids []uuid.UUID, checker tokenChecker,
) ([]inbox.Submission, error) {
	if !o.hasFilter() {
		list := make([]inbox.Submission, len(ids))
		for i, id := range ids {
			list[i].ID = id
			if !o.DryRun {
				continue
			}
			var err error
			if list[i], err = db.Submission(ctx, id); err != nil {
				return nil, explainDecision(err, "submission", id)
			}
		}
		return list, nil
	}
	waiting, err := db.Submissions(ctx, site.SubmissionPending)
	if err != nil {
		return nil, err
	}
	var list []inbox.Submission
	for _, s := range waiting {
		if o.Grade == "" || s.Grade != nil && strings.Contains(grades[:strings.Index(grades, o.Grade)+1], *s.Grade) {
			list = append(list, s)
		}
	}
	if !o.Verified {
		return list, nil
	}
	return verified(ctx, list, checker)
}

// Limits of the search for tokens.
const (
	checksAtOnce = 8
	checkLimit   = 15 * time.Second // for one host
)

// verified returns the submissions whose owner shows the submission's token. It logs the reason for each of the others.
func verified(
	ctx context.Context, list []inbox.Submission, checker tokenChecker,
) (shown []inbox.Submission, err error) {
	logger := newLogger(ctx, slog.LevelInfo)
	results := make([]error, len(list))
	var g errgroup.Group
	g.SetLimit(checksAtOnce)
	for i, s := range list {
		g.Go(func() error {
			limited, cancel := context.WithTimeout(ctx, checkLimit)
			defer cancel()
			results[i] = checker.CheckToken(limited, s.URL, site.SubmissionToken(s.ID.String()))
			return nil
		})
	}
	_ = g.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for i, s := range list {
		if results[i] == nil {
			shown = append(shown, s)
			continue
		}
		logger.Info("not verified", "submission", s.ID.String(), "reason", results[i].Error())
	}
	return shown, nil
}

// confirm prints what will be approved and asks a person.
func (o *approveOptions) confirm(cmd *cobra.Command, list []inbox.Submission) error {
	if err := report.Submissions(cmd.ErrOrStderr(), list, false); err != nil {
		return err
	}
	question := fmt.Sprintf("Approve %d submissions?", len(list))
	if len(list) == 1 {
		question = "Approve this submission?"
	}
	yes, err := confirm(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), question)
	switch {
	case errors.Is(err, errNoTerminal):
		return fmt.Errorf("approve %d submissions: %w; add --yes to approve them", len(list), err)
	case err != nil:
		return err
	case !yes:
		return errors.New("nothing is approved")
	}
	return nil
}
