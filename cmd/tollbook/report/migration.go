package report

import (
	"fmt"
	"io"
	"strings"

	"tollbook/site/invisible"
	"tollbook/site/postgres/migration"
)

// Migration prints the plan for a database, which is done or not.
func Migration(w io.Writer, p migration.Plan, done, asJSON bool) error {
	if asJSON {
		return JSON(w, struct {
			migration.Plan
			Done bool `json:"done"`
		}{p, done})
	}
	var b strings.Builder
	program := ""
	if p.Program != "" {
		program = " of tollbook " + invisible.Drop(p.Program)
	}
	switch {
	case len(p.Migrations) == 0:
		fmt.Fprintf(&b, "The database has schema %d%s. This program needs no other.\n", p.Schema, program)
	case p.Schema == 0 && done:
		fmt.Fprintf(&b, "The database was empty. It has schema %d now.\n", p.Newest)
	case p.Schema == 0:
		fmt.Fprintf(&b, "The database is empty or does not exist yet. It would get schema %d.\n", p.Newest)
	case done:
		fmt.Fprintf(&b, "The database had schema %d%s. It has schema %d now.\n", p.Schema, program, p.Newest)
	default:
		fmt.Fprintf(&b, "The database has schema %d%s. This program needs schema %d:\n", p.Schema, program, p.Newest)
		writeMigrations(&b, p.Migrations)
		fmt.Fprintln(&b, "Nothing is changed yet. Back up the database, then run tollbook migrate.")
		if p.InUse {
			fmt.Fprintln(&b, "Other programs of Tollbook use the database now: stop them before.")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeMigrations(b *strings.Builder, list []migration.Step) {
	for _, m := range list {
		text := strings.TrimPrefix(m.Text, "For operators:\n") // who else would read a plan
		fmt.Fprintf(b, "\n  %s\n    %s\n", m.Name, strings.ReplaceAll(text, "\n", "\n    "))
	}
	fmt.Fprintln(b)
}
