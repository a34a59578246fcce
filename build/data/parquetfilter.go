package data

import (
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// OpenParquet opens a file of a table. A file that an older version wrote may lack columns; it has no others.
func OpenParquet(r io.ReaderAt, size int64, t *Table) (*parquet.File, error) {
	f, err := parquet.OpenFile(r, size)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.Name, err)
	}
	for _, field := range f.Schema().Fields() {
		if t.Place(field.Name()) < 0 {
			return nil, fmt.Errorf("read %s: it has a column %s, which this version does not know; use the version that "+
				"wrote the file, or a newer one", t.Name, field.Name())
		}
	}
	return f, nil
}

// columnsOf returns the table with the columns that a file of it has.
func columnsOf(f *parquet.File, t *Table) *Table {
	has := *t
	has.Columns = nil
	for _, field := range f.Schema().Fields() {
		has.Columns = append(has.Columns, t.Columns[t.Place(field.Name())])
	}
	return &has
}

// EachParquetRow calls do with each row of a file. The row is valid until do returns. Columns that the file lacks are
// null.
func EachParquetRow(f *parquet.File, t *Table, do func(Row) error) error {
	has := columnsOf(f, t)
	for _, c := range t.Columns {
		if c.Required && has.Place(c.Name) < 0 {
			return fmt.Errorf("read %s: the file lacks the column %s; an older version wrote it", t.Name, c.Name)
		}
	}
	places := make([]int, len(has.Columns))
	for i, c := range has.Columns {
		places[i] = t.Place(c.Name)
	}
	row, buffer := make(Row, len(t.Columns)), make([]parquet.Row, batchRows)
	for _, group := range f.RowGroups() {
		if err := eachOfGroup(group, has, places, row, buffer, do); err != nil {
			return fmt.Errorf("read %s: %w", t.Name, err)
		}
	}
	return nil
}

// eachOfGroup calls do with each row of a group. places are those of the file's columns in the row.
func eachOfGroup(group parquet.RowGroup, has *Table, places []int, row Row, buffer []parquet.Row,
	do func(Row) error) error {
	from := group.Rows()
	defer from.Close()
	for {
		n, err := from.ReadRows(buffer)
		for _, values := range buffer[:n] {
			for i, place := range places {
				row[place] = readParquetValue(&has.Columns[i], values[i])
			}
			if err := do(row); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readParquetValue is the reverse of newParquetValue.
func readParquetValue(c *Column, v parquet.Value) Value {
	if v.IsNull() {
		return Value{}
	}
	switch c.Kind {
	case Integer, Timestamp:
		return NewNumber(v.Int64())
	case Boolean:
		if v.Boolean() {
			return NewNumber(1)
		}
		return NewNumber(0)
	case Date:
		return NewNumber(int64(v.Int32()))
	case Decimal:
		return NewText(readDecimal(v.ByteArray(), c.Scale))
	case JSON:
		return NewJSON(slices.Clone(v.ByteArray()))
	}
	return NewText(string(v.ByteArray()))
}

// DropParquetRows writes a file again without the rows whose value of a column is among some, and reports whether it
// has such rows. Without them it writes nothing. The file keeps the columns that it has.
func DropParquetRows(old io.ReaderAt, size int64, w io.Writer, t *Table, column string, values map[string]bool) (bool,
	error) {
	f, err := OpenParquet(old, size, t)
	if err != nil {
		return false, err
	}
	t = columnsOf(f, t)
	place := t.Place(column)
	if place < 0 {
		return false, fmt.Errorf("read %s: the file lacks the column %s", t.Name, column)
	}
	has, err := hasValue(f, place, values)
	if err != nil || !has {
		return false, err
	}
	to := NewParquetWriter(w, t)
	err = EachParquetRow(f, t, func(row Row) error {
		if values[row[place].Text()] {
			return nil
		}
		return to.Write(row)
	})
	return true, errors.Join(err, to.Close())
}

// hasValue reports whether a column of texts has one of some values. It reads no other column.
func hasValue(f *parquet.File, place int, values map[string]bool) (bool, error) {
	buffer := make([]parquet.Value, batchRows)
	for _, group := range f.RowGroups() {
		has, err := chunkHas(group.ColumnChunks()[place], values, buffer)
		if has || err != nil {
			return has, err
		}
	}
	return false, nil
}

func chunkHas(chunk parquet.ColumnChunk, values map[string]bool, buffer []parquet.Value) (bool, error) {
	pages := chunk.Pages()
	defer pages.Close()
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		has, err := pageHas(page, values, buffer)
		parquet.Release(page)
		if has || err != nil {
			return has, err
		}
	}
}

func pageHas(page parquet.Page, values map[string]bool, buffer []parquet.Value) (bool, error) {
	from := page.Values()
	for {
		n, err := from.ReadValues(buffer)
		for _, v := range buffer[:n] {
			if !v.IsNull() && values[string(v.ByteArray())] {
				return true, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// readDecimal is the reverse of putDecimal.
func readDecimal(b []byte, scale int) string {
	digits := new(big.Int).SetBytes(b).String()
	if scale == 0 {
		return digits
	}
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	whole, frac := digits[:len(digits)-scale], strings.TrimRight(digits[len(digits)-scale:], "0")
	if frac == "" {
		return whole
	}
	return whole + "." + frac
}
