package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"tollbook/crawl"
)

// orDash returns the text, or "-" without one.
func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// errConflicts is a dry run of a file that would be refused.
var errConflicts = errors.New("nothing would be imported: what is listed already refuses the file")

// printImportPlan prints the plan; one with conflicts is an error.
func printImportPlan(p crawl.ImportPlan, stdout io.Writer, asJSON bool) error {
	if asJSON {
		if err := printJSON(stdout, p); err != nil {
			return err
		}
	} else {
		for _, s := range p.New {
			fmt.Fprintf(stdout, "+ %s %s: %s\n", s.Slug, seen(s.BaseURL), seen(strings.Join(s.Endpoints, ", ")))
		}
		for _, s := range p.Added {
			fmt.Fprintf(stdout, "+ %s gets %s\n", s.Slug, seen(strings.Join(s.Endpoints, ", ")))
		}
		for _, c := range p.Conflicts {
			fmt.Fprintf(stdout, "! %s %s is listed as %s\n", c.Slug, seen(c.BaseURL), c.Listed)
			for _, d := range c.Differences {
				fmt.Fprintf(stdout, "    %s\n", seen(d))
			}
		}
		if _, err := fmt.Fprintf(stdout, "%d services would be listed, %d get endpoints, %d are listed already, %d at addresses that are not visited\n",
			len(p.New), len(p.Added), len(p.Conflicts), p.Refused); err != nil {
			return err
		}
	}
	if len(p.Conflicts) > 0 {
		return errConflicts
	}
	return nil
}
