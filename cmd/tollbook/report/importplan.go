package report

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"tollbook/crawl"
)

// errConflicts is returned for a dry run of a file that an import would refuse.
var errConflicts = errors.New("nothing would be imported: the file conflicts with services that are listed already")

// ImportPlan prints what an import would change. A plan with conflicts is an error.
func ImportPlan(w io.Writer, p crawl.ImportPlan, asJSON bool) error {
	if err := printImportPlan(w, p, asJSON); err != nil {
		return err
	}
	if len(p.Conflicts) > 0 {
		return errConflicts
	}
	return nil
}

func printImportPlan(w io.Writer, p crawl.ImportPlan, asJSON bool) error {
	if asJSON {
		return JSON(w, p)
	}
	for _, s := range p.New {
		fmt.Fprintf(w, "+ %s %s: %s\n", s.Slug, visible(s.BaseURL), visible(strings.Join(s.Endpoints, ", ")))
	}
	for _, s := range p.Added {
		fmt.Fprintf(w, "+ %s gets %s\n", s.Slug, visible(strings.Join(s.Endpoints, ", ")))
	}
	for _, c := range p.Conflicts {
		fmt.Fprintf(w, "! %s %s is listed as %s\n", c.Slug, visible(c.BaseURL), c.Listed)
		for _, d := range c.Differences {
			fmt.Fprintf(w, "    %s\n", visible(d))
		}
	}
	_, err := fmt.Fprintf(w, "%d services would be listed, %d would get endpoints, %d are listed already, "+
		"%d have an address that is never visited\n", len(p.New), len(p.Added), len(p.Conflicts), p.Refused)
	return err
}

// Import prints what an import from a URL changed.
func Import(w io.Writer, r crawl.ImportReport, asJSON bool) error {
	if asJSON {
		return JSON(w, map[string]int{
			"listed": r.Listed, "known": r.Existing, "endpoints": r.Endpoints, "refused": r.Refused,
		})
	}
	_, err := fmt.Fprintf(w, "%d services listed; %d were listed already and got %d new endpoints; %d have an address "+
		"that is never visited. Next: tollbook crawl visits them\n", r.Listed, r.Existing, r.Endpoints, r.Refused)
	return err
}
