// Package csvfile writes the rows of a table as CSV, compressed by gzip. Null is an empty field, a boolean is true or
// false, times are texts of ISO 8601. The package must never know what a table means.
package csvfile

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/klauspost/compress/gzip"

	"tollbook/build/data"
)

// Writer writes a file. Its bytes are a function of the table and its rows.
type Writer struct {
	table *data.Table
	zip   *gzip.Writer
	to    *csv.Writer
	line  []string
}

// NewWriter returns a writer of a table, after it wrote the line of names.
func NewWriter(w io.Writer, t *data.Table) (*Writer, error) {
	zip := gzip.NewWriter(w)
	out := &Writer{t, zip, csv.NewWriter(zip), make([]string, len(t.Columns))}
	for i, c := range t.Columns {
		out.line[i] = c.Name
	}
	if err := out.to.Write(out.line); err != nil {
		return nil, fmt.Errorf("write %s: %w", t.Name, err)
	}
	return out, nil
}

// Write writes a row.
func (w *Writer) Write(row data.Row) error {
	for i, v := range row {
		w.line[i] = Format(&w.table.Columns[i], v)
	}
	if err := w.to.Write(w.line); err != nil {
		return fmt.Errorf("write %s: %w", w.table.Name, err)
	}
	return nil
}

// Close writes the rest of the file.
func (w *Writer) Close() error {
	w.to.Flush()
	if err := errors.Join(w.to.Error(), w.zip.Close()); err != nil {
		return fmt.Errorf("write %s: %w", w.table.Name, err)
	}
	return nil
}

// Format returns a value as text.
func Format(c *data.Column, v data.Value) string {
	if v.IsNull() {
		return ""
	}
	switch c.Kind {
	case data.Integer:
		return strconv.FormatInt(v.Number(), 10)
	case data.Boolean:
		return strconv.FormatBool(v.Number() != 0)
	case data.Timestamp:
		return data.FormatTime(v.Number())
	case data.Date:
		return data.FormatDate(v.Number())
	}
	return v.Text()
}
