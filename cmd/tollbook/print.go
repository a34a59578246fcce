package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// Answers go to stdout in one of three forms: JSON for programs, a table, or lines of names and values.

// printJSON writes v as one line of JSON. Addresses keep their &.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printLines writes a JSON list with one entry on each line, for those who read with line tools.
func printLines[T any](w io.Writer, list []T) error {
	if len(list) == 0 {
		_, err := io.WriteString(w, "[]\n")
		return err
	}
	before := "[\n"
	for _, v := range list {
		if _, err := io.WriteString(w, before); err != nil {
			return err
		}
		var b strings.Builder
		if err := printJSON(&b, v); err != nil {
			return err
		}
		if _, err := io.WriteString(w, strings.TrimSuffix(b.String(), "\n")); err != nil {
			return err
		}
		before = ",\n"
	}
	_, err := io.WriteString(w, "\n]\n")
	return err
}

// table aligns columns. Whatever a stranger wrote is shown without what is not seen.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer, columns ...string) *table {
	t := &table{tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)}
	if len(columns) > 0 {
		fmt.Fprintln(t.w, strings.Join(columns, "\t"))
	}
	return t
}

// row adds a line; errors are those of flush.
func (t *table) row(values ...any) {
	for i, v := range values {
		if i > 0 {
			io.WriteString(t.w, "\t")
		}
		io.WriteString(t.w, seen(fmt.Sprint(v)))
	}
	io.WriteString(t.w, "\n")
}

func (t *table) flush() error { return t.w.Flush() }

// seen is a stranger's text without what a terminal would obey or hide.
func seen(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
}
