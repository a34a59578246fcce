package data

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const (
	groupValues   = 100_000  // of a row group, which is in memory until it is full; a value takes about 56 bytes
	pageBytes     = 64 << 10 // of a column, before compression
	dictionaryMax = 64 << 10 // bytes of a column's dictionary; further values are written as they are
	batchRows     = 128      // rows that are given to the library at once
)

// parquetCodec compresses pages. All files share it, because it keeps encoders of some megabytes.
var parquetCodec = &zstd.Codec{Level: zstd.SpeedDefault, Concurrency: 1}

// groupRows returns the number of rows of a row group.
func groupRows(t *Table) int64 { return int64(groupValues / len(t.Columns)) }

// ParquetWriter writes the rows of a table as a Parquet file. Its bytes are a function of the table and its rows. Row
// groups are small and have statistics and a page index, so that a reader of ranges fetches only what a query needs.
type ParquetWriter struct {
	table  *Table
	to     *parquet.GenericWriter[any]
	rows   []parquet.Row
	values []parquet.Value
	digits [][decimalBytes]byte
	n      int   // rows of the batch
	count  int64 // rows ever
}

// NewParquetWriter returns a writer of a table.
func NewParquetWriter(w io.Writer, t *Table) *ParquetWriter {
	options := []parquet.WriterOption{
		newParquetSchema(t), parquet.CreatedBy("tollbook", "1", "data"), // no version that changes the bytes of equal rows
		parquet.Compression(parquetCodec),
		parquet.MaxRowsPerRowGroup(groupRows(t)), parquet.PageBufferSize(pageBytes), parquet.DataPageStatistics(true),
		parquet.DictionaryMaxBytes(dictionaryMax),
	}
	if len(t.Sort) > 0 {
		var columns []parquet.SortingColumn
		for _, name := range t.Sort {
			columns = append(columns, parquet.Ascending(name))
		}
		options = append(options, parquet.SortingWriterConfig(parquet.SortingColumns(columns...)))
	}
	n := len(t.Columns)
	out := &ParquetWriter{table: t, to: parquet.NewGenericWriter[any](w, options...),
		rows: make([]parquet.Row, batchRows), values: make([]parquet.Value, batchRows*n),
		digits: make([][decimalBytes]byte, batchRows*n)}
	for i := range out.rows {
		out.rows[i] = out.values[i*n : (i+1)*n : (i+1)*n]
	}
	return out
}

// Write writes a row.
func (w *ParquetWriter) Write(row Row) error {
	first := w.n * len(row)
	for i, v := range row {
		c := &w.table.Columns[i]
		switch {
		case v.IsNull() && c.Required:
			return fmt.Errorf("write %s: %s is null in row %d", w.table.Name, c.Name, w.count)
		case v.IsNull():
			w.values[first+i] = parquet.NullValue().Level(0, 0, i)
		case c.Required:
			w.values[first+i] = newParquetValue(c, v, &w.digits[first+i]).Level(0, 0, i)
		default:
			w.values[first+i] = newParquetValue(c, v, &w.digits[first+i]).Level(0, 1, i)
		}
	}
	w.n++
	w.count++
	if w.n == batchRows {
		return w.flush()
	}
	return nil
}

// flush gives the batch to the library.
func (w *ParquetWriter) flush() error {
	_, err := w.to.WriteRows(w.rows[:w.n])
	w.n = 0
	if err != nil {
		return fmt.Errorf("write %s: %w", w.table.Name, err)
	}
	return nil
}

// Rows returns the number of rows so far.
func (w *ParquetWriter) Rows() int64 { return w.count }

// Close writes the rest of the file.
func (w *ParquetWriter) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.to.Close(); err != nil {
		return fmt.Errorf("write %s: %w", w.table.Name, err)
	}
	return nil
}
