// Package report prints the results of commands: JSON for programs; tables, or lines of names and values, for people.
// It must never know a flag, or open a database.
package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/invisible"
)

// JSON writes v as one line of JSON. It escapes invisible characters, and not the & of URLs.
func JSON(w io.Writer, v any) error {
	line, err := encode.Line(v)
	if err == nil {
		_, err = w.Write(line)
	}
	return err
}

// JSONList writes a JSON list with one entry on each line, so that line tools can read it.
func JSONList[T any](w io.Writer, list []T) error {
	if len(list) == 0 {
		_, err := io.WriteString(w, "[]\n")
		return err
	}
	separator := "[\n"
	for _, v := range list {
		if _, err := io.WriteString(w, separator); err != nil {
			return err
		}
		var b strings.Builder
		if err := JSON(&b, v); err != nil {
			return err
		}
		if _, err := io.WriteString(w, strings.TrimSuffix(b.String(), "\n")); err != nil {
			return err
		}
		separator = ",\n"
	}
	_, err := io.WriteString(w, "\n]\n")
	return err
}

// Table writes aligned columns, without characters that a terminal would obey or hide.
type Table struct{ w *tabwriter.Writer }

// NewTable returns a table with a line of column names; without names the line is left out.
func NewTable(w io.Writer, columns ...string) *Table {
	t := &Table{tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)}
	if len(columns) > 0 {
		fmt.Fprintln(t.w, strings.Join(columns, "\t"))
	}
	return t
}

// Row adds a line. Flush returns its error.
func (t *Table) Row(values ...any) {
	for i, v := range values {
		if i > 0 {
			io.WriteString(t.w, "\t")
		}
		io.WriteString(t.w, invisible.Drop(fmt.Sprint(v)))
	}
	io.WriteString(t.w, "\n")
}

// Flush writes the table.
func (t *Table) Flush() error { return t.w.Flush() }

// orDash returns the text, or "-" without one.
func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// orNever returns the time, or "never" without one.
func orNever(t *site.Time) string {
	if t == nil {
		return "never"
	}
	return t.String()
}

// timeOrNull returns the time as JSON prints it; nil without one.
func timeOrNull(t *time.Time) *site.Time {
	if t == nil {
		return nil
	}
	return site.TimeOrNull(*t)
}
