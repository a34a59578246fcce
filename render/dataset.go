package render

import (
	"bytes"
	"fmt"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// writeDataset writes the tables with their files, and the statements that answer questions. address returns the
// address of a path without its first slash.
func writeDataset(b *bytes.Buffer, d *site.Dataset, address func(path string) string) {
	link := func(f *site.DatasetFile) string {
		if f == nil {
			return ""
		}
		return address(strings.TrimPrefix(f.Path, "/"))
	}
	b.WriteString("\n| Table | Rows are | Parquet | CSV | Days |\n|---|---|---|---|---|\n")
	for i := range d.Tables {
		t := &d.Tables[i]
		days := ""
		if t.Days != nil {
			pattern := address(strings.TrimPrefix(t.Days.Pattern, "/"))
			days = fmt.Sprintf("%s, %s to %s", pattern, t.Days.First, t.Days.Last)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", escapeMarkdown(t.Name), display.Markdown(t.Description, display.MaxLine),
			link(t.Parquet), link(t.CSV), days)
	}
	fmt.Fprintf(b, "\nAll of them in one SQLite file: %s. Columns: %s\n", link(&d.SQLite),
		address("data/datapackage.json"))
	for i := range d.Questions {
		q := &d.Questions[i]
		fmt.Fprintf(b, "\n## %s\n\nDuckDB:\n\n    %s\n\nSQLite:\n\n    %s\n", escapeMarkdown(q.Title), indent(q.DuckDB),
			indent(q.SQLite))
	}
}

// indent returns lines of code below each other in a block of code.
func indent(code string) string { return strings.ReplaceAll(strings.TrimSpace(code), "\n", "\n    ") }
