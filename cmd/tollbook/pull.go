package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl/pull"
	"tollbook/site/postgres/sources"
)

// printPulls prints the results of pulls.
func printPulls(w io.Writer, list []pull.Report, asJSON bool) error {
	for i := range list {
		list[i].Error = settings.RedactText(list[i].Error)
	}
	if asJSON {
		return report.JSONList(w, list)
	}
	t := report.NewTable(w, "SOURCE", "OUTCOME", "RESOURCES", "NEW", "MERGED", "DROPPED", "SERVICES", "ENDPOINTS",
		"ERROR")
	for _, r := range list {
		if r.Outcome == sources.Failed { // the figures are unknown
			t.Row(r.Source, r.Outcome, "-", "-", "-", "-", "-", "-", orDash(r.Error))
			continue
		}
		t.Row(r.Source, r.Outcome, r.Rows, r.New, r.Merged, r.Dropped, fmt.Sprintf("+%d", r.Services),
			fmt.Sprintf("+%d", r.Endpoints), orDash(r.Error))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range list {
		if r.Skipped > 0 {
			fmt.Fprintf(w, "Entries of %s that name no service: %s\n", r.Source, r.Reasons)
		}
		if r.Outcome == sources.Held {
			fmt.Fprintf(w,
				"The answer of %s is held back, because it lacks more than half of the list. Nothing is dropped. "+
					"If it is right: tollbook sources accept %[1]s\n", r.Source)
		}
	}
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// errFailed is returned if a source could not be read.
var errFailed = errors.New("a source could not be read; nothing that it listed was dropped")

// runSources pulls a source, or with "" all enabled ones, and prints the results.
func runSources(ctx context.Context, db *run.Database, c *settings.Configuration, v pull.Visitor, name string,
	o pull.Options, asJSON bool, w io.Writer) error {
	list, err := storeSources(ctx, db, c)
	if err != nil {
		return err
	}
	names := []string{name}
	if name == "" {
		if names, err = enabled(ctx, db, list); err != nil {
			return err
		}
		if len(names) == 0 {
			return terminal.UsageErrorf("no source is enabled: tollbook sources list shows those that come with Tollbook, " +
				"tollbook sources enable NAME turns one on, and a [[source]] in tollbook.toml adds another")
		}
	}
	o.Sources = list
	p := pull.New(db.Sources, v, o)
	reports := []pull.Report{}
	failed := false
	for _, name := range names {
		r, err := p.Pull(ctx, name)
		if errors.Is(err, sources.ErrUnknown) {
			return errNoSource(name, list)
		}
		if err != nil {
			return fmt.Errorf("pull %s: %w", name, err)
		}
		reports = append(reports, r)
		failed = failed || r.Outcome == sources.Failed
	}
	if err := printPulls(w, reports, asJSON); err != nil {
		return err
	}
	if failed {
		return errFailed
	}
	return nil
}

func enabled(ctx context.Context, db *run.Database, list []pull.Source) (names []string, err error) {
	states, err := db.Sources.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range states {
		for _, of := range list {
			if of.Name == s.Name && pull.IsEnabled(of, s) {
				names = append(names, s.Name)
			}
		}
	}
	return names, nil
}
