package data_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/build/data"
	"tollbook/build/data/datatest"
)

var sameValues = cmp.AllowUnexported(data.Value{})

func writeParquet(t *testing.T, table *data.Table, rows []data.Row) []byte {
	t.Helper()
	var b bytes.Buffer
	w := data.NewParquetWriter(&b, table)
	for _, row := range rows {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readParquet(t *testing.T, table *data.Table, file []byte) (rows []data.Row) {
	t.Helper()
	f, err := data.OpenParquet(bytes.NewReader(file), int64(len(file)), table)
	if err != nil {
		t.Fatal(err)
	}
	if err := data.EachParquetRow(f, table, func(row data.Row) error {
		rows = append(rows,
			slices.Clone(row))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestParquet writes rows of every kind and reads them back. The same rows give the same bytes.
func TestParquet(t *testing.T) {
	t.Parallel()
	table := datatest.Table()
	for _, n := range []int{0, 1, data.BatchRows, data.BatchRows + 1, 3000} {
		rows := datatest.Rows(table, n)
		file := writeParquet(t, table, rows)
		if diff := cmp.Diff(rows, append([]data.Row{}, readParquet(t, table, file)...), sameValues); diff != "" {
			t.Fatalf("%d rows (-want +got):\n%.2000s", n, diff)
		}
		if !bytes.Equal(file, writeParquet(t, table, rows)) {
			t.Errorf("%d rows: the second file has other bytes", n)
		}
	}
}

// TestParquetLayout checks row groups, the order of columns, the sorting and the page index.
func TestParquetLayout(t *testing.T) {
	t.Parallel()
	table := datatest.Table()
	size := data.GroupRows(table)
	rows := datatest.Rows(table, int(size)+10)
	file := writeParquet(t, table, rows)
	f, err := data.OpenParquet(bytes.NewReader(file), int64(len(file)), table)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, field := range f.Schema().Fields() {
		names = append(names, field.Name())
	}
	var want []string
	for _, c := range table.Columns {
		want = append(want, c.Name)
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	groups := f.RowGroups()
	if len(groups) != 2 || groups[0].NumRows() != size || groups[1].NumRows() != 10 {
		t.Fatalf("%d row groups, want one of %d rows and one of 10", len(groups), size)
	}
	if s := groups[0].SortingColumns(); len(s) != 1 || s[0].Path()[0] != "name" {
		t.Errorf("sorted by %v, want name", s)
	}
	index, err := groups[1].ColumnChunks()[0].ColumnIndex()
	if err != nil {
		t.Fatal(err)
	}
	if first := index.MinValue(0).String(); first != rows[size][0].Text() {
		t.Errorf("the index says that the second group begins with %q", first)
	}
	if by := f.Metadata().CreatedBy; by != "tollbook version 1(build data)" {
		t.Errorf("created by %q: a version would change the bytes of equal rows", by)
	}
}

// TestRequiredNull checks that a null in a required column is an error.
func TestRequiredNull(t *testing.T) {
	t.Parallel()
	table := datatest.Table()
	row := slices.Clone(datatest.Rows(table, 1)[0])
	row[0] = data.Value{}
	if err := data.NewParquetWriter(&bytes.Buffer{}, table).Write(row); err == nil {
		t.Error("no error")
	}
}

// TestDropParquetRows checks that a file without the rows of some names equals one that never had them.
func TestDropParquetRows(t *testing.T) {
	t.Parallel()
	table := datatest.Table()
	rows := datatest.Rows(table, 1000)
	file := writeParquet(t, table, rows)
	var b bytes.Buffer
	gone := map[string]bool{"row-0000500": true, "row-0000999": true}
	changed, err := data.DropParquetRows(bytes.NewReader(file), int64(len(file)), &b, table, "name", gone)
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	want := slices.DeleteFunc(slices.Clone(rows), func(r data.Row) bool { return gone[r[0].Text()] })
	if !bytes.Equal(writeParquet(t, table, want), b.Bytes()) {
		t.Errorf("the file differs from one without the rows")
	}
	b.Reset()
	changed, err = data.DropParquetRows(bytes.NewReader(file), int64(len(file)), &b, table, "name",
		map[string]bool{"other": true})
	if err != nil || changed || b.Len() > 0 {
		t.Errorf("without such a row: changed %v, %d bytes, error %v", changed, b.Len(), err)
	}
	if _, err := data.DropParquetRows(bytes.NewReader(file[:100]), 100, &b, table, "name", gone); err == nil {
		t.Error("a cut file: no error")
	}
}

// TestParquetOfAnotherVersion reads files that were written before columns were added, and rewrites them with the
// columns that they have. A file with a column that is not known yet is an error that names it.
func TestParquetOfAnotherVersion(t *testing.T) {
	t.Parallel()
	now := datatest.Table()
	rows := datatest.Rows(now, 1000)
	added := slices.IndexFunc(now.Columns, func(c data.Column) bool { return !c.Required }) // in the middle
	before := *now
	before.Columns = slices.Delete(slices.Clone(now.Columns), added, added+1)
	var want, fewer []data.Row
	for _, r := range rows {
		lacks := slices.Clone(r)
		lacks[added] = data.Value{}
		want, fewer = append(want, lacks), append(fewer, slices.Delete(slices.Clone(r), added, added+1))
	}
	file := writeParquet(t, &before, fewer)
	if diff := cmp.Diff(want, readParquet(t, now, file), sameValues); diff != "" {
		t.Errorf("rows of an older file (-want +got):\n%.2000s", diff)
	}
	var b bytes.Buffer
	gone := map[string]bool{rows[500][0].Text(): true}
	changed, err := data.DropParquetRows(bytes.NewReader(file), int64(len(file)), &b, now, "name", gone)
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	if !bytes.Equal(writeParquet(t, &before, slices.Delete(slices.Clone(fewer), 500, 501)), b.Bytes()) {
		t.Error("the rewritten file differs from an older one without the row")
	}
	file = writeParquet(t, now, rows)
	_, err = data.OpenParquet(bytes.NewReader(file), int64(len(file)), &before)
	if name := now.Columns[added].Name; err == nil || !strings.Contains(err.Error(), "column "+name) {
		t.Errorf("a file of a newer version: %v", err)
	}
	required := *now
	required.Columns = slices.Clone(now.Columns)
	required.Columns[added].Required = true
	file = writeParquet(t, &before, fewer)
	f, err := data.OpenParquet(bytes.NewReader(file), int64(len(file)), &required)
	if err != nil {
		t.Fatal(err)
	}
	if err := data.EachParquetRow(f, &required, func(data.Row) error { return nil }); err == nil {
		t.Error("a required column that the file lacks: no error")
	}
}
