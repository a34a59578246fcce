package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tollbook/crawl"
	"tollbook/site/invisible"
	"tollbook/site/postgres/consent"
)

// ImportPlan prints what an import of a catalogue would change.
func ImportPlan(w io.Writer, p crawl.ImportPlan, asJSON bool) error {
	if asJSON {
		return JSON(w, p)
	}
	for _, s := range p.New {
		fmt.Fprintf(w, "+ %s %s: %s\n", s.Slug, invisible.Drop(s.BaseURL),
			invisible.Drop(strings.Join(s.Endpoints, ", ")))
	}
	for _, s := range p.Added {
		fmt.Fprintf(w, "+ %s gets %s\n", s.Slug, invisible.Drop(strings.Join(s.Endpoints, ", ")))
	}
	printRefused(w, p.OptedOut, p.Removed)
	_, err := fmt.Fprintf(w, "%d services would be listed, %d would get endpoints, %d have an address that is never "+
		"visited\n", len(p.New), len(p.Added), p.Refused)
	return err
}

// Import prints what an import from a URL changed.
func Import(w io.Writer, r crawl.ImportReport, asJSON bool) error {
	if asJSON {
		return JSON(w, map[string]any{
			"listed": r.Listed, "known": r.Existing, "endpoints": r.Endpoints, "refused": r.Refused,
			"opted_out": slices.Concat([]consent.OptOut{}, r.OptedOut),
			"removed":   slices.Concat([]crawl.RemovedSeller{}, r.Removed),
		})
	}
	printRefused(w, r.OptedOut, r.Removed)
	_, err := fmt.Fprintf(w, "%d services listed; %d were listed already and got %d new endpoints; %d have an address "+
		"that is never visited. Next: tollbook crawl visits them\n", r.Listed, r.Existing, r.Endpoints, r.Refused)
	return err
}

// printRefused prints why hosts that opted out, and services that the operator removed, are not listed.
func printRefused(w io.Writer, list []consent.OptOut, removed []crawl.RemovedSeller) {
	for _, o := range list {
		fmt.Fprintf(w, "! %s is not listed, because %s\n", o.Host, invisible.Drop(o.String()))
	}
	for _, s := range removed {
		fmt.Fprintf(w, "! %s is not listed: %s\n", invisible.Drop(s.BaseURL), invisible.Drop(s.Removed.String()))
	}
}
