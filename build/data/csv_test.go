package data_test

import (
	"bytes"
	"encoding/csv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"tollbook/build/data"
	"tollbook/build/data/datatest"
)

func writeCSV(t *testing.T) []byte {
	t.Helper()
	table := datatest.Table()
	var b bytes.Buffer
	w, err := data.NewCSVWriter(&b, table)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range datatest.Rows(table, 9) {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCSV reads a file back, and checks that the same rows give the same bytes.
func TestCSV(t *testing.T) {
	t.Parallel()
	file := writeCSV(t)
	zip, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(zip).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	table := datatest.Table()
	if len(lines) != 10 || lines[0][0] != "name" || lines[0][len(lines[0])-1] != "maybe_day" {
		t.Fatalf("%d lines, the first is %q", len(lines), lines[0])
	}
	for i, row := range datatest.Rows(table, 9) {
		var want []string
		for k, v := range row {
			want = append(want, data.FormatCSV(&table.Columns[k], v))
		}
		if diff := cmp.Diff(want, lines[i+1]); diff != "" {
			t.Errorf("line %d (-want +got):\n%s", i+1, diff)
		}
	}
	if !bytes.Equal(file, writeCSV(t)) {
		t.Error("the second file has other bytes")
	}
}
