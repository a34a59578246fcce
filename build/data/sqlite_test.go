package data_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/build/data"
	"tollbook/build/data/datatest"
)

func writeSQLite(t *testing.T, tables []*data.Table, rows []data.Row, statements []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a folder#1", "x y%20?.sqlite")
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := data.CreateSQLite(t.Context(), path, tables)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if err := f.Appender(tables[0]).Write(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSQLite checks types, values and nulls, and that the same rows give the same bytes.
func TestSQLite(t *testing.T) {
	t.Parallel()
	table := datatest.Table()
	rows := datatest.Rows(table, 100) // no multiple of insertRows
	path := writeSQLite(t, []*data.Table{table}, rows, nil)
	db, err := data.OpenSQLite(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var got [8]string
	err = db.QueryRowContext(t.Context(), `SELECT count(*), count(maybe_usd), max(count), sum(good),
		(SELECT group_concat(DISTINCT typeof(amount)) FROM (SELECT amount FROM mixed ORDER BY name)),
		(SELECT amount FROM mixed WHERE name = 'row-0000004'),
		(SELECT usd FROM mixed WHERE name = 'row-0000003'), (SELECT at || ' ' || day FROM mixed WHERE name =
'row-0000001')
		FROM mixed`).Scan(&got[0], &got[1], &got[2], &got[3], &got[4], &got[5], &got[6], &got[7])
	if err != nil {
		t.Fatal(err)
	}
	want := [8]string{"100", "67", "9223372036854775807", "50", "integer,text",
		"99999999999999999999999999999999999999",
		"99999999999999999999.999999999999999999", "2026-11-20T12:30:01.000Z 2026-11-19"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	a, errA := os.ReadFile(path)
	b, errB := os.ReadFile(writeSQLite(t, []*data.Table{table}, rows, nil))
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("the second file has other bytes (%v, %v)", errA, errB)
	}
}

// TestSQLiteStatements checks that indexes, views and the queries of all questions suit the tables.
func TestSQLiteStatements(t *testing.T) {
	t.Parallel()
	path := writeSQLite(t, data.Tables(), nil, data.SQLiteStatements())
	db, err := data.OpenSQLite(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	queries := map[string]string{}
	for _, q := range data.Questions {
		queries[q.Name] = q.SQLite(data.Subject{Category: "it's", Slug: "a"})
	}
	for _, view := range []string{"current_prices", "uptime_30d", "facilitator_volume_30d",
		"payees_30d", "new_services"} {
		queries[view] = "SELECT * FROM " + view
	}
	for name, query := range queries {
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for rows.Next() {
			t.Errorf("%s: a row of empty tables", name)
		}
		if err := rows.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestQueryWritesNothing checks that no statement of a stranger makes a file or a value without bound.
func TestQueryWritesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "tables.sqlite")
	f, err := data.CreateSQLite(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	db, err := data.OpenSQLite(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{
		"VACUUM INTO '" + filepath.Join(dir, "copy") + "'", "PRAGMA query_only=0; VACUUM INTO '" + filepath.Join(dir, "copy") + "'",
		"ATTACH '" + filepath.Join(dir, "new") + "' AS x", "PRAGMA query_only=0; ATTACH '" + filepath.Join(dir, "new") +
			"' AS x; CREATE TABLE x.t (a)",
		"CREATE TABLE t (a)", "SELECT zeroblob(100000000)", "SELECT hex(zeroblob(10000000))",
	} {
		if _, rows, err := data.QuerySQLite(t.Context(), db, query, 0); err == nil {
			t.Errorf("%s: %d rows, no error", query, len(rows))
		}
	}
	if _, rows, err := data.QuerySQLite(t.Context(), db, "SELECT 1 + 1", 0); err != nil || *rows[0][0] != "2" {
		t.Errorf("a query after them: %v, %v", rows, err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("files: %v, %v; want %s alone", left, err, path)
	}
}
