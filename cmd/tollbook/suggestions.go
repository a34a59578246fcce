package main

import (
	"context"
	"io"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/site"
)

// newSuggestions returns the command suggestions with its subcommands.
func newSuggestions() *cobra.Command {
	return newGroup(&cobra.Command{
		Use:   "suggestions",
		Short: "Read what readers suggest",
		Long: `Suggestions shows what readers sent to POST /v1/suggestions of "tollbook serve --serve-submissions". No
suggestion is ever published.` + groupStatus,
	}, newSuggestionsList(), newSuggestionsShow(), newSuggestionsClose())
}

func newSuggestionsList() *cobra.Command {
	return newList(&cobra.Command{
		Short: "List open suggestions",
		Long: `List prints the open suggestions, the oldest first: as a table with the beginning of each text, or as
JSON with whole texts. It prints no e-mail address; "tollbook suggestions show" does.

EXIT STATUS

0 if they are printed, 1 if the database could not be read.`,
		Example: "  tollbook suggestions list\n  tollbook suggestions list --state all --json",
	}, "suggestion", []string{site.SuggestionOpen, site.SuggestionClosed},
		func(ctx context.Context, db *run.Database, state string, stdout io.Writer, asJSON bool) error {
			list, err := db.Suggestions(ctx, state)
			if err != nil {
				return err
			}
			return report.Suggestions(stdout, list, asJSON)
		})
}

func newSuggestionsShow() *cobra.Command {
	return newShow(&cobra.Command{
		Short: "Show a suggestion with its e-mail address",
		Long: `Show prints everything about one suggestion: its whole text, the e-mail address for an answer, and who
closed it when.

EXIT STATUS

0 if it is printed, 1 if there is no suggestion with this id.`,
		Example: "  tollbook suggestions show 018f3c1e-7b2a-7cc3-9d51-3f6a1e0b4c55",
	}, "suggestion", func(ctx context.Context, db *run.Database, id uuid.UUID, stdout io.Writer, asJSON bool) error {
		s, err := db.Suggestion(ctx, id)
		if err != nil {
			return err
		}
		r := report.NewSuggestion(&s)
		return r.Print(stdout, asJSON)
	})
}

func newSuggestionsClose() *cobra.Command {
	var o decideOptions
	return newDecide(&cobra.Command{
		Use:   "close ID...",
		Short: "Close suggestions that need no more work",
		Long: `Close closes suggestions. They stay stored, and "tollbook suggestions list --state closed" lists them.
Each suggestion is closed on its own. If one fails, the others are still closed.

EXIT STATUS

0 if all are closed, 1 if a suggestion was closed before.`,
		Example: "  tollbook suggestions close 018f3c1e-7b2a-7cc3-9d51-3f6a1e0b4c55",
	}, "suggestion", &o, o.Validate, func(ctx context.Context, db *run.Database, id uuid.UUID) (report.Decision, error) {
		err := db.CloseSuggestion(ctx, id, o.As, run.Now())
		return report.Decision{State: site.SuggestionClosed}, err
	})
}
