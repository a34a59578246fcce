package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/inbox"
)

// A command on what strangers sent has texts of its own; what it does is the same for submissions and suggestions. kind
// is "submission" or "suggestion".

// newList makes cmd a command that prints the messages of a kind in one of these states, by default the first, or in
// any.
func newList(cmd *cobra.Command, kind string, states []string,
	list func(ctx context.Context, db *run.Database, state string, stdout io.Writer, asJSON bool) error) *cobra.Command {
	const all = "all"
	var o dataOptions
	var state string
	var asJSON bool
	choices := strings.Join(states, ", ") + " or " + all
	cmd.Use, cmd.Args = "list", arguments()
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if state != all && !slices.Contains(states, state) {
			return terminal.UsageErrorf("--state %q: use %s", state, choices)
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return withDatabase(cmd.Context(), o, func(db *run.Database) error {
			return list(cmd.Context(), db, strings.TrimPrefix(state, all), cmd.OutOrStdout(), asJSON)
		})
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&state, "state", states[0], fmt.Sprintf("`state` of the %ss: %s", kind, choices))
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list")
	return cmd
}

// newShow makes cmd a command that prints everything about one message of a kind.
func newShow(cmd *cobra.Command, kind string,
	show func(ctx context.Context, db *run.Database, id uuid.UUID, stdout io.Writer, asJSON bool) error) *cobra.Command {
	var o dataOptions
	var asJSON bool
	cmd.Use, cmd.Args = "show ID", arguments("ID")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseID(kind, args[0])
		if err != nil {
			return err
		}
		return withDatabase(cmd.Context(), o, func(db *run.Database) error {
			return explainDecision(show(cmd.Context(), db, id, cmd.OutOrStdout(), asJSON), kind, id)
		})
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newDecide makes cmd a command that decides about each of some messages of a kind.
func newDecide(cmd *cobra.Command, kind string, o *decideOptions, validate func() error,
	decide func(ctx context.Context, db *run.Database, id uuid.UUID) (report.Decision, error)) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		return arguments("ID")(cmd, args[:min(len(args), 1)])
	}
	cmd.PreRunE = func(*cobra.Command, []string) error { return validate() }
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return o.withDatabase(cmd.Context(), kind, args, func(db *run.Database, ids []uuid.UUID) error {
			return o.decide(cmd.Context(), kind, ids, cmd.OutOrStdout(), func(id uuid.UUID) (report.Decision, error) {
				return decide(cmd.Context(), db, id)
			})
		})
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// decideOptions are the flags of the commands that decide.
type decideOptions struct {
	dataOptions
	actorOptions
	JSON bool
}

// AddFlags adds the flags that all commands that decide share.
func (o *decideOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.actorOptions.AddFlags(f)
	f.BoolVar(&o.JSON, "json", false, "print the result as JSON: an object for one ID, else a list")
}

// withDatabase opens the database for do, which gets the parsed ids of submissions or suggestions, each once.
func (o *decideOptions) withDatabase(
	ctx context.Context, what string, args []string, do func(*run.Database, []uuid.UUID) error,
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
	return withDatabase(ctx, o.dataOptions, func(db *run.Database) error {
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
		err = explainDecision(err, what, id)
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

// parseID returns the id of a submission or a suggestion.
func parseID(kind, s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil || id.String() != s {
		return id, terminal.UsageErrorf("%q is no id of a %s; tollbook %ss list shows the ids", s, kind, kind)
	}
	return id, nil
}

// explainDecision returns the error of a command on a submission or a suggestion with what to do about it.
func explainDecision(err error, kind string, id uuid.UUID) error {
	var decided *inbox.DecidedError
	switch {
	case errors.As(err, &decided) && decided.State == site.SuggestionClosed:
		return fmt.Errorf("%s %s is closed already: %w", kind, id, decided)
	case errors.As(err, &decided):
		return fmt.Errorf("%s %s is decided already: %w", kind, id, decided)
	case errors.Is(err, site.ErrNotFound):
		return fmt.Errorf("no %s has the id %s; tollbook %ss list shows the ids", kind, id, kind)
	case errors.Is(err, postgres.ErrListed):
		return fmt.Errorf("submission %s: its address is listed already; reject it", id)
	}
	return err
}
