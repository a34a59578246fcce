package report

import (
	"fmt"
	"io"
	"strings"

	"tollbook/crawl"
	"tollbook/site/postgres/ledger"
)

// Facilitators prints facilitators: a table, or JSON with each account, in the format that an import reads.
func Facilitators(w io.Writer, list []ledger.Facilitator, asJSON bool) error {
	if asJSON {
		entries := make([]crawl.FacilitatorEntry, len(list))
		for i, f := range list {
			entries[i] = crawl.NewFacilitatorEntry(f)
		}
		return JSONList(w, entries)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "No facilitators are stored. Add those that come with Tollbook: "+
			"tollbook facilitators import")
		return err
	}
	t := NewTable(w, "ID", "STATUS", "TRUSTED", "ACCOUNTS", "NAME", "WEBSITE")
	for _, f := range list {
		trusted := "no"
		if f.Trusted {
			trusted = "yes"
		}
		t.Row(f.ID, f.UpstreamStatus, trusted, len(f.Settlers), f.Name, f.WebsiteURL)
	}
	return t.Flush()
}

// FacilitatorImport prints what an import of facilitators changed.
func FacilitatorImport(w io.Writer, r ledger.ImportReport, asJSON bool) error {
	if asJSON {
		return JSON(w, map[string]any{
			"added": orEmpty(r.Added), "changed": orEmpty(r.Changed), "left": orEmpty(r.Left),
			"accounts_added": r.SettlersAdded, "accounts_removed": r.SettlersRemoved, "others": r.Others,
		})
	}
	fmt.Fprintf(w, "%d added%s\n%d changed%s\n%d unchanged\n", len(r.Added), names(r.Added), len(r.Changed),
		names(r.Changed), len(r.Left))
	_, err := fmt.Fprintf(w, "%d accounts added, %d removed; %d facilitators are not in this list and stay\n",
		r.SettlersAdded, r.SettlersRemoved, r.Others)
	return err
}

// names returns ids behind a colon, or "" without any.
func names(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ": " + strings.Join(ids, " ")
}

// orEmpty returns a list that JSON prints as [], never as null.
func orEmpty(list []string) []string { return append([]string{}, list...) }
