package data

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/klauspost/compress/gzip"

	"tollbook/site/encode"
)

// CSVWriter writes the rows of a table as CSV, compressed by gzip. Null is an empty field, a boolean is true or false,
// times are texts of ISO 8601, other texts are what encode.Cell returns. The bytes are a function of the table and its rows.
type CSVWriter struct {
	table *Table
	zip   *gzip.Writer
	to    *csv.Writer
	line  []string
}

// NewCSVWriter returns a writer of a table, after it wrote the line of names.
func NewCSVWriter(w io.Writer, t *Table) (*CSVWriter, error) {
	zip := gzip.NewWriter(w)
	out := &CSVWriter{t, zip, csv.NewWriter(zip), make([]string, len(t.Columns))}
	for i, c := range t.Columns {
		out.line[i] = c.Name
	}
	if err := out.to.Write(out.line); err != nil {
		return nil, fmt.Errorf("write %s: %w", t.Name, err)
	}
	return out, nil
}

// Write writes a row.
func (w *CSVWriter) Write(row Row) error {
	for i, v := range row {
		w.line[i] = FormatCSV(&w.table.Columns[i], v)
	}
	if err := w.to.Write(w.line); err != nil {
		return fmt.Errorf("write %s: %w", w.table.Name, err)
	}
	return nil
}

// Close writes the rest of the file.
func (w *CSVWriter) Close() error {
	w.to.Flush()
	if err := errors.Join(w.to.Error(), w.zip.Close()); err != nil {
		return fmt.Errorf("write %s: %w", w.table.Name, err)
	}
	return nil
}

// FormatCSV returns a value as text.
func FormatCSV(c *Column, v Value) string {
	if v.IsNull() {
		return ""
	}
	switch c.Kind {
	case Integer:
		return strconv.FormatInt(v.Number(), 10)
	case Boolean:
		return strconv.FormatBool(v.Number() != 0)
	case Timestamp:
		return FormatTime(v.Number())
	case Date:
		return FormatDate(v.Number())
	case Text:
		return encode.Cell(v.Text())
	}
	return v.Text()
}
