package main

import (
	"fmt"
	"io"
	"strings"

	"tollbook/cmd/tollbook/report"
	"tollbook/crawl/list"
	"tollbook/site/invisible"
)

// printPlan prints what a list would change, one service after the other.
func printPlan(w io.Writer, p *list.Plan, l *listServices) error {
	for _, a := range p.Add {
		fmt.Fprintf(w, "+ %s %s: %s\n", a.Slug, invisible.Drop(a.URL), invisible.Drop(strings.Join(a.Endpoints, ", ")))
	}
	for _, c := range p.Change {
		fmt.Fprintf(w, "~ %s\n", c.Slug)
		printFields(w, c.Fields)
		for _, e := range c.Erases {
			fmt.Fprintf(w, "    erases %s\n", invisible.Drop(e))
		}
	}
	for _, r := range p.Retire {
		fmt.Fprintf(w, "- %s %s: retired, because %s lacks it\n", r.Slug, invisible.Drop(r.URL), l.Name)
	}
	for _, n := range p.Notes {
		fmt.Fprintf(w, "! %s\n", strings.TrimSpace(n.Slug+" "+invisible.Drop(n.Text)))
	}
	if p.Missing > 0 {
		fmt.Fprintf(w, "! %s listed that %s lacks; --prune retires what an earlier file listed\n",
			countAre(p.Missing), l.Name)
	}
	_, err := fmt.Fprintf(w, "%d to add, %d to change, %d to retire, %d unchanged\n", len(p.Add), len(p.Change),
		len(p.Retire), p.Unchanged)
	return err
}

func printFields(w io.Writer, fields []list.FieldChange) {
	for _, f := range fields {
		switch {
		case f.Field == "endpoint" && f.Old == "":
			fmt.Fprintf(w, "    + endpoint %s\n", invisible.Drop(f.New))
		case f.Field == "endpoint":
			fmt.Fprintf(w, "    - endpoint %s\n", invisible.Drop(f.Old))
		default:
			fmt.Fprintf(w, "    %s\n", invisible.Drop(f.String()))
		}
	}
}

func countAre(n int) string {
	if n == 1 {
		return "1 service is"
	}
	return fmt.Sprintf("%d services are", n)
}

// printApplied prints what was done. In JSON it is the plan and whether it was applied.
func printApplied(w io.Writer, p *list.Plan, o applyMode) error {
	if o.JSON {
		return report.JSON(w, struct {
			*list.Plan
			Applied bool `json:"applied"`
		}{p, !o.DryRun})
	}
	text := ""
	switch {
	case p.IsEmpty():
		text = "No change"
	case o.DryRun:
		text = "Nothing was changed, because of --dry-run"
	case len(p.Add)+len(p.Change) > 0:
		text = "Applied. Next: tollbook crawl visits the services"
	default:
		text = "Applied. Next: tollbook build publishes the directory"
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
