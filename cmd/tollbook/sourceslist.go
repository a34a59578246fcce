package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/crawl/pull"
	"tollbook/site"
	"tollbook/site/postgres/sources"
)

// entry is a source in the JSON of list.
type entry struct {
	Name          string     `json:"name"`
	Kind          string     `json:"kind"`
	Address       string     `json:"address"`
	Enabled       bool       `json:"enabled"`
	Configured    bool       `json:"configured"`
	Period        string     `json:"period,omitempty"`
	Take          string     `json:"take,omitempty"`
	Trust         *bool      `json:"trust"`
	Resources     int        `json:"resources"`
	Partial       bool       `json:"partial"`
	LastAttemptAt *site.Time `json:"last_attempt_at"`
	LastSuccessAt *site.Time `json:"last_success_at"`
	NextAt        *site.Time `json:"next_at"`
	Failures      int        `json:"failures"`
	Error         *string    `json:"error"`
	Held          *held      `json:"held_back"`
}

type held struct {
	ReceivedAt *site.Time `json:"received_at"`
	Resources  int        `json:"resources"`
	Before     int        `json:"resources_before"`
	Missing    *int       `json:"resources_missing"` // of those before; null for an answer of an older program
}

func newListCommand(c *settings.Configuration) *cobra.Command {
	var o dataOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sources with their last pulls",
		Long: `List prints each source: whether it is enabled, how many resources it lists, when it was read last, when
it is read next, and what is wrong with it. An answer that lacks more than half of the list is held back; "tollbook
sources accept NAME" believes it.

EXIT STATUS

0 if they are printed, 1 if the database could not be read.`,
		Example: "  tollbook sources list\n  tollbook sources list --json | jq '.[] | select(.held_back) | .name'",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var entries []entry
			err := withDatabase(cmd.Context(), o, func(db *run.Database) (err error) {
				entries, err = readEntries(cmd.Context(), db, c)
				return err
			})
			if err != nil {
				return err
			}
			return printEntries(cmd.OutOrStdout(), entries, asJSON)
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list")
	return cmd
}

func readEntries(ctx context.Context, db *run.Database, c *settings.Configuration) ([]entry, error) {
	list, err := storeSources(ctx, db, c)
	if err != nil {
		return nil, err
	}
	states, err := db.Sources.List(ctx)
	if err != nil {
		return nil, err
	}
	by := map[string]pull.Source{}
	for _, s := range list {
		by[s.Name] = s
	}
	entries := make([]entry, 0, len(states))
	for _, s := range states {
		of, ok := by[s.Name]
		if !ok && s.Accepted == nil {
			continue // it was once configured and never read
		}
		entries = append(entries, newEntry(of, ok, s))
	}
	return entries, nil
}

func newEntry(of pull.Source, isConfigured bool, s sources.State) entry {
	e := entry{
		Name: s.Name, Kind: s.Kind, Address: settings.RedactURL(s.Address), Configured: isConfigured,
		Enabled: isConfigured && pull.IsEnabled(of, s), Take: of.Take, Resources: s.Listed, Failures: s.Failures,
	}
	if isConfigured {
		e.Period, e.Trust = settings.ShortDuration(of.Period), &of.Trust
	}
	if s.Last != nil {
		e.LastAttemptAt = site.TimeOrNull(*s.Last.EndedAt)
		e.Partial = s.Last.Partial
		if s.Last.Outcome == sources.Failed {
			text := settings.RedactText(s.Last.Error)
			e.Error = &text
		}
	}
	if s.SucceededAt != nil {
		e.LastSuccessAt = site.TimeOrNull(*s.SucceededAt)
	}
	if e.Enabled && s.DueAt.Unix() > 0 {
		e.NextAt = site.TimeOrNull(s.DueAt)
	}
	if s.Held != nil {
		e.Held = &held{ReceivedAt: site.TimeOrNull(*s.Held.EndedAt), Resources: s.Held.Resources, Before: s.Listed,
			Missing: s.Held.Missing}
	}
	return e
}

func printEntries(w io.Writer, entries []entry, asJSON bool) error {
	if asJSON {
		return report.JSONList(w, entries)
	}
	t := report.NewTable(w, "NAME", "ENABLED", "RESOURCES", "LAST SUCCESS", "NEXT", "STATE")
	for _, e := range entries {
		t.Row(e.Name, yesNo(e.Enabled), e.Resources, timeOrNone(e.LastSuccessAt, "never"), timeOrNone(e.NextAt, "-"),
			e.state())
	}
	return t.Flush()
}

// state returns what is wrong with a source, else "ok" or "-".
func (e *entry) state() string {
	var parts []string
	if e.Held != nil {
		text := fmt.Sprintf("held back: %d resources instead of %d", e.Held.Resources, e.Held.Before)
		if e.Held.Missing != nil {
			text = fmt.Sprintf("held back: lacks %d of %d resources", *e.Held.Missing, e.Held.Before)
		}
		parts = append(parts, text+"; tollbook sources accept "+e.Name)
	}
	if e.Error != nil {
		times := "last pull failed"
		if e.Failures > 1 {
			times = fmt.Sprintf("last %d pulls failed", e.Failures)
		}
		parts = append(parts, times+": "+*e.Error)
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, "; ")
	case !e.Configured:
		return "no longer configured"
	case e.Partial:
		return "ok, but it hides a part of its list; it drops nothing"
	case e.LastSuccessAt != nil:
		return "ok"
	}
	return "-"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func timeOrNone(t *site.Time, none string) string {
	if t == nil {
		return none
	}
	return t.UTC().Format(time.RFC3339)
}
