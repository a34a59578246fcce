package decisions

import (
	"context"
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
	"tollbook/site/postgres/suggestions"
)

// NewSuggestions returns the command suggestions with its subcommands.
func NewSuggestions() *cobra.Command {
	return cli.NewGroup(&cobra.Command{
		Use:   "suggestions",
		Short: "Read what readers suggest",
		Long: `Suggestions shows what readers sent to POST /v1/suggestions of "tollbook serve --serve-submissions". No
suggestion is ever published.` + cli.GroupStatus,
	}, newSuggestionsList(), newSuggestionsShow(), newSuggestionsClose())
}

func newSuggestionsList() *cobra.Command {
	var o reviewOptions
	states := []string{site.SuggestionOpen, site.SuggestionClosed, allStates}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List open suggestions",
		Long: `List prints the open suggestions, the oldest first: as a table with the beginning of each text, or as
JSON with whole texts. It prints no e-mail address; "tollbook suggestions show" does.

EXIT STATUS

0 if they are printed, 1 if the database could not be read.`,
		Example: "  tollbook suggestions list\n  tollbook suggestions list --state all --json",
		Args:    cli.Arguments(),
		PreRunE: func(*cobra.Command, []string) error {
			if !slices.Contains(states, o.State) {
				return usage.Errorf("--state %q: use open, closed or all", o.State)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSuggestionsList(cmd.Context(), o, cmd.OutOrStdout())
		},
	}
	o.DataOptions.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.State, "state", site.SuggestionOpen, "`state` of the suggestions: open, closed or all")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print a JSON list")
	return cmd
}

func runSuggestionsList(ctx context.Context, o reviewOptions, stdout io.Writer) error {
	state := o.State
	if state == allStates {
		state = ""
	}
	var list []suggestions.Suggestion
	err := cli.WithDatabase(ctx, o.DataOptions, func(db *database.DB) (err error) {
		list, err = db.Suggestions.List(ctx, state)
		return err
	})
	if err != nil {
		return err
	}
	return report.Suggestions(stdout, list, o.JSON)
}

func newSuggestionsShow() *cobra.Command {
	var o reviewOptions
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a suggestion with its e-mail address",
		Long: `Show prints everything about one suggestion: its whole text, the e-mail address for an answer, and who
closed it when.

EXIT STATUS

0 if it is printed, 1 if there is no suggestion with this id.`,
		Example: "  tollbook suggestions show 018f3c1e-7b2a-7cc3-9d51-3f6a1e0b4c55",
		Args:    cli.Arguments("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSuggestionsShow(cmd.Context(), o, args[0], cmd.OutOrStdout())
		},
	}
	o.DataOptions.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	return cmd
}

func runSuggestionsShow(ctx context.Context, o reviewOptions, id string, stdout io.Writer) error {
	key, err := parseID("suggestion", id)
	if err != nil {
		return err
	}
	var s suggestions.Suggestion
	err = cli.WithDatabase(ctx, o.DataOptions, func(db *database.DB) (err error) {
		s, err = db.Suggestions.One(ctx, key)
		return explainReview(err, id)
	})
	if err != nil {
		return err
	}
	r := report.NewSuggestion(&s)
	return r.Print(stdout, o.JSON)
}

func newSuggestionsClose() *cobra.Command {
	var o decideOptions
	cmd := &cobra.Command{
		Use:   "close ID...",
		Short: "Close suggestions that need no more work",
		Long: `Close closes suggestions. They stay stored, and "tollbook suggestions list --state closed" lists them.
Each suggestion is closed on its own. If one fails, the others are still closed.

EXIT STATUS

0 if all are closed, 1 if a suggestion was closed before.`,
		Example: "  tollbook suggestions close 018f3c1e-7b2a-7cc3-9d51-3f6a1e0b4c55",
		Args: func(cmd *cobra.Command, args []string) error {
			return cli.Arguments("ID")(cmd, args[:min(len(args), 1)])
		},
		PreRunE: func(*cobra.Command, []string) error { return o.Validate() },
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withDatabase(cmd.Context(), "suggestion", args, func(db *database.DB, ids []uuid.UUID) error {
				one := func(id uuid.UUID) (report.Decision, error) {
					err := db.Suggestions.Close(cmd.Context(), id, o.As, time.Now())
					return report.Decision{State: site.SuggestionClosed}, err
				}
				return o.decide(cmd.Context(), "suggestion", ids, cmd.OutOrStdout(), one)
			})
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}
